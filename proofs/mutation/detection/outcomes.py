"""Computes the outcome of a run under the trusted definitions, original or mutated.

The outcome of a run in a mode: the event from which no faithful stream contains it, the verdicts
after each event, and the events at which clauses fail. Only what a change affects is computed
again.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from proofs.mutation.detection.compiled import Compiled, facts, initial
from proofs.mutation.mutants.trusted import ORIGINAL, Trusted, waits
from proofs.mutation.runs.judge import Judge, alike, constants_of
from proofs.mutation.runs.lines import read_run
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.language.terms import Scope
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.model.theorems import Clause
    from proofs.mutation.runs.lines import Fields

__all__ = ["Judged", "Outcome", "judged_by", "rest_after", "unchanged"]

Beliefs = tuple[tuple[Any, ...], tuple[Any, ...]]  # before and after an event
Received = tuple[Any, ...]  # event, constants, and the ledgers before and after it


class Outcome:
    """The outcome of one run in a mode, computed lazily."""

    def __init__(self, judged: Judged, mode: Mode, line: str) -> None:
        self._judged, self._mode, self._line = judged, mode, line
        self._verdicts: dict[str, tuple[Verdict, ...]] = {}
        self._fails: dict[str, tuple[int, ...]] | None = None
        self._ends: int | None = None

    @property
    def ends(self) -> int:
        """The first event that no faithful stream can contain; 0 if there is none."""
        if self._ends is None:
            self._ends = self._judged.ends(self._mode, self._line)
        return self._ends

    @property
    def fails(self) -> dict[str, tuple[int, ...]]:
        """The events at which a clause fails, regardless of verdicts."""
        if self._fails is None:
            self._fails = self._judged.fails(self._mode, self._line)
        return self._fails

    def verdicts(self, name: str) -> tuple[Verdict, ...]:
        """The verdict of an obligation after each event."""
        if name not in self._verdicts:
            self._verdicts[name] = self._judged.verdicts(self._mode, name, self._line)
        return self._verdicts[name]

    def breaks(self, clause: Clause) -> list[int]:
        """The events at which a clause fails and is compared."""
        failed = self.fails[clause.name]
        return [number for number in failed if not self.owes(clause, number)]

    def owes(self, clause: Clause, number: int) -> bool:
        """Something that a clause waits for is owed after an event."""
        return any(
            self.verdicts(name)[number - 1] is Verdict.PENDING
            for name in _waited(clause, self._mode)
        )

    def violated(self, number: int) -> list[str]:
        """The obligations that are violated up to this event."""
        return [name for name in MODES[self._mode].names() if self.breaks_by(name, number)]

    def keeps(self, number: int) -> bool:
        """No obligation is violated up to this event."""
        return not any(self.breaks_by(name, number) for name in MODES[self._mode].names())

    def breaks_by(self, name: str, number: int) -> bool:
        """An obligation is violated by this event or an earlier one."""
        return self.verdicts(name)[number - 1] is Verdict.VIOLATED  # a violation is final


@cache
def _waited(clause: Clause, mode: Mode) -> tuple[str, ...]:
    return tuple(name for name in MODES[mode].names() if waits(clause, name))


class Judged:
    """The trusted definitions, compiled, with cached outcomes."""

    def __init__(self, trusted: Trusted, base: Judged | None = None) -> None:
        self.trusted, self.base, self._compiled = trusted, base, Compiled(trusted)
        self._judges: dict[str, Judge] = {}
        self._steps: dict[tuple[str, str], tuple[Received, ...]] = {}
        self._outcomes: dict[tuple[Mode, str], Outcome] = {}
        self._verdicts: dict[tuple[str, str, str], tuple[Verdict, ...]] = {}
        self._ends: dict[tuple[str, str], int] = {}
        self._failed: dict[int, tuple[Received, frozenset[int]]] = {}
        self._believed: dict[str, tuple[Beliefs, ...]] = {}

    def forget(self) -> None:
        """Clear the caches of runs."""
        self._steps.clear()
        self._outcomes.clear()
        self._verdicts.clear()
        self._ends.clear()
        self._failed.clear()
        self._believed.clear()

    def outcome(self, mode: Mode, line: str) -> Outcome:
        """The outcome of a run in a mode."""
        key = mode, line
        if key not in self._outcomes:
            self._outcomes[key] = Outcome(self, mode, line)
        return self._outcomes[key]

    def verdicts(self, mode: Mode, name: str, line: str) -> tuple[Verdict, ...]:
        """The verdict of an obligation after each event of a run."""
        key = alike(mode), name, line
        if (
            self.base is not None
            and name not in self.touched
            and not self.ledgers_differ(mode, line)
        ):
            return self.base.verdicts(mode, name, line)
        if key not in self._verdicts:
            steps = self.received(alike(mode), line)
            self._verdicts[key] = tuple(self._judge(name).verdicts(steps))
        return self._verdicts[key]

    def ends(self, mode: Mode, line: str) -> int:
        """The first event of a run that no faithful stream can contain; 0 if there is none."""
        key = alike(mode), line
        received = self.base is not None and not self.ledgers_differ(mode, line)
        if self.base is not None and received and not self.faithfulness_differs:
            return self.base.ends(mode, line)
        if key not in self._ends:
            possible = self._still_possible if received else self._compiled.possible
            self._ends[key] = self._end(self.received(*key), possible)
        return self._ends[key]

    def fails(self, mode: Mode, line: str) -> dict[str, tuple[int, ...]]:
        """The events of a run at which clauses of a mode fail."""
        known: dict[str, tuple[int, ...]] = {}
        clauses = self._compiled.clauses(mode)
        same = self.base is not None and not self.ledgers_differ(mode, line)
        if self.base is not None and same and not self._other_beliefs:
            known = self.base.outcome(mode, line).fails
            others = self._other_clauses.get(mode, set())
            clauses = {name: holds for name, holds in clauses.items() if name in others}
            if not clauses:
                return known
        steps = zip(self.received(alike(mode), line), self._beliefs(line), strict=True)
        found: dict[str, list[int]] = {name: [] for name in clauses}
        for number, (step, beliefs) in enumerate(steps, start=1):
            for name, holds in clauses.items():
                if not holds(*step, *beliefs):
                    found[name].append(number)
        return {**known, **{name: tuple(each) for name, each in found.items()}}

    def _beliefs(self, line: str) -> tuple[Beliefs, ...]:
        """The beliefs before and after each event, and nothing else."""
        if self.base is not None and not self._other_beliefs:
            return self.base._beliefs(line)
        if line not in self._believed:
            before, found = initial(Scope.BELIEVED), []
            for event in read_run(line).events:
                after = self._compiled.believe(event, before)
                found.append((before, after))
                before = after
            self._believed[line] = tuple(found)
        return self._believed[line]

    def received(self, constants: str, line: str) -> tuple[Received, ...]:
        """The events of a run as observers receive them; the same object where nothing differs."""
        key = constants, line
        if self.base is not None and not self._other_ledgers:
            return self.base.received(constants, line)
        if key not in self._steps:
            known = None if self.base is None else self.base.received(constants, line)
            if known is not None and not any(self._compiled.moved(*step) for step in known):
                self._steps[key] = known
            else:
                self._steps[key] = self._received(constants, line)
        return self._steps[key]

    def _received(self, constants: str, line: str) -> tuple[Received, ...]:
        run, found = read_run(line), []
        c = constants_of(constants, run.threshold)
        was, asked = initial(Scope.WAS), initial(Scope.REQ_WAS)
        claim, request = self._compiled.claim, self._compiled.request
        for event in run.events:
            now = claim(event, c, was)
            asks = request(event, c, was, now, asked)
            found.append((event, c, was, now, asked, asks))
            was, asked = now, asks
        return tuple(found)

    def _judge(self, name: str) -> Judge:
        if self.base is not None and name not in self.touched:
            return self.base._judge(name)
        if name not in self._judges:
            self._judges[name] = Judge(self.trusted.observers[name])
        return self._judges[name]

    def _end(self, steps: tuple[Received, ...], possible: Callable[..., bool]) -> int:
        rest = 0
        for number, step in enumerate(steps, start=1):
            if step[0]["rest"] != rest or not possible(*step):
                return number
            rest = self._compiled.rest(step[0])
        return 0

    def _still_possible(self, *step: Any) -> bool:
        """Whether a faithful stream can contain an event, given the conditions it violated."""
        assert self.base is not None
        return self.base._against(step) <= self._compiled.given_up and self._compiled.and_also(
            *step
        )

    def _against(self, step: Received) -> frozenset[int]:
        """The conditions on a faithful stream that an event violates."""
        known = self._failed.get(id(step))
        if known is None or known[0] is not step:
            failed = () if self._compiled.possible(*step) else enumerate(self._compiled.parts)
            found = frozenset(i for i, holds in failed if not holds(*step))
            known = self._failed[id(step)] = step, found
        return known[1]

    # What was changed.

    @property
    def theorem_differs(self) -> bool:
        """Whether clauses of the theorem or beliefs of the auditor were changed."""
        return self._other_beliefs or any(self._other_clauses.values())

    @property
    def observers_differ(self) -> bool:
        """Whether ledgers of facts or obligations were changed."""
        return self._other_ledgers or bool(self.touched)

    def concerns(self, mode: Mode) -> bool:
        """Whether anything that a mode reads was changed."""
        names = self.touched & set(MODES[mode].names())
        shared = self._other_ledgers or self._other_beliefs or self.faithfulness_differs
        return bool(names) or shared or bool(self._other_clauses.get(mode))

    def inputs_differ(self, mode: Mode, line: str) -> bool:
        """Whether anything that a run reads, except the conditions on a faithful stream, was
        changed.
        """
        if self._other_beliefs or self._other_clauses.get(mode):
            return True
        if self.touched & set(MODES[mode].names()):
            return True
        return self.ledgers_differ(mode, line)

    def theorem_differs_in(self, mode: Mode) -> bool:
        """Whether clauses of one mode or beliefs were changed."""
        return self._other_beliefs or bool(self._other_clauses.get(mode))

    def ledgers_differ(self, mode: Mode, line: str) -> bool:
        """Whether a ledger has another value in a run."""
        if not self._other_ledgers:
            return False
        return self.received(alike(mode), line) is not unchanged().received(alike(mode), line)

    @cached_property
    def _other_ledgers(self) -> bool:
        return any(self._differs(scope) for scope in (Scope.WAS, Scope.REQ_WAS))

    @cached_property
    def _other_beliefs(self) -> bool:
        return self._differs(Scope.BELIEVED)

    @cached_property
    def faithfulness_differs(self) -> bool:
        """Whether the conditions on a faithful stream were changed."""
        same_pool = self.trusted.following(Scope.WAS).get("rest") == (
            ORIGINAL.following(Scope.WAS).get("rest")
        )
        return not same_pool or self.trusted.world != ORIGINAL.world

    def _differs(self, scope: Scope) -> bool:
        return facts(self.trusted, scope) != facts(ORIGINAL, scope)

    @cached_property
    def touched(self) -> set[str]:
        """The changed obligations."""
        observers = self.trusted.observers
        return {n for n, o in observers.items() if o is not ORIGINAL.observers[n]}

    @cached_property
    def _other_clauses(self) -> dict[Mode, set[str]]:
        return {
            mode: {c.name for c in clauses if c not in ORIGINAL.clauses[mode]}
            for mode, clauses in self.trusted.clauses.items()
        }


def judged_by(trusted: Trusted) -> Judged:
    """The trusted definitions with one change; only changed parts are compiled."""
    return Judged(trusted, unchanged())


@cache
def unchanged() -> Judged:
    """The original trusted definitions."""
    return Judged(ORIGINAL)


def rest_after(event: Fields) -> int:
    """The blocks of the other claims after an event."""
    return unchanged()._compiled.rest(event)
