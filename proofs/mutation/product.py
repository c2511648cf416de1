"""Is a mutant the same obligation in other words? The observer and its mutant, side by side.

Both see every event of every faithful stream of the mode, whatever the runtime does and says: the
alphabet is not cut to the mode's world, and no obligation is assumed to be kept. What is assumed
of an event is that facts are facts, and that it carries no field that means nothing on its kind.

Two fields are worked out by whoever reads a stream: `breaks` from the blocks held, and `rival` from
the claims registered. The prover leaves them free, which is stronger; `derived` ties them.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

import z3

from proofs.encode import Expr, Integers
from proofs.engines.spacer import ProofResult, prove
from proofs.system import Step, System
from spec.alphabet import CONFLICT_ACTIONS, Kind
from spec.modes import Bundle
from spec.terms import Scope
from spec.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.claims import Mode
    from spec.machine import Observer

__all__ = ["Argument", "equivalent"]

RLIMIT = 60_000_000
_BELIEVED = f"{Scope.BELIEVED.value}."  # read by no observer and no fact: they may stand still


class Argument(StrEnum):
    """Why a mutant is equivalent."""

    STEP = "from every state each event leads both to the same state"
    RUN = "in no run of any length do their verdicts differ (Spacer, its invariant re-checked)"
    READ = "the same, where breaks and rival are what a reader of the stream works out"


_CARRIED: dict[frozenset[Kind], tuple[str, ...]] = {
    CONFLICT_ACTIONS: (
        *("blamed", "blamed_rest", "blamed_least", "stranger", "accuses", "proof"),
        *("said_resident", "said_active", "said_total", "said_usable", "said_shortfall"),
    ),
    CONFLICT_ACTIONS | {Kind.CLAIM_RESTORATION_FAILED}: ("smear",),
    frozenset({Kind.REQUEST_REFUSED, Kind.CLAIM_RESTORATION_FAILED}): ("echo",),
    frozenset({Kind.REQUEST_REFUSED}): ("restore",),
    frozenset({Kind.CLAIM_RESTORATION_FAILED}): ("outcome",),
    frozenset({Kind.CLAIM_RESTORED}): ("from_tier",),
    frozenset({Kind.CLAIM_BLOCK_LOST}): ("breaks",),
    frozenset({Kind.BLOCK_EVICTED}): ("rival",),
    frozenset({Kind.REUSE_SERVED, Kind.ROUTE_REUSE_REPORTED}): ("hit",),
}
"""Fields that have their plain value on every other kind (docs/events.md)."""
_ENDS = frozenset({Kind.CLAIM_DEMOTED, Kind.CLAIM_EXPIRED, Kind.CLAIM_RELEASED})


def _well_formed(event: Mapping[str, Expr], kinds: tuple[Kind, ...]) -> list[Expr]:
    """Each field is plain on the kinds that do not carry it."""

    def among(wanted: frozenset[Kind]) -> Expr:
        return z3.Or([event["kind"] == n for n, kind in enumerate(kinds) if kind in wanted])

    disorder = among(frozenset({Kind.STREAM_DISORDER}))
    nobody = z3.Not(z3.Or(event["mine"], event["named"], event["here"]))
    parts = [z3.Or(among(_ENDS), event["authorised"]), z3.Implies(disorder, nobody)]
    for carriers, names in _CARRIED.items():
        for name in names:
            field = event[name]
            parts.append(z3.Or(among(carriers), z3.Not(field) if z3.is_bool(field) else field == 0))
    return parts


def _derived(
    state: Mapping[str, Expr], event: Mapping[str, Expr], following: Mapping[str, Expr]
) -> Expr:
    """`breaks` and `rival` agree with the facts."""
    ranked = z3.And(z3.Not(event["mine"]), state["was.registered"])
    broken = following["was.lead"] < state["c.threshold"]
    told = event["kind"] == sorted(Kind).index(Kind.CLAIM_BLOCK_LOST)
    return z3.And(
        z3.Or(event["rival"] == 0, ranked),
        z3.Implies(z3.And(told, event["mine"]), event["breaks"] == broken),
    )


class _Both(System):
    """An observer and its mutant; the one clause says that their verdicts agree."""

    def __init__(
        self, mode: Mode, observer: Observer, mutant: Observer, *, derived: bool = False
    ) -> None:
        super().__init__(mode, Bundle.CONTRACT, Integers())
        self.original, self.mutant = observer, replace(mutant, name=f"{mutant.name}'")
        self.observers = (self.original, self.mutant)
        self.alphabet = tuple(sorted(Kind))
        self.clauses = ()
        self._made: dict[str, Step] = {}
        self._derived = derived

    def step(self, state: Mapping[str, Expr], event: Mapping[str, Expr]) -> Step:
        """Made once for the variables of each suffix, which the event's kind tells apart."""
        suffix = str(event["kind"])
        if suffix not in self._made:
            made = super().step(state, event)
            possible = z3.And(made.possible, *_well_formed(event, self.alphabet))
            if self._derived:
                possible = z3.And(possible, _derived(state, event, made.following))
            self._made[suffix] = self._agreeing(replace(made, possible=possible))
        return self._made[suffix]

    def _agreeing(self, made: Step) -> Step:
        one, other = (made.following[f"state.{o.name}"] for o in self.observers)
        same = [
            self._in(self.original, one, verdict) == self._in(self.mutant, other, verdict)
            for verdict in Verdict
        ]
        following = {n: v for n, v in made.following.items() if not n.startswith(_BELIEVED)}
        return replace(made, following=following, clauses={"same verdict": z3.And(same)}, keeps={})


def equivalent(
    mode: Mode, observer: Observer, mutant: Observer, *, derived: bool = False
) -> Argument | None:
    """Why no faithful stream of the mode is judged otherwise by the mutant; None if not shown."""
    both = _Both(mode, observer, mutant, derived=derived)
    if not derived and _same_step(both):
        return Argument.STEP
    if prove(both, RLIMIT).result is not ProofResult.PROVED:
        return None
    return Argument.READ if derived else Argument.RUN


def _same_step(both: _Both) -> bool:
    """From every state, reachable or not, each possible event leads both to the same state."""
    state, event = both.state(""), both.event("")
    step = both.step(state, event)
    one, other = both.observers
    pairs = [(f"state.{one.name}", f"state.{other.name}")]
    pairs += [(f"own.{one.name}.{r.name}", f"own.{other.name}.{r.name}") for r in one.registers]
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    solver.add(step.possible, *(state[a] == state[b] for a, b in pairs))
    solver.add(state[pairs[0][0]] >= 0, state[pairs[0][0]] < len(one.states))
    solver.add(state["c.threshold"] >= 1)
    solver.add(z3.Or([step.following[a] != step.following[b] for a, b in pairs]))
    return bool(solver.check() == z3.unsat)
