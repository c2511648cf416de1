"""The universe on which both relations are compared: its sizes, and that it finds differences."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
import z3

from proofs.lowering import parts
from proofs.lowering.concrete import Asked, Oracle
from proofs.lowering.program import Program
from proofs.lowering.universe import PARTS, agrees, compare, rows_of_one, rows_of_sets
from spec.claims.states import Mode
from spec.contract.modes import Depth
from spec.lowering import counting, relation
from spec.lowering.depths import MAY_SUPPLY, PRECONDITIONS
from spec.lowering.descriptor import Descriptor
from spec.lowering.evidence import EvidenceFile
from spec.lowering.obligations import REJECTED_WITHOUT
from spec.lowering.relation import lower
from spec.lowering.signals import TEMPTS, Signal
from spec.lowering.vocabulary import Label, Order, Scope, Status, Subtype
from tests.proofs.lowering.broken import (
    DocsSuffice,
    ForbidsDeeper,
    NoPressure,
    SilentIsReady,
    Unclaimed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.lowering.encoding import Relation

ITEMS, READY, OTHERS, ONE, SETS = PARTS


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    """The Z3 relation."""
    return Oracle()


def differs(oracle: Oracle, rows: Iterator[Asked]) -> bool:
    """Whether the two relations differ on any of these rows."""
    while batch := list(islice(rows, 256)):
        if not all(same for same, _ in agrees(oracle, batch)):
            return True
    return False


class TestSizes:
    """What is compared; the large parts are compared in test_command."""

    def test_statements(self, oracle: Oracle) -> None:
        """Every set of preconditions, every atom, every signal and every shown obligation."""
        ready, others = compare(oracle, [READY, OTHERS])
        assert (3**9 + 3**2 + 3**4 + 3 * 3**3 + 3**4, 0) == (ready.points, ready.differ)
        assert (7250, 0) == (others.points, others.differ)

    def test_anchors(self) -> None:
        """An anchor in a run has any claim, basis and set of orders; the others have none."""
        found = list(parts.anchors(Order.LIFECYCLE))
        assert 3 + 2 * 4 * 5 * 6 == len(found)
        assert len(found) == len(set(found))

    def test_rows(self) -> None:
        """Rows are all different."""
        for rows, size in ((rows_of_one(), 18_720), (rows_of_sets(), 14_972)):
            found = [
                (r.descriptor.model_dump_json(), r.mode, r.bundle, r.depth, r.evidence is None)
                for r in islice(rows, 3000)
            ]
            assert len(found) == len(set(found))
            assert size == len(found) + sum(1 for _ in rows)

    def test_labels(self) -> None:
        """Rows of every label and of every subtype are among them."""
        rows = [*islice(rows_of_one(), 0, None, 7), *islice(rows_of_sets(), 0, None, 7)]
        found = [lower(r.descriptor, r.mode, r.depth, r.bundle, r.evidence) for r in rows]
        assert set(Label) == {row.label for row in found}
        assert {None, *Subtype} == {row.subtype for row in found}

    def test_admitted(self) -> None:
        """What the universe is made of is admitted by the schema."""
        for row in islice(rows_of_sets(), 0, None, 1000):
            document = row.descriptor.model_dump(mode="json", by_alias=True)
            for place in (document, *document["adapters"]):
                for item in place.get("native", ()) or place.get("evidence", ()):
                    item["action"] = "refuse"
            Descriptor.model_validate(document)
        for row in islice(rows_of_one(), 1, None, 2000):
            if row.evidence is not None:
                shown = row.evidence.model_dump(mode="json", by_alias=True)
                files = [{"path": "t", "sha256": "0" * 64}]
                EvidenceFile.model_validate({**shown, "files": files})


class TestFindsTheirs:
    """Errors planted in the Python relation are found."""

    @pytest.mark.parametrize(
        ("module", "name", "planted", "part"),
        [
            pytest.param(
                *(counting, "ADEQUATE", frozenset({Scope.CONFORMANCE_TRACE}), ITEMS),
                marks=pytest.mark.slow,
            ),
            (counting, "PRECONDITIONS", {d: p[1:] for d, p in PRECONDITIONS.items()}, READY),
            (relation, "TEMPTS", {**TEMPTS, Signal.PIN: frozenset()}, OTHERS),
            (relation, "_STATED", frozenset({Status.SUPPORTED}), OTHERS),
        ],
    )
    def test_statements(
        self,
        oracle: Oracle,
        monkeypatch: pytest.MonkeyPatch,
        module: Any,
        name: str,
        planted: Any,
        part: str,
    ) -> None:
        """In what statements count for."""
        monkeypatch.setattr(module, name, planted)
        (found,) = compare(oracle, [part])
        assert found.differ
        assert found.first

    @pytest.mark.parametrize(
        ("name", "planted", "rows"),
        [
            ("reaches", lambda depth, other: depth is other, rows_of_one),
            ("ATOMS_FOR", {}, rows_of_one),
            (
                "MAY_SUPPLY",
                {**MAY_SUPPLY, Depth.ROUTING_HOOK: frozenset({"claim_identity"})},
                rows_of_one,
            ),
            (
                "REJECTED_WITHOUT",
                {**REJECTED_WITHOUT, Mode.DEMOTABLE: {"claim_identity"}},
                rows_of_sets,
            ),
            ("_by_adapter", lambda supplied: True, rows_of_sets),
        ],
    )
    def test_rows(
        self,
        oracle: Oracle,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
        planted: Any,
        rows: Any,
    ) -> None:
        """In how they make a label."""
        monkeypatch.setattr(relation, name, planted)
        assert differs(oracle, rows())


class TestFindsOurs:
    """Errors planted in the Z3 relation are found."""

    @pytest.mark.parametrize(
        ("kind", "part"),
        [
            pytest.param(DocsSuffice, ITEMS, marks=pytest.mark.slow),
            (SilentIsReady, READY),
            (Unclaimed, OTHERS),
        ],
    )
    def test_statements(self, kind: type[Relation], part: str) -> None:
        """In what statements count for."""
        (found,) = compare(Oracle(kind), [part])
        assert found.differ

    @pytest.mark.parametrize(
        ("kind", "rows"), [(ForbidsDeeper, rows_of_sets), (NoPressure, rows_of_one)]
    )
    def test_rows(self, kind: type[Relation], rows: Any) -> None:
        """In how they make a label."""
        assert differs(Oracle(kind), rows())


class TestProgram:
    """A term read as a program means what Z3 says it means."""

    def test_operations(self) -> None:
        """Every operation, at every point of two booleans and an enumeration."""
        sort, (one, two) = z3.EnumSort("Pair", ["one", "two"])
        a, b, c = z3.Bool("a"), z3.Bool("b"), z3.Const("c", sort)
        terms = [
            z3.And(a, z3.Not(b)),
            z3.Or(a, b, c == one),
            z3.Implies(a, c == two),
            a == b,
            z3.And(),
            z3.Or([]),
            z3.BoolVal(True),
        ]
        points = [
            {"a": x, "b": y, "c": z}
            for x in (True, False)
            for y in (True, False)
            for z in ("one", "two")
        ]
        sets = Program(terms).run(points)
        for number, point in enumerate(points):
            at = [
                (a, z3.BoolVal(point["a"])),
                (b, z3.BoolVal(point["b"])),
                (c, one if point["c"] == "one" else two),
            ]
            said = [z3.is_true(z3.simplify(z3.substitute(term, *at))) for term in terms]
            assert said == [bool(members >> number & 1) for members in sets]

    def test_other_operations(self) -> None:
        """A term with anything else in it is refused."""
        with pytest.raises(TypeError, match="no operation"):
            Program([z3.If(z3.Bool("a"), z3.Bool("b"), z3.Bool("c"))]).run([{}])
