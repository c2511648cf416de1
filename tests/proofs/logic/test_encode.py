"""How integers and terms are represented for Z3."""

from __future__ import annotations

from typing import Any

import pytest
import z3

from proofs.logic.encode import Bits, Integers, Numbers, encode, variable
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.language.terms import FALSE, TRUE, And, Const, KindIn, Or, Scope, Sort, Term, Var, number

KINDS = {
    Kind.CLAIM_ACCEPTED: z3.Bool("is accepted"),
    Kind.CLAIM_DEMOTED: z3.Bool("is demoted"),
}
both = pytest.mark.parametrize("numbers", [Integers(), Bits(12)], ids=["Integers", "Bits(12)"])


def encoded(term: Term, numbers: Numbers) -> Any:
    def resolve(scope: Scope, name: str) -> Any:
        sort = {"mine": Sort.BOOL}.get(name, Sort.INT)
        return variable(f"{scope.value}.{name}", sort, numbers)

    return encode(term, resolve, KINDS, numbers)


def valid(statement: Any) -> bool:
    """Z3 finds no assignment that makes the statement false."""
    solver = z3.Solver()
    solver.add(z3.Not(statement))
    return bool(solver.check() == z3.unsat)


class TestNumbers:
    """Mathematical integers, and bit-vectors."""

    def test_integers(self) -> None:
        """Integers have no limit: the successor is always greater."""
        numbers = Integers()
        assert numbers.limit is None
        x = numbers.var("x")
        assert z3.IntSort() == x.sort() == numbers.const(7).sort()
        assert valid(x < x + numbers.const(1))

    @pytest.mark.parametrize(("width", "limit"), [(4, 1), (5, 3), (8, 31), (12, 511), (16, 8191)])
    def test_limit(self, width: int, limit: int) -> None:
        """Fields of bit-vectors stay below an eighth of the range, as the docstring says."""
        numbers = Bits(width)
        assert limit == numbers.limit
        assert z3.BitVecSort(width) == numbers.var("x").sort()
        assert width == numbers.const(0).size()

    @pytest.mark.parametrize("width", [5, 12])
    def test_sums_of_four(self, width: int) -> None:
        """Four fields within the limit add up without overflow."""
        numbers = Bits(width)
        top = numbers.const(numbers.limit)
        fields = [numbers.var(f"f{i}") for i in range(4)]
        zero = numbers.const(0)
        within = z3.And([z3.And(zero <= f, f <= top) for f in fields])
        total = fields[0] + fields[1] + fields[2] + fields[3]
        assert valid(z3.Implies(within, z3.And([f <= total for f in fields])))
        wide = [z3.SignExt(8, f) for f in fields]
        exact = wide[0] + wide[1] + wide[2] + wide[3]
        assert valid(z3.Implies(within, z3.SignExt(8, total) == exact))

    def test_signed(self) -> None:
        """Bit-vectors compare as signed numbers: -1 is below 0."""
        numbers = Bits(12)
        assert valid(encoded(number(-1) < 0, numbers))
        assert valid(encoded(number(-1) <= number(0), numbers))
        assert -1 == z3.simplify(encoded(number(2) - 3, numbers)).as_signed_long()

    def test_overflow(self) -> None:
        """Bit-vectors wrap around where integers do not, which is what the limit is for."""
        highest = number(2**11 - 1)
        assert valid(encoded(highest < highest + 1, Integers()))
        assert valid(encoded(highest + 1 < highest, Bits(12)))


class TestEncode:
    """Terms as expressions."""

    @both
    def test_sorts(self, numbers: Numbers) -> None:
        """Booleans become booleans, integers the chosen numbers."""
        assert z3.is_bool(encoded(TRUE, numbers))
        assert z3.is_bool(encoded(e.mine, numbers))
        of_numbers = numbers.var("x").sort()
        assert of_numbers == encoded(e.lead + 1, numbers).sort()
        assert of_numbers == encoded(e.mine.ite(1, e.lead), numbers).sort()

    @both
    def test_empty(self, numbers: Numbers) -> None:
        """A conjunction of nothing holds, a disjunction of nothing and an empty set do not."""
        assert valid(encoded(And(()), numbers))
        assert valid(z3.Not(encoded(Or(()), numbers)))
        assert valid(z3.Not(encoded(KindIn(frozenset()), numbers)))

    @both
    def test_kinds(self, numbers: Numbers) -> None:
        """Membership is of the kinds in the world's alphabet; a kind outside it never occurs."""
        inside = encoded(KindIn(frozenset(KINDS)), numbers)
        assert valid(inside == z3.Or(list(KINDS.values())))
        outside = encoded(KindIn(frozenset({Kind.LOAD_FAILED})), numbers)
        assert valid(z3.Not(outside))
        mixed = encoded(KindIn(frozenset({Kind.LOAD_FAILED, Kind.CLAIM_DEMOTED})), numbers)
        assert valid(mixed == KINDS[Kind.CLAIM_DEMOTED])

    @both
    def test_comparisons(self, numbers: Numbers) -> None:
        """`<`, `<=`, their mirrors and equality are what they say, of both sorts."""
        x, y = e.lead, c.threshold
        a, b = encoded(x, numbers), encoded(y, numbers)
        assert valid(encoded(x < y, numbers) == (a < b))
        assert valid(encoded(x <= y, numbers) == (a <= b))
        assert valid(encoded(x > y, numbers) == (b < a))
        assert valid(encoded(x >= y, numbers) == (b <= a))
        assert valid(encoded(x.eq(y), numbers) == (a == b))
        assert valid(encoded(x.ne(y), numbers) == (a != b))
        assert valid(encoded(e.mine.eq(TRUE), numbers) == encoded(e.mine, numbers))

    @both
    def test_connectives(self, numbers: Numbers) -> None:
        """Implication, choice and negation follow their truth tables."""
        p, q = e.mine, e.lead < c.threshold
        a, b = encoded(p, numbers), encoded(q, numbers)
        assert valid(encoded(p.implies(q), numbers) == z3.Implies(a, b))
        assert valid(encoded(p.ite(q, FALSE), numbers) == z3.And(a, b))
        assert valid(encoded(~(p & q), numbers) == z3.Or(z3.Not(a), z3.Not(b)))

    def test_variables(self) -> None:
        """The caller decides what a variable stands for, by scope and name."""
        asked = []

        def resolve(scope: Scope, name: str) -> Any:
            asked.append((scope, name))
            return z3.IntVal(len(asked))

        term = Var(Scope.WAS, "lead", Sort.INT) < Var(Scope.NOW, "lead", Sort.INT)
        assert valid(encode(term, resolve, {}, Integers()))
        assert [(Scope.WAS, "lead"), (Scope.NOW, "lead")] == asked

    def test_booleans_are_no_numbers(self) -> None:
        """True is not encoded as 1."""
        assert z3.is_true(encoded(Const(True), Integers()))
        assert 1 == encoded(Const(1), Integers()).as_long()

    def test_not_a_term(self) -> None:
        """Something else than a term is refused by name."""
        with pytest.raises(TypeError, match="not a term"):
            encoded("e.mine", Integers())  # type: ignore[arg-type]
