"""What a run comes to under everything that is trusted, as it is or with one change.

Of each run and mode: from which event on no faithful stream can tell it, the verdicts of all
obligations after each event, and the events at which clauses of the theorem fail. What a change
does not touch is not computed again.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from monitor.compile import CLAIM_REGISTERS, REQUEST_REGISTERS, to_python
from monitor.view import Constants
from proofs.mutation.judge import Judge, alike, function
from proofs.mutation.runs import read_run
from proofs.mutation.trusted import ORIGINAL, Trusted, waits
from proofs.mutation.world import well_formed
from spec.claims import Mode
from spec.modes import MODES
from spec.terms import Scope, Term, conj, variables
from spec.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.theorems import Clause

__all__ = ["Judged", "Outcome", "judged_by", "unchanged"]

Heard = tuple[Any, ...]  # the event, the constants, and the ledgers before and after it
_ARGUMENTS = "e, c, was, now, req_was, req"


class Outcome(NamedTuple):
    """`ends` is the first event that no faithful stream can tell, 0 where there is none; `fails`
    has the events at which a clause fails, whatever is owed or violated."""

    ends: int
    verdicts: dict[str, tuple[Verdict, ...]]
    fails: dict[str, tuple[int, ...]]

    def breaks(self, clause: Clause) -> list[int]:
        """The events at which a clause fails and nothing that it waits for is owed."""
        return [
            number
            for number in self.fails[clause.name]
            if not any(
                waits(clause, name) and found[number - 1] is Verdict.PENDING
                for name, found in self.verdicts.items()
            )
        ]

    def violated(self, number: int) -> list[str]:
        """The obligations that are violated up to this event."""
        return [n for n, found in self.verdicts.items() if Verdict.VIOLATED in found[:number]]


class Judged:
    """Everything that is trusted, compiled."""

    def __init__(self, trusted: Trusted, base: Judged | None = None) -> None:
        self.trusted, self.base = trusted, base
        self._judges: dict[str, Judge] = {}
        self._heard: dict[tuple[str, str], tuple[Heard, ...]] = {}
        self._outcomes: dict[tuple[Mode, str], Outcome] = {}

    def outcome(self, mode: Mode, line: str) -> Outcome:
        """What a run comes to in a mode; remembered where nothing was changed."""
        if self.base is not None:
            return self._outcome(mode, line)
        key = mode, line
        if key not in self._outcomes:
            self._outcomes[key] = self._outcome(mode, line)
        return self._outcomes[key]

    def _outcome(self, mode: Mode, line: str) -> Outcome:
        constants = alike(mode)
        steps = self.heard(constants, line)
        known = None if self.base is None else self.base.outcome(mode, line)
        if known is None or self.base is None:
            verdicts = {n: self._verdicts(n, constants, line) for n in MODES[mode].names()}
            return Outcome(self._ends(steps), verdicts, self._fails(mode, steps, None))
        if steps is not self.base.heard(constants, line):
            touched = set(MODES[mode].names())
        else:
            touched = self._touched & set(MODES[mode].names())
        verdicts = known.verdicts
        if touched:
            verdicts = {**verdicts, **{n: self._verdicts(n, constants, line) for n in touched}}
        same = steps is self.base.heard(constants, line)
        ends = known.ends if same and not self._other_world else self._ends(steps)
        told = known.fails if same and not self._other_beliefs else None
        return Outcome(ends, verdicts, self._fails(mode, steps, told))

    def heard(self, constants: str, line: str) -> tuple[Heard, ...]:
        """The events of a run as observers hear them; the very same where nothing differs."""
        key = constants, line
        if self.base is not None and not self._other_ledgers:
            return self.base.heard(constants, line)
        if key not in self._heard:
            found = self._hear(constants, line)
            if self.base is not None and found == self.base.heard(constants, line):
                found = self.base.heard(constants, line)
            self._heard[key] = found
        return self._heard[key]

    def _hear(self, constants: str, line: str) -> tuple[Heard, ...]:
        run, found = read_run(line), []
        c = _constants(constants, run.threshold)
        was, asked = _initial(Scope.WAS), _initial(Scope.REQ_WAS)
        claim, request = self._claim, self._request
        for event in run.events:
            now = claim(event, c, was)
            asks = request(event, c, was, now, asked)
            found.append((event, c, was, now, asked, asks))
            was, asked = now, asks
        return tuple(found)

    def _verdicts(self, name: str, constants: str, line: str) -> tuple[Verdict, ...]:
        return tuple(self._judge(name).verdicts(self.heard(constants, line)))

    def _judge(self, name: str) -> Judge:
        if self.base is not None and name not in self._touched:
            return self.base._judge(name)
        if name not in self._judges:
            self._judges[name] = Judge(self.trusted.observers[name])
        return self._judges[name]

    def _ends(self, steps: tuple[Heard, ...]) -> int:
        rest = 0
        for number, step in enumerate(steps, start=1):
            if step[0].rest != rest or not self._possible(*step):
                return number
            rest = self._rest(step[0])
        return 0

    def _fails(
        self, mode: Mode, steps: tuple[Heard, ...], known: dict[str, tuple[int, ...]] | None
    ) -> dict[str, tuple[int, ...]]:
        clauses = self._clauses(mode)
        if known is not None:
            clauses = {n: f for n, f in clauses.items() if n in self._other_clauses[mode]}
            if not clauses:
                return known
        fails: dict[str, list[int]] = {name: [] for name in clauses}
        before = _initial(Scope.BELIEVED)
        for number, step in enumerate(steps, start=1):
            after = self._believe(step[0], before)
            for name, holds in clauses.items():
                if not holds(*step, before, after):
                    fails[name].append(number)
            before = after
        return {**(known or {}), **{name: tuple(each) for name, each in fails.items()}}

    # What was changed.

    @property
    def speaks_otherwise(self) -> bool:
        """Clauses of the theorem or beliefs of the auditor are others."""
        return self._other_beliefs or any(self._other_clauses.values())

    @property
    def judges_otherwise(self) -> bool:
        """Ledgers of facts or obligations are others."""
        return self._other_ledgers or bool(self._touched)

    def concerns(self, mode: Mode) -> bool:
        """Something that is read in a mode is another."""
        names = self._touched & set(MODES[mode].names())
        shared = self._other_ledgers or self._other_beliefs or self._other_world
        return bool(names) or shared or bool(self._other_clauses.get(mode))

    def may_break(self, mode: Mode, line: str) -> bool:
        """A clause may fail in a run: one did before, or something is read otherwise."""
        known = unchanged().outcome(mode, line)
        if self._other_beliefs or self._other_clauses.get(mode) or any(known.fails.values()):
            return True
        return self.heard(alike(mode), line) is not unchanged().heard(alike(mode), line)

    @cached_property
    def _other_ledgers(self) -> bool:
        return any(self._differs(scope) for scope in (Scope.WAS, Scope.REQ_WAS))

    @cached_property
    def _other_beliefs(self) -> bool:
        return self._differs(Scope.BELIEVED)

    @cached_property
    def _other_world(self) -> bool:
        same_pool = self.trusted.following(Scope.WAS).get("rest") == (
            ORIGINAL.following(Scope.WAS).get("rest")
        )
        return not same_pool or self.trusted.world != ORIGINAL.world

    def _differs(self, scope: Scope) -> bool:
        return _facts(self.trusted, scope) != _facts(ORIGINAL, scope)

    @cached_property
    def _touched(self) -> set[str]:
        observers = self.trusted.observers
        return {n for n, o in observers.items() if o is not ORIGINAL.observers[n]}

    @cached_property
    def _other_clauses(self) -> dict[Mode, set[str]]:
        return {
            mode: {c.name for c in clauses if c not in ORIGINAL.clauses[mode]}
            for mode, clauses in self.trusted.clauses.items()
        }

    # What is compiled.

    @cached_property
    def _claim(self) -> Callable[..., tuple[Any, ...]]:
        return self._following(Scope.WAS, Scope.NOW, "e, c, was")

    @cached_property
    def _request(self) -> Callable[..., tuple[Any, ...]]:
        return self._following(Scope.REQ_WAS, Scope.REQ, "e, c, was, now, req_was")

    @cached_property
    def _believe(self) -> Callable[..., tuple[Any, ...]]:
        return self._following(Scope.BELIEVED, Scope.BELIEVES, "e, before")

    def _following(
        self, before: Scope, after: Scope, arguments: str
    ) -> Callable[..., tuple[Any, ...]]:
        """The registers of a scope after an event, each with those that it reads worked in."""
        terms = self.trusted.following(before)
        known = dict(_BELIEVED)

        def work_in(name: str, within: tuple[str, ...] = ()) -> str:
            if name in within:
                raise ValueError(f"{name} depends on itself")
            for var in set(variables(terms[name])):
                if var.scope is after and (after, var.name) not in known:
                    known[after, var.name] = work_in(var.name, (*within, name))
            return to_python(terms[name], known)

        return function(
            arguments, f"({', '.join(work_in(name) for name in _order(before, self.trusted))},)"
        )

    @cached_property
    def _rest(self) -> Callable[..., int]:
        return function("e", to_python(self.trusted.following(Scope.WAS)["rest"]))

    @cached_property
    def _possible(self) -> Callable[..., bool]:
        return function(_ARGUMENTS, to_python(conj(self.trusted.world, well_formed())))

    def _clauses(self, mode: Mode) -> dict[str, Callable[..., bool]]:
        if mode not in self._by_mode:
            self._by_mode[mode] = {
                clause.name: _clause(clause) for clause in self.trusted.clauses.get(mode, ())
            }
        return self._by_mode[mode]

    @cached_property
    def _by_mode(self) -> dict[Mode, dict[str, Callable[..., bool]]]:
        return {}


def judged_by(trusted: Trusted) -> Judged:
    """Everything that is trusted, with one change, compiled as far as it is another."""
    return Judged(trusted, unchanged())


@cache
def unchanged() -> Judged:
    """Everything that is trusted, as it is."""
    return Judged(ORIGINAL)


@cache
def _clause(clause: Clause) -> Callable[..., bool]:
    names = _BELIEVED | {
        (Scope.BELIEVES, n): f"after[{i}]"
        for i, n in enumerate(_order(Scope.BELIEVED, ORIGINAL))
    }
    return function(f"{_ARGUMENTS}, before, after", to_python(clause.holds, names))


@cache
def _initial(scope: Scope) -> tuple[Any, ...]:
    ledgers = [ledger for ledger, before, _ in ORIGINAL.ledgers if before is scope]
    initial = {r.name: r.initial for ledger in ledgers for r in ledger.registers}
    return tuple(initial[name] for name in _order(scope, ORIGINAL))


def _order(scope: Scope, trusted: Trusted) -> tuple[str, ...]:
    """The registers of a scope in the order in which they are kept; the pool's own are not."""
    match scope:
        case Scope.WAS:
            return CLAIM_REGISTERS
        case Scope.REQ_WAS:
            return REQUEST_REGISTERS
    return tuple(trusted.following(scope))


def _facts(trusted: Trusted, scope: Scope) -> list[Term]:
    terms = trusted.following(scope)
    return [terms[name] for name in _order(scope, trusted)]


@cache
def _constants(constants: str, threshold: int) -> Constants:
    mode = next(mode for mode in Mode if alike(mode) == constants)
    return Constants(threshold=threshold, **MODES[mode].constants)


_BELIEVED = {
    (Scope.BELIEVED, n): f"before[{i}]" for i, n in enumerate(_order(Scope.BELIEVED, ORIGINAL))
}
