"""Proves the lemmas that a mode's theorem depends on besides its own proof.

The theorem tracks one claim; the others enter as sums and a minimum over declared blocks. The
lemmas prove that this is equivalent to a statement about every claim by name, and that
soft_priority's comparison of runs is not vacuous.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import z3

from proofs.checks import other_claims
from proofs.checks.control import CONTROLS, WIDTH, Control, find
from proofs.engines.bounded.search import find_refutation
from proofs.engines.bounded.unrolling import value_of
from proofs.engines.invariants.recheck import Invariant, ProofResult
from proofs.engines.invariants.recorded import prove
from proofs.logic.encode import Bits, Expr, Integers
from proofs.model.system import System
from proofs.model.theorems import Clause
from spec.claims.states import Mode
from spec.contract.ledgers import ends, kind, was
from spec.contract.modes import Bundle
from spec.contract.vocabulary import e
from spec.events.alphabet import CONFLICT_ACTIONS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proofs.engines.bounded.unrolling import Found
    from proofs.logic.encode import Numbers

__all__ = ["LEMMAS", "Always", "Lemma", "Proven", "Runs", "Statement", "Valid", "lemmas_of"]

RLIMIT = 200_000_000
"""Work for one part of a lemma; some hundred times what the hardest one takes."""
_SHORT = 8  # events, as the runs of *control* have


@dataclass(frozen=True)
class Always:
    """Holds in every run that keeps the contract of hard_protected, however long.

    A run that keeps the contract `without` one obligation breaks it.
    """

    clause: Clause
    without: str

    def model(self) -> System:
        """The contract, with the statement in the place of the theorem's clauses."""
        return self._system(Integers())

    def _system(self, numbers: Numbers, without: frozenset[str] = frozenset()) -> System:
        system = System(Mode.HARD_PROTECTED, Bundle.CONTRACT, numbers, without=without)
        system.clauses = (self.clause,)
        return system

    def excludes(self) -> bool:
        """Whether there is such a run, of a few events."""
        system = self._system(Bits(WIDTH), frozenset({self.without}))
        return find_refutation(system, _SHORT, rlimit=RLIMIT).found is not None


@dataclass(frozen=True)
class Valid:
    """Formulas with names that hold whatever their variables are: the cases of an induction.

    Each is an implication. With the values `but`, all others false or 0, the conclusion of the one
    called `part` is false, and so must its premise be: that is what the lemma excludes.
    """

    parts: Callable[[], Mapping[str, Expr]]
    part: str
    but: Mapping[str, bool | int]

    @cached_property
    def formulas(self) -> Mapping[str, Expr]:
        """Each part, made once: that takes longer than to prove it."""
        return self.parts()

    def excludes(self) -> bool:
        """Whether premise and conclusion are false where they should be."""
        solver = z3.SolverFor("QF_LIA")
        for name, value in self.but.items():
            solver.add((z3.Bool if isinstance(value, bool) else z3.Int)(name) == value)
        if solver.check() != z3.sat:
            return False
        sides = self.formulas[self.part].children()
        model = solver.model()
        return [value_of(model, side) for side in sides] == [False, False]


@dataclass(frozen=True)
class Runs:
    """Runs that there are, each of which shows something; and one that there is not."""

    controls: tuple[Control, ...]
    none: Control

    def excludes(self) -> bool:
        """Whether there is no run of a few events of the one kind."""
        return find([self.none], _SHORT) == ({}, True)


Statement: TypeAlias = "Always | Valid | Runs"


@dataclass(frozen=True)
class Proven:
    """`proved`, `failed`, or `unknown` for want of work; with the invariant or the runs that show
    it.
    """

    result: str
    invariant: Invariant | None = None
    runs: Mapping[str, Found] | None = None


@dataclass(frozen=True)
class Lemma:
    """A statement that the theorems of some modes depend on.

    Each names what it excludes: a run or an assignment that would break it. A statement that this
    does not break says too little, and fails.
    """

    name: str
    says: str
    modes: frozenset[Mode]
    states: Statement

    def prove(self) -> Proven:
        """Prove the lemma with Z3; `failed` where it does not exclude what it should."""
        proven = self._prove()
        if proven.result == "proved" and not self.states.excludes():
            return replace(proven, result="failed")
        return proven

    def _prove(self) -> Proven:
        match self.states:
            case Always() as always:
                proof = prove(f"lemma {self.name}", always.model())
                return Proven(_LEMMA_TEXTS[proof.result], invariant=proof.invariant)
            case Valid() as valid:
                answers = [_valid(formula) for formula in valid.formulas.values()]
                return Proven(next((a for a in answers if a != "proved"), "proved"))
            case Runs(controls=controls):
                runs, complete = find(controls)
                missing = "failed" if complete else "unknown"
                return Proven(missing if len(runs) < len(controls) else "proved", runs=runs)

    @property
    def parts(self) -> tuple[str, ...]:
        """The questions of which it consists; none where it is a single one."""
        match self.states:
            case Valid() as valid:
                return tuple(valid.formulas)
            case Runs(controls=controls):
                return tuple(control.name for control in controls)
        return ()


_LEMMA_TEXTS = {ProofResult.PROVED: "proved", ProofResult.REFUTED: "failed"} | dict.fromkeys(
    (ProofResult.UNKNOWN, ProofResult.BOUNDED), "unknown"
)


def _valid(claim: Expr) -> str:
    solver = z3.SolverFor("QF_LIA")
    solver.set("rlimit", RLIMIT)
    solver.add(z3.Not(claim))
    return {"unsat": "proved", "sat": "failed"}.get(str(solver.check()), "unknown")


def _swapped() -> dict[str, Expr]:
    """Two runs that keep `proofs.model.pair.RANK`, with priorities swapped, lose in swapped order,
    if in both either claim could lose first.
    """
    p, q, first, second = z3.Ints("p q first second")
    either = [z3.Or(x == 1, x == 2) for x in (first, second)]
    original = z3.If(first == 1, p <= q, q <= p)
    swapped = z3.If(second == 1, q <= p, p <= q)
    return {"swapped": z3.Implies(z3.And(*either, p != q, original, swapped), first != second)}


_judged = kind(Kind.REQUEST_FINISHED, *CONFLICT_ACTIONS)
_LEDGER = Clause("ledger", "", (_judged & was.responsible).implies(was.declared.eq(was.footprint)))
_ONE_LIFE = Clause("one commitment", "", ~(e.mine & kind(Kind.CLAIM_COMMITTED) & was.committed))
_OWNER = Clause("owner", "", ~(e.mine & ends & ~e.authorised))

_TWO_APART = {"responsible.A": True, "responsible.B": True, "blocks.1000": 1, "blocks.0100": 1}
_NOT_THE_LEAST = {**_TWO_APART, "named": True, "blocks.0001": 2, "least": 0}
"""A blamed claim frees two blocks, and the least that one frees is said to be none."""
_FREES_NOTHING = {**_TWO_APART, "needed": 1, "named": True, "invalid_blocker": True}
"""A claim that frees nothing is blamed."""

_HARD, _SOFT = frozenset({Mode.HARD_PROTECTED}), frozenset({Mode.SOFT_PRIORITY})
LEMMAS: tuple[Lemma, ...] = (
    Lemma(
        "ledger",
        "when a request is acted on or ends, a responsible claim's declared footprint is its "
        "committed one",
        _HARD,
        Always(_LEDGER, without="footprint_accounting"),
    ),
    Lemma(
        "sums",
        "so the sum over any number of other claims is the same in both ledgers",
        _HARD,
        Valid(other_claims.sums, "step", {"responsible": True, "theirs": 3, "held": 2}),
    ),
    Lemma(
        "least",
        "every blamed claim is needed exactly if the one that frees least is, however many there "
        "are",
        _HARD,
        Valid(other_claims.least, "step", {"every": True, "so_far": 1, "bound": 2, "share": 3}),
    ),
    Lemma(
        "fields",
        "what `faithful` assumes of these sums and of the least holds of any pool",
        _HARD,
        Valid(other_claims.fields, "any pool", _NOT_THE_LEAST),
    ),
    Lemma(
        "two claims",
        "two claims that are judged apart, among any number of others, agree with each other and "
        "with what is true of all who are blamed",
        _HARD,
        Valid(other_claims.two_claims, "what is seen is true", _FREES_NOTHING),
    ),
    Lemma(
        "one commitment",
        "a claim is never committed a second time",
        _HARD,
        Always(_ONE_LIFE, without="ordered_lifecycle_events"),
    ),
    Lemma(
        "owner",
        "nobody but the owner, or the runtime within its rights, ends a claim",
        _HARD,
        Always(_OWNER, without="ordered_lifecycle_events"),
    ),
    Lemma(
        "swap",
        "runs that each keep the ranks lose in swapped order when priorities are swapped",
        _SOFT,
        Valid(_swapped, "swapped", {"p": 1, "q": 2, "first": 1, "second": 1}),
    ),
    Lemma(
        "control",
        "there are such runs, original and swapped; and with equal priorities neither order of "
        "losses is promised: either has a run that keeps every obligation",
        _SOFT,
        Runs(CONTROLS, none=Control("against the ranks", "<", "B")),
    ),
)


def lemmas_of(mode: Mode) -> tuple[Lemma, ...]:
    """The lemmas that a mode's theorem depends on."""
    return tuple(lemma for lemma in LEMMAS if mode in lemma.modes)
