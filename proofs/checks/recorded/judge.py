"""Judges recorded runs by a mode's terms, and compares what they make of them with what is pinned.

The terms are evaluated by the expressions that `spec.stream` generates, so neither Z3 nor
`proofs.model.system` has a part in it. Runs of two claims are judged by `pairs`: their statement
has no terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from proofs.checks.recorded.functions import (
    ARGUMENTS,
    expression,
    function,
    ledgers,
    step_of,
)
from proofs.checks.recorded.lines import compared, had, read_run, runs, trail
from proofs.checks.recorded.pairs import pairs_differ
from proofs.engines.bounded.minimise import CARRIES
from proofs.model.auditor import BELIEFS
from proofs.model.environment import POOL, faithful, replayable
from proofs.model.theorems import CLAUSES
from spec.claims.states import Mode
from spec.contract.ledgers import kind
from spec.contract.modes import MODES
from spec.contract.vocabulary import EVENT_FIELDS, e
from spec.language.terms import Const, Scope, Sort, Term, Var, conj, disj
from spec.language.verdicts import Verdict
from spec.stream.generate import CLAIM, REQUEST

if TYPE_CHECKING:
    from proofs.model.theorems import Clause
    from spec.language.machine import Observer

__all__ = ["Judge", "differs", "well_formed"]

_Step: TypeAlias = tuple[Any, ...]  # event, constants, and the ledgers before and after it
_WHOM: Final = frozenset({"mine", "named", "here", "rest"})
_POOL: Final = {(Scope.WAS, r.name): f"p[{i}]" for i, r in enumerate(POOL.registers)}
_BELIEVED: Final = {(Scope.BELIEVED, r.name): f"b[{i}]" for i, r in enumerate(BELIEFS.registers)}
_BELIEVES: Final = {(Scope.BELIEVES, r.name): f"a[{i}]" for i, r in enumerate(BELIEFS.registers)}


def differs(mode: Mode) -> bool:
    """Whether a mode's terms, or the system of two claims, make of some recorded run something else
    than what is pinned of it, or the mode lacks an obligation that it had.

    A further obligation is not compared until something is pinned of it.
    """
    judge, known = Judge(mode), had().get(mode, frozenset())
    if not known or known - judge.obligations:
        return True
    new = judge.obligations - known
    try:
        other = any(
            judge.own(pins) != {n: pin for n, pin in judge.pins(line).items() if n not in new}
            for line, pins in runs().items()
        )
    except ValueError:  # a line is no run
        return True
    counts = {name: n for name, n in compared().items() if name.startswith(f"{mode}.")}
    if other or not runs() or judge.compared != Counter(counts):
        return True
    return mode is Mode.SOFT_PRIORITY and pairs_differ()


class Judge:
    """What the terms of one mode make of runs."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.constants = _constants(mode)
        self.compared = Counter[str]()
        """Of all runs judged, the events after which each clause is compared in each situation, and
        those that a trace can state.
        """
        self._bundle = MODES[mode].bundle()
        self._observers = {o.code: _Watched(o) for o in self._bundle}
        self._clauses = [self._read(clause) for clause in CLAUSES.get(mode, ())]

    def pins(self, line: str) -> dict[str, str]:
        """What is pinned of a run in this mode: as `world` the first event that no faithful stream
        can contain, for each obligation by its code how its verdict changes, and for each clause
        the events at which it fails while nothing that it waits for is owed.
        """
        steps = self._steps(line)
        unfaithful = self._unfaithful(steps)
        found = {"world": str(unfaithful)} if unfaithful else {}
        verdicts = {code: watched.verdicts(steps) for code, watched in self._observers.items()}
        found |= {code: text for code, each in verdicts.items() if (text := trail(each))}
        numbered = dict(enumerate(self._beliefs(steps), start=1))
        owing = {
            code: {n for n, verdict in enumerate(each, start=1) if verdict is Verdict.PENDING}
            for code, each in verdicts.items()
        }
        for clause in self._clauses:
            owed = set[int]().union(*(owing[code] for code in clause.waits))
            due = {n: step for n, step in numbered.items() if n not in owed}
            if fails := [str(n) for n, step in due.items() if not clause.holds(*step)]:
                found[clause.name] = " ".join(fails)
            for where, is_tested in clause.tested.items():
                self.compared[where] += sum(is_tested(*step) for step in due.values())
        return found

    def _read(self, clause: Clause) -> _Clause:
        name = f"{self.mode}.{clause.name}"
        return _Clause(
            name,
            _function(clause.holds),
            [o.code for o in self._bundle if o.name in clause.waits],
            {f"{name}: {where}": _function(term) for where, term in clause.tested},
        )

    @property
    def obligations(self) -> frozenset[str]:
        """The codes of the mode's obligations."""
        return frozenset(self._observers)

    def own(self, pins: Mapping[str, str]) -> dict[str, str]:
        """Of the pins of a run those that are about this mode."""
        found = {}
        for key, pin in pins.items():
            name, _, constants = key.partition("/")
            about = name.startswith(f"{self.mode}.") or name in self._observers or name == "world"
            if about and constants in {"", self.constants}:
                found[name] = pin
        return found

    def _steps(self, line: str) -> list[_Step]:
        run = read_run(line)
        constants = {"threshold": run.threshold, **MODES[self.mode].constants}
        was: Any = tuple(register.initial for register in CLAIM)
        asked: Any = tuple(register.initial for register in REQUEST)
        (claim, request), found = ledgers(), []
        for event in run.events:
            now = claim(event, constants, was)
            asks = request(event, constants, was, now, asked)
            found.append((event, constants, was, now, asked, asks))
            was, asked = now, asks
        return found

    def _unfaithful(self, steps: Iterable[_Step]) -> int:
        """The first event that is not faithful, if any; counts those that a trace can state."""
        pool: Any = tuple(register.initial for register in POOL.registers)
        found = 0
        for number, step in enumerate(steps, start=1):
            rest, written, after = self._pool(*step, pool)
            if not found and not (rest and self._faithful(*step)):
                found = number
            self.compared[f"{self.mode}.trace: written"] += written
            pool = after
        return found

    def _beliefs(self, steps: Iterable[_Step]) -> list[_Step]:
        """Each step with what the auditor believes before and after it."""
        before: Any = tuple(register.initial for register in BELIEFS.registers)
        found = []
        for step in steps:
            after = self._believe(step[0], before)
            found.append((*step, before, after))
            before = after
        return found

    @cached_property
    def _pool(self) -> Callable[..., tuple[bool, bool, _Step]]:
        """Whether an event states what the others hold, whether a trace can state it, and the pool
        after it.
        """
        rest = Var(Scope.WAS, "rest", Sort.INT).eq(e.rest)
        terms = (rest, replayable(), *(POOL.following[r.name] for r in POOL.registers))
        one, other, *after = (expression(term, _POOL) for term in terms)
        return function(f"{ARGUMENTS}, p", f"({one}, {other}, ({', '.join(after)},))")

    @cached_property
    def _faithful(self) -> Callable[..., bool]:
        return function(ARGUMENTS, expression(faithful() & well_formed()))

    @cached_property
    def _believe(self) -> Callable[..., _Step]:
        terms = (expression(BELIEFS.following[r.name], _BELIEVED) for r in BELIEFS.registers)
        return function("e, b", f"({', '.join(terms)},)")


class _Clause(NamedTuple):
    """A clause of the theorem as functions, with the obligations that it waits for by code."""

    name: str
    holds: Callable[..., bool]
    waits: list[str]
    tested: dict[str, Callable[..., bool]]


def _function(term: Term) -> Callable[..., bool]:
    return function(f"{ARGUMENTS}, b, a", expression(term, _BELIEVED | _BELIEVES))


def _constants(mode: Mode) -> str:
    """The constants by which observers distinguish modes; modes with equal ones give equal
    verdicts.
    """
    return "+".join(name for name, value in MODES[mode].constants.items() if value) or "plain"


class _Watched:
    """An observer as a function."""

    def __init__(self, observer: Observer) -> None:
        self._step = step_of(observer)
        self._own = tuple(register.initial for register in observer.registers)
        self._says = [state.verdict for state in observer.states]

    def verdicts(self, steps: Iterable[_Step]) -> list[Verdict]:
        """The verdict after each event."""
        state, own, found = 0, self._own, []
        for step in steps:
            state, own = self._step(state, own, *step)
            found.append(self._says[state])
        return found


@cache
def well_formed() -> Term:
    """The condition on the fields of an event by its kind: it has only those that its kind has."""
    return conj(
        e.mine | ~(e.lower_priority_available | e.higher_priority_kept),
        *(_carried(name, sort) for name, (sort, _) in EVENT_FIELDS.items() if name not in _WHOM),
    )


def _carried(name: str, sort: Sort) -> Term:
    """The field is plain on the kinds that do not carry it."""
    kinds = {k for k, carried in CARRIES.items() if name in carried}
    plain: bool | int = 0 if sort is Sort.INT else name == "authorised"
    return disj(kind(*kinds), Var(Scope.EVENT, name, sort).eq(Const(plain)))
