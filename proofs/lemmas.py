"""What lets one claim and one integer stand for a pool: small statements, each checked by Z3.

The theorem follows one claim; the others enter as sums and a minimum over blocks that they declare.
That this says the same as a statement about every claim by name is not taken for granted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import z3

from proofs.encode import Expr, Integers, encode
from proofs.engines.recorded import prove
from proofs.engines.spacer import ProofResult
from proofs.pair import swap_lemma
from proofs.system import System
from proofs.theorems import Clause
from spec.alphabet import CONFLICT_ACTIONS, ENDS, Kind
from spec.claims import Mode
from spec.ledgers import kind, was
from spec.modes import Bundle
from spec.obligations.pressure import blame_is_right
from spec.terms import Scope
from spec.vocabulary import e

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LEMMAS", "Lemma", "lemmas_of"]


@dataclass(frozen=True)
class Lemma:
    """A statement that a mode's theorem leans on; `holds` says whether Z3 proves it."""

    name: str
    says: str
    modes: frozenset[Mode]
    holds: Callable[[], bool]


def _valid(claim: Expr) -> bool:
    solver = z3.Solver()
    solver.add(z3.Not(claim))
    return bool(solver.check() == z3.unsat)


def _always(clause: Clause) -> bool:
    """A statement of ours, in the place of the theorem's clauses, holds in every run."""
    system = System(Mode.HARD_PROTECTED, Bundle.CONTRACT, Integers())
    system.clauses = (clause,)
    return prove(f"lemma {clause.name}", system).result is ProofResult.PROVED


def _ledger() -> bool:
    """At each action on a request, and at its end, what is declared is what is committed."""
    judged = kind(Kind.REQUEST_FINISHED, *CONFLICT_ACTIONS)
    same = (judged & was.responsible).implies(was.declared.eq(was.footprint))
    return _always(Clause("ledger", "", same))


def _one_life() -> bool:
    """A claim that was responsible once and is settled again is never committed a second time."""
    again = e.mine & kind(Kind.CLAIM_COMMITTED) & was.committed
    return _always(Clause("one life", "", ~again, settled=True))


def _owner() -> bool:
    """Nobody but the owner, or the runtime within its rights, ends a claim."""
    ends = kind(*ENDS)
    stranger = e.mine & ends & ~e.authorised
    return _always(Clause("owner", "", ~stranger))


def _sums() -> bool:
    """Adding a claim whose declared and committed blocks agree keeps two sums equal."""
    declared, committed, d, c = z3.Ints("declared committed d c")
    return _valid(z3.Implies(z3.And(declared == committed, d == c), declared + d == committed + c))


def _least() -> bool:
    """Irredundance of every named claim is irredundance of the smallest: one more claim added."""
    bound, total, least, blocks = z3.Ints("bound total least blocks")
    every = z3.Bool("every")  # each claim named so far: bound < total + its blocks
    smaller = z3.If(blocks < least, blocks, least)
    so_far = every == (bound < total + least)
    then = z3.And(every, bound < total + blocks) == (bound < total + smaller)
    return _valid(z3.Implies(so_far, then))


def _two_named() -> bool:
    """What either of two named claims sees of a refusal is what is true of all names at once."""
    needed, usable, third, third_named, third_least = z3.Ints(
        "needed usable third third_named third_least"
    )
    stranger, arrived = z3.Bools("stranger arrived")
    blocks = dict(zip("AB", z3.Ints("blocks_A blocks_B"), strict=True))
    responsible = dict(zip("AB", z3.Bools("responsible_A responsible_B"), strict=True))
    blamed = dict(zip("AB", z3.Bools("blamed_A blamed_B"), strict=True))
    mine = {x: z3.If(responsible[x], blocks[x], 0) for x in "AB"}
    told = {x: z3.If(blamed[x], mine[x], 0) for x in "AB"}
    total = needed + mine["A"] + mine["B"] + third
    named = told["A"] + told["B"] + third_named
    conflict = z3.And(arrived, needed <= usable, usable < total)
    sensible = z3.And(
        *(blocks[x] >= 1 for x in "AB"),
        needed >= 1,
        third >= third_named,
        third_named >= third_least,
        (third_named >= 1) == (third_least >= 1),
        third_least >= 0,
    )
    truth = z3.And(
        z3.Not(stranger),
        *(z3.Implies(blamed[x], responsible[x]) for x in "AB"),
        z3.If(
            conflict,
            z3.And(
                total <= usable + named,
                *(z3.Implies(blamed[x], usable + named < total + blocks[x]) for x in "AB"),
                z3.Implies(third_named >= 1, usable + named < total + third_least),
            ),
            z3.And(z3.Not(z3.Or(blamed["A"], blamed["B"])), third_named == 0),
        ),
    )

    def seen(me: str, other: str) -> Expr:
        least = z3.If(
            told[other] == 0,
            third_least,
            z3.If(z3.Or(third_named == 0, told[other] < third_least), told[other], third_least),
        )
        values = {
            (Scope.EVENT, "rest"): mine[other] + third,
            (Scope.EVENT, "blamed"): blamed[me],
            (Scope.EVENT, "blamed_rest"): told[other] + third_named,
            (Scope.EVENT, "blamed_least"): least,
            (Scope.EVENT, "stranger"): z3.Or(
                stranger, z3.And(blamed[other], z3.Not(responsible[other]))
            ),
            (Scope.WAS, "responsible"): responsible[me],
            (Scope.WAS, "declared"): blocks[me],
            (Scope.REQ_WAS, "arrived"): arrived,
            (Scope.REQ_WAS, "needed"): needed,
            (Scope.REQ_WAS, "usable"): usable,
        }
        term = blame_is_right(was.declared)
        return encode(term, lambda scope, name: values[scope, name], {}, Integers())

    return _valid(z3.Implies(sensible, z3.And(seen("A", "B") == truth, seen("B", "A") == truth)))


_HARD = frozenset({Mode.HARD_PROTECTED})
LEMMAS: tuple[Lemma, ...] = (
    Lemma(
        "ledger",
        "when a request is acted on or ends, a responsible claim's declared footprint is its "
        "committed one",
        _HARD,
        _ledger,
    ),
    Lemma(
        "sums",
        "so the sum over any number of other claims is the same in both ledgers",
        _HARD,
        _sums,
    ),
    Lemma(
        "least",
        "every named claim is needed exactly if the smallest named one is, for any number named",
        _HARD,
        _least,
    ),
    Lemma(
        "two named claims",
        "two claims that are judged apart agree with each other and with what is true of all names",
        _HARD,
        _two_named,
    ),
    Lemma("one life", "a settled claim is never committed a second time", _HARD, _one_life),
    Lemma(
        "owner",
        "nobody but the owner, or the runtime within its rights, ends a claim",
        _HARD,
        _owner,
    ),
    Lemma(
        "swap",
        "runs that each keep the ranks lose in swapped order when priorities are swapped",
        frozenset({Mode.SOFT_PRIORITY}),
        swap_lemma,
    ),
)


def lemmas_of(mode: Mode) -> tuple[Lemma, ...]:
    """The lemmas that a mode's theorem leans on."""
    return tuple(lemma for lemma in LEMMAS if mode in lemma.modes)
