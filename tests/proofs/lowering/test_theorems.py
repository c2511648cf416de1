"""The theorems of lowering can fail, and say of what row; none of them is vacuous."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import z3

from proofs.lowering.concrete import Asked, Oracle
from proofs.lowering.parts import evidence
from proofs.lowering.prove import prove
from proofs.lowering.theorems import NAMES, Theorem, theorems
from spec.lowering.load import parse_descriptor
from spec.lowering.relation import lower
from tests.proofs.lowering.broken import BROKEN, TableBroken

if TYPE_CHECKING:
    from proofs.lowering.encoding import Relation
    from proofs.lowering.results import Case, Counterexample


def the(name: str) -> Theorem:
    (found,) = theorems(names=[name])
    return found


def asked(found: Counterexample, case: Case) -> Asked:
    """A row of a counterexample, read back from what is printed."""
    descriptor = parse_descriptor(case.descriptor.encode(), "counterexample")
    shows = evidence(found.mode, case.shows) if case.shows else None
    return Asked(descriptor, found.mode, found.bundle, case.depth, shows)


class TestProved:
    """What `check lowering` proves; all of it at once is in test_command."""

    def test_names(self) -> None:
        """Each theorem is built under its own name, and is broken by something."""
        assert set(NAMES) == {name for name, _ in BROKEN}
        assert "labels" == the("labels").name

    def test_proved(self) -> None:
        """A theorem that holds has a case of each of its witnesses, and no counterexample."""
        proof = prove(the("telemetry"))
        assert ("proved", None) == (proof.result, proof.counterexample)
        assert {"shown"} == set(proof.witnesses.values())

    def test_unknown(self) -> None:
        """Where the work limit is reached nothing is known."""
        assert "unknown" == prove(the("telemetry"), rlimit=1).result

    def test_vacuous(self) -> None:
        """A theorem of which some case does not exist is vacuous, and no pass."""
        whole = the("telemetry")
        assert "vacuous" == prove(replace(whole, witnesses={"x": z3.BoolVal(False)})).result
        assert "vacuous" == prove(replace(whole, premise=z3.BoolVal(False))).result


FEW = 2
"""Of the broken relations so many are tried with the fast tests."""


class TestRefuted:
    """Relations that are broken on purpose."""

    @pytest.mark.parametrize(
        ("name", "kind"),
        [*BROKEN[:FEW], *(pytest.param(*each, marks=pytest.mark.slow) for each in BROKEN[FEW:])],
        ids=lambda each: getattr(each, "__name__", each),
    )
    def test_broken(self, name: str, kind: type[Relation]) -> None:
        """The theorem is refuted by a descriptor that the schema admits; the relation as broken
        calls it what the counterexample says, and the relation as it is calls it otherwise."""
        (theorem,) = theorems(kind, [name])
        proof = prove(theorem)
        assert "refuted" == proof.result
        found = proof.counterexample
        assert found is not None
        cases = [found.row, *([] if found.after is None else [found.after])]
        rows = [asked(found, case) for case in cases]
        answers = Oracle(kind).answers(rows)
        assert [case.labels for case in cases] == [list(answer.labels) for answer in answers]
        right = [lower(r.descriptor, r.mode, r.depth, r.bundle, r.evidence) for r in rows]
        said = [(tuple(a.labels), a.subtypes, a.missing) for a in answers]
        assert said != [
            ((r.label,), () if r.subtype is None else (r.subtype,), frozenset(r.missing))
            for r in right
        ]

    def test_smallest(self) -> None:
        """A counterexample has nothing that it could do without: here one item and its depth."""
        (theorem,) = theorems(TableBroken, ["telemetry"])
        found = prove(theorem).counterexample
        assert found is not None
        descriptor = asked(found, found.row).descriptor
        (adapter,) = descriptor.adapters
        assert ["victim_exclusion_before_violation"] == [i.obligation for i in adapter.evidence]
        assert ((), (), (), ()) == (
            descriptor.native,
            descriptor.signals,
            descriptor.observations,
            descriptor.forbidden,
        )
