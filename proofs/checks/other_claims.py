"""Proves, by induction over the claims of a pool, what one claim observes of the others.

The theorem follows one claim, and the others reach it as a few numbers: their blocks, those of the
blamed ones, the least that one of these frees. Here two claims are tracked among any number of
others, and blocks are counted by owner. Each statement about the others is proved for no other
claim (the base case), and for one claim more than it is assumed for (the step).

The claims that are not blamed are counted in before those that are; the numbers do not depend on
the order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import z3

from proofs.logic.encode import Expr, Integers, encode
from proofs.model.environment import faithful
from spec.contract.ledgers import was
from spec.contract.obligations.pressure import blame_is_right
from spec.language.terms import And, Scope, Sort, Term, variables

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["fields", "least", "sums", "two_claims"]


def sums() -> dict[str, Expr]:
    """Two sums over claims that agree one by one: as declared, and as committed.

    Of each claim only those blocks are added that no claim before it has; which ones these are is
    known by their content, and the same in both ledgers.
    """
    declared, committed, theirs, held, common = z3.Ints("declared committed theirs held common")
    responsible = z3.Bool("responsible")
    more = (
        declared + z3.If(responsible, theirs - common, 0),
        committed + z3.If(responsible, held - common, 0),
    )
    agrees = z3.Implies(responsible, theirs == held)  # the lemma "ledger"
    no_claim = z3.And(declared == 0, committed == 0)
    return {
        "base": z3.Implies(no_claim, declared == committed),
        "step": z3.Implies(z3.And(declared == committed, agrees), more[0] == more[1]),
    }


def least() -> dict[str, Expr]:
    """Of any number of blamed claims each frees more than some bound, if the least of them does."""
    bound, so_far, share = z3.Ints("bound so_far share")
    every = z3.Bool("every")
    no_claim = z3.And(so_far == 0, every)
    known = z3.And(so_far >= 0, _each(every, so_far, bound), share >= 1)
    then = _each(z3.And(every, bound < share), _lesser(so_far, share), bound)
    return {
        "base": z3.Implies(no_claim, _each(every, so_far, bound)),
        "step": z3.Implies(known, then),
    }


def fields() -> dict[str, Expr]:
    """The assumptions of the environment about these numbers hold for any pool."""
    pool = _arbitrary()
    seen = pool.seen("A")
    known = z3.And(pool.holds, pool.sensible)
    assumed = [seen.of(term) for term in _parts(faithful()) if seen.knows(term)]
    return _induction() | {"any pool": z3.Implies(known, z3.And(assumed))}


def two_claims() -> dict[str, Expr]:
    """The view that each of two claims has of an action agrees with the set of all blamed claims.

    Where the conflict is standing it is true or not; otherwise, for some amount that other requests
    occupy. The amount that shows it is given.
    """
    pool = _arbitrary()
    known = z3.And(pool.holds, pool.sensible)
    seen = [pool.seen(side).of(blame_is_right(was.declared)) for side in "AB"]
    shows = z3.If(pool.room - pool.total <= pool.elsewhere, pool.room - pool.total, pool.elsewhere)
    given = z3.And(known, pool.bound == pool.slack(shows))
    some = z3.Int("occupied")
    taken = z3.And(known, pool.bound == pool.slack(some))
    return _induction() | {
        "what is seen is true": z3.Implies(z3.And(given, z3.Or(seen)), pool.true_of(shows)),
        "what is true is seen": z3.Implies(z3.And(taken, pool.true_of(some)), z3.And(seen)),
    }


def _induction() -> dict[str, Expr]:
    """No other claim, then one more that is not blamed, then one more that is."""
    before = _arbitrary()
    spared, blamed, given = _one_more(before)
    return {
        "base": z3.Implies(z3.And(before.empty, before.sensible), before.holds),
        "step, not blamed": z3.Implies(
            z3.And(before.holds, z3.Not(before.named), given), spared.holds
        ),
        "step, blamed": z3.Implies(z3.And(before.holds, given), blamed.holds),
    }


def _parts(term: Term) -> tuple[Term, ...]:
    return term.args if isinstance(term, And) else (term,)


def _each(every: Expr, so_far: Expr, bound: Expr) -> Expr:
    """`every` blamed claim frees more than `bound`, which the least among them shows."""
    return every == z3.Or(so_far == 0, bound < so_far)


def _lesser(so_far: Expr, share: Expr) -> Expr:
    return z3.If(z3.Or(so_far == 0, share < so_far), share, so_far)


class _Owners(NamedTuple):
    """Who has a block: either of the two claims; of the others one that is not blamed, one that is.

    The others count only if they are responsible.
    """

    a: bool
    b: bool
    kept: bool
    blamed: bool


_OWNERS = tuple(_Owners(*flags) for flags in product((False, True), repeat=4))
_NOBODY = _Owners(False, False, False, False)


@dataclass(frozen=True)
class _Side:
    """One of the two claims that are followed."""

    responsible: Expr
    blamed: Expr

    @property
    def ties(self) -> Expr:
        """Its blocks are not free: it is responsible and not named."""
        return z3.And(self.responsible, z3.Not(self.blamed))


class _Seen(NamedTuple):
    """The values of variables as one claim sees them; of others, anything."""

    values: Mapping[tuple[Scope, str], Expr]

    def knows(self, term: Term) -> bool:
        """The term is about nothing but these numbers."""
        return all((v.scope, v.name) in self.values for v in variables(term))

    def of(self, term: Term) -> Expr:
        sorts = {(v.scope, v.name): v.sort for v in variables(term)}

        def value(scope: Scope, name: str) -> Expr:
            if (scope, name) in self.values:
                return self.values[scope, name]
            text = f"{scope.value}.{name}"
            return z3.Bool(text) if sorts[scope, name] is Sort.BOOL else z3.Int(text)

        return encode(term, value, {}, Integers())


@dataclass(frozen=True)
class _Pool:
    """Two claims and the others counted so far; `bound` is what each share is compared with.

    Of the others: `least` is the least share of one that is blamed and frees something, `every`
    says that each blamed one frees more than `bound`, `named` that one is blamed at all, and
    `invalid_blocker` that one of those is not responsible or frees nothing.
    """

    blocks: Mapping[_Owners, Expr]
    sides: Mapping[str, _Side]
    least: Expr
    every: Expr
    named: Expr
    invalid_blocker: Expr
    bound: Expr

    @property
    def needed(self) -> Expr:
        return z3.Int("needed")

    @property
    def usable(self) -> Expr:
        return z3.Int("usable")

    @property
    def elsewhere(self) -> Expr:
        """What the other requests in hand need."""
        return z3.Int("elsewhere")

    def count(self, condition: Mapping[_Owners, Expr]) -> Expr:
        """How many blocks there are, of those of whose owners a condition holds."""
        return z3.Sum([z3.If(has, self.blocks[who], 0) for who, has in condition.items()])

    @property
    def empty(self) -> Expr:
        """There are no others."""
        none = [n == 0 if who.kept or who.blamed else n >= 0 for who, n in self.blocks.items()]
        no_claim = [self.least == 0, self.every, z3.Not(self.named), z3.Not(self.invalid_blocker)]
        return z3.And(*none, *no_claim)

    def _owned(self, who: _Owners) -> Expr:
        """A responsible claim has the block."""
        a, b = self.sides["A"].responsible, self.sides["B"].responsible
        mine = [flag for has, flag in ((who.a, a), (who.b, b)) if has]
        return z3.Or(*mine, z3.BoolVal(who.kept or who.blamed))

    def free(self, who: _Owners) -> Expr:
        """No claim that is responsible and not blamed has the block."""
        tied = [self.sides[x].ties for x, has in (("A", who.a), ("B", who.b)) if has]
        return z3.Not(z3.Or(*tied, z3.BoolVal(who.kept)))

    @property
    def total(self) -> Expr:
        """Blocks that are needed: by the request, and by all claims that are responsible."""
        return self.needed + self.count({who: self._owned(who) for who in self.blocks})

    @property
    def room(self) -> Expr:
        """Blocks that are usable, and those that all who are blamed together free."""
        freed = {who: z3.And(self._owned(who), self.free(who)) for who in self.blocks}
        return self.usable + self.count(freed)

    def slack(self, occupied: Expr) -> Expr:
        """How much room is left over, beside what other requests occupy if they are why."""
        return self.room - self.total - z3.If(self.conflict, 0, occupied)

    def _share(self, side: str) -> Expr:
        """What would not be freed without one of the two, if it is blamed."""
        of = {who: self.free(who) for who in self.blocks if (who.a if side == "A" else who.b)}
        return z3.If(self.sides[side].responsible, self.count(of), 0)

    @property
    def _freed_by_others(self) -> Expr:
        """Blocks that no claim has but those that are blamed, one of the others among them."""
        return self.count({who: self.free(who) for who in self.blocks if who.blamed})

    @property
    def conflict(self) -> Expr:
        arrived = z3.Bool("arrived")
        return z3.And(arrived, self.needed <= self.usable, self.usable < self.total)

    @property
    def sensible(self) -> Expr:
        """What is so of any two claims, and of any request."""
        own = [
            z3.Sum([n for who, n in self.blocks.items() if (who.a if side == "A" else who.b)]) >= 1
            for side in "AB"
        ]
        return z3.And(*own, self.needed >= 1, self.elsewhere >= 0)

    @property
    def holds(self) -> Expr:
        """What the induction shows of any number of others."""
        free = self._freed_by_others
        none_blamed = [n == 0 for who, n in self.blocks.items() if who.blamed]
        return z3.And(
            *(n >= 0 for n in self.blocks.values()),
            z3.Or(self.named, z3.And(*none_blamed, self.least == 0, z3.Not(self.invalid_blocker))),
            z3.Implies(self.named, z3.Or(self.least >= 1, self.invalid_blocker)),
            (self.least >= 1) == (free >= 1),
            z3.And(self.least >= 0, self.least <= free),
            z3.Or(self.invalid_blocker, _each(self.every, self.least, self.bound)),
        )

    def true_of(self, occupied: Expr) -> Expr:
        """All who are blamed are responsible, suffice, and none of them is too many.

        Args:
            occupied: by other requests, where the request would fit beside the claims alone.
        """
        bound = self.slack(occupied)
        blamed = [(self.sides[x], self._share(x)) for x in "AB"]
        needed = [z3.Implies(side.blamed, bound < share) for side, share in blamed]
        none_blamed = z3.Not(z3.Or(self.named, *(side.blamed for side, _ in blamed)))
        fits = z3.And(z3.Bool("arrived"), self.needed <= self.usable)
        crowded = z3.And(occupied >= 0, occupied <= self.elsewhere)
        crowded = z3.And(fits, crowded, self.usable < self.total + occupied)
        explained = z3.And(bound >= 0, *needed, self.every)
        return z3.And(
            z3.Not(self.invalid_blocker),
            *(z3.Implies(side.blamed, side.responsible) for side, _ in blamed),
            z3.If(self.conflict, explained, z3.Or(none_blamed, z3.And(crowded, explained))),
        )

    def seen(self, side: str) -> _Seen:
        """The fields of the event as one of the two claims has them."""
        me, other = self.sides[side], self.sides["B" if side == "A" else "A"]
        mine = {who: who.a if side == "A" else who.b for who in self.blocks}
        its = {who: who.b if side == "A" else who.a for who in self.blocks}
        false = z3.BoolVal(False)

        def theirs(who: _Owners) -> Expr:
            return z3.Or(other.responsible if its[who] else false, z3.BoolVal(sum(who[2:]) > 0))

        def kept(who: _Owners) -> Expr:
            return z3.Or(other.ties if its[who] else false, z3.BoolVal(who.kept))

        def named(who: _Owners) -> Expr:
            named = z3.And(other.responsible, other.blamed) if its[who] else false
            free = z3.And(z3.Or(named, z3.BoolVal(who.blamed)), z3.Not(kept(who)))
            return z3.And(free, z3.Not(me.responsible)) if mine[who] else free

        rest = {who: theirs(who) for who in self.blocks}
        share = z3.If(other.blamed, self._share("B" if side == "A" else "A"), 0)
        strange = z3.And(other.blamed, share == 0)
        values = {
            "rest": self.count(rest),
            "shared": self.count({who: rest[who] for who in self.blocks if mine[who]}),
            "shared_unblamed": self.count({who: kept(who) for who in self.blocks if mine[who]}),
            "others": self.elsewhere,
            "blamed": me.blamed,
            "blamed_rest": self.count({who: named(who) for who in self.blocks}),
            "blamed_least": z3.If(
                self.least == 0, share, z3.If(share == 0, self.least, _lesser(self.least, share))
            ),
            "accuses": z3.Or(me.blamed, other.blamed, self.named),
            "invalid_blocker": z3.Or(self.invalid_blocker, strange),
        }
        own = z3.Sum([n for who, n in self.blocks.items() if mine[who]])
        return _Seen(
            {(Scope.EVENT, name): value for name, value in values.items()}
            | {
                (Scope.WAS, "responsible"): me.responsible,
                (Scope.WAS, "declared"): own,
                (Scope.WAS, "footprint"): own,
                (Scope.REQ_WAS, "arrived"): z3.Bool("arrived"),
                (Scope.REQ_WAS, "needed"): self.needed,
                (Scope.REQ_WAS, "usable"): self.usable,
            }
        )


def _arbitrary() -> _Pool:
    """Any two claims among any others."""
    blocks = {
        who: z3.Int("blocks." + "".join("01"[has] for has in who))
        for who in _OWNERS
        if who != _NOBODY
    }
    sides = {x: _Side(z3.Bool(f"responsible.{x}"), z3.Bool(f"blamed.{x}")) for x in "AB"}
    least, bound = z3.Ints("least bound")
    every, named, invalid_blocker = z3.Bools("every named invalid_blocker")
    return _Pool(blocks, sides, least, every, named, invalid_blocker, bound)


def _one_more(pool: _Pool) -> tuple[_Pool, _Pool, Expr]:
    """The pool with one claim more that is not blamed, with one more that is, and what is so of
    that claim's blocks.
    """
    responsible, fresh = z3.Bool("responsible.C"), z3.Int("fresh")
    has = {who: z3.Int(f"has.{n}") for n, who in enumerate(pool.blocks)}
    given = [z3.And(taken >= 0, taken <= pool.blocks[who]) for who, taken in has.items()]
    counted = {who: z3.If(responsible, n, 0) for who, n in has.items()}
    spared, named = (_moved(pool, counted, to) for to in ("kept", "blamed"))
    spared[_NOBODY._replace(kept=True)] += z3.If(responsible, fresh, 0)
    named[_NOBODY._replace(blamed=True)] += z3.If(responsible, fresh, 0)
    free = z3.Sum([z3.If(pool.free(who), n, 0) for who, n in has.items()])
    share = z3.If(responsible, free + fresh, 0)
    blamed = replace(
        pool,
        blocks=named,
        least=z3.If(share == 0, pool.least, _lesser(pool.least, share)),
        every=z3.And(pool.every, pool.bound < share),
        named=z3.BoolVal(True),
        invalid_blocker=z3.Or(pool.invalid_blocker, share == 0),
    )
    return replace(pool, blocks=spared), blamed, z3.And(*given, fresh >= 0)


def _moved(pool: _Pool, has: Mapping[_Owners, Expr], to: str) -> dict[_Owners, Expr]:
    """The blocks, where those that one more claim has are among those of its kind."""
    blocks = dict(pool.blocks)
    for who, taken in has.items():
        if not getattr(who, to):
            blocks[who] -= taken
            blocks[who._replace(**{to: True})] += taken
    return blocks
