"""The universe of the lowering relation: its sizes, and that mistakes are noticed on it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest

from proofs.lowering import statements
from proofs.lowering.inputs import read_source, sources
from proofs.lowering.universe import Case, Universe, read, whole_rows
from spec.lowering.descriptor import Descriptor
from spec.lowering.evidence import EvidenceFile
from spec.lowering.vocabulary import Label, Subtype
from tests.proofs.lowering.planted import UNSEEN, plant

if TYPE_CHECKING:
    from collections.abc import Iterator


def some(universe: Universe, each: int) -> Iterator[Case]:
    """Every so many of the whole rows."""
    return islice(whole_rows(universe.cells), 0, None, each)


class TestWhole:
    """What is tabulated; the sizes of all parts are in test_command."""

    def test_statements(self) -> None:
        """Every anchor and item that the schema admits is there once."""
        anchors, items = [*statements.anchors()], [*statements.items()]
        assert 3 + 2 * 2 * 5 * 6 == len(anchors) == len(set(anchors))
        assert 4 * 4 * (1 + len(anchors)) * 2 == len(items) == len(set(items))

    def test_classes(self, universe: Universe) -> None:
        """Items count, are related or neither; together they are nothing else."""
        assert {0, 1, 3} == set(universe.items.values()) == set(universe.cells)

    def test_labels(self, universe: Universe) -> None:
        """Rows of every label and of every subtype are among the whole rows."""
        found = [universe.answer(case) for case in some(universe, 7)]
        assert set(Label) == {label for label, _, _ in found}
        assert {None, *Subtype} == {subtype for _, subtype, _ in found}

    def test_admitted(self, universe: Universe) -> None:
        """What whole rows are made of is admitted by the schema, and read back as it was."""
        for case in some(universe, 101):
            for noise in (False, True):
                found, shown = case.build(noise=noise)
                Descriptor.model_validate(found.model_dump(mode="json", by_alias=True))
                again = read(found, case.mode, case.bundle, case.depth, shown)
                assert universe.answer(case) == universe.answer(again)
                if shown is not None:
                    document = shown.model_dump(mode="json", by_alias=True)
                    files = [{"path": "t", "sha256": "0" * 64}]
                    EvidenceFile.model_validate({**document, "files": files})


@pytest.mark.slow
class TestNoticed:
    """Mistakes in the relation that refute no theorem."""

    @pytest.mark.parametrize(("part", "before", "after"), UNSEEN, ids=lambda each: each[:30])
    def test_planted(
        self, part: str, before: str, after: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It differs from its rules in the part that the mistake is about, with an example."""
        plant(monkeypatch, before, after)
        universe = Universe(whole=part == "whole rows")
        (found,) = [each for each in universe.parts if each.what == part]
        assert found.differ
        assert found.first


class TestInputs:
    """What the source of the relation may do."""

    def test_source(self) -> None:
        """Every operation in the source as it is is listed."""
        found = read_source()
        assert (0, "") == (found.differ, found.first)
        assert found.points > 1000

    @pytest.mark.parametrize(
        ("before", "after", "what"),
        [
            ("if forbidden:", "if descriptor.name:", "a field that no point has"),
            ("if forbidden:", "if descriptor.anchors['a'].note:", "a field that no point has"),
            ("if forbidden:", "if getattr(descriptor, 'name'):", "a function that is not read"),
            ("if forbidden:", "if len(declared) > 2:", "an operation that is not read"),
            ("if forbidden:", "if sum(1 for _ in declared):", "a function that is not read"),
            ("if forbidden:", "if declared[2:]:", "a place in a list"),
            ("if forbidden:", "if next(places):", "an iterator that is used again"),
            ("if forbidden:", "if declared == [descriptor]:", "compares something else"),
            ("if forbidden:", "if 'x' in str(descriptor):", "looks into something else"),
            ("if forbidden:", "if descriptor.model_dump():", "a method that is not read"),
            ("if forbidden:", "if evidence.files:", "a field that no point has"),
            ("if forbidden:", "if forbidden or 7:", "a number"),
            ("if forbidden:", "while declared:", "an operation that is not read"),
            ("def judge(", "@cache\ndef judge(", "a decorator"),
            ("def judge(", "any = all\n\n\ndef judge(", "a name is given another value"),
            ("def judge(", "from x import strange\n\n\ndef judge(", "a name that is not read"),
            ("def judge(", "del judge\n\n\ndef judge(", "a part that is not read"),
        ],
    )
    def test_planted(self, before: str, after: str, what: str) -> None:
        """An operation that could look at something outside of the points is reported."""
        source = sources()["relation.py"]
        assert 1 == source.count(before)
        found = read_source({"relation.py": source.replace(before, after)})
        assert found.differ
        assert what in found.first
