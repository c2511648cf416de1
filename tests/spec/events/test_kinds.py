"""Tests of the rows of the kinds, and of what is made from them."""

import msgspec
import pytest

from spec.events.alphabet import ENDS, LIFECYCLE_REPORTS, REPORTS, Kind
from spec.events.fields import FIELDS, IDENTITY, fields_of, one_of, required_of
from spec.events.row import By, Names, Role, Row

EACH = pytest.mark.parametrize("kind", Kind)


@EACH
class TestRow:
    """Each kind by itself."""

    def test_fields(self, kind: Kind) -> None:
        """Its fields are fields of events, and what is required may be stated."""
        row = kind.row
        assert {*row.fields.split(), *row.required.replace("|", " ").split()} <= set(FIELDS)
        assert {*required_of(kind), *one_of(kind)} <= {*fields_of(kind), *IDENTITY}
        assert not {*required_of(kind)} & {*one_of(kind)}

    def test_value(self, kind: Kind) -> None:
        """It is written and read by its name alone."""
        assert f'"{kind.name.lower()}"'.encode() == msgspec.json.encode(kind)
        assert kind is Kind(kind.value)
        assert kind is msgspec.json.decode(msgspec.json.encode(kind), type=Kind)

    def test_role(self, kind: Kind) -> None:
        """Only reports are actions, end responsibility or move the lifecycle; ends move it."""
        row = kind.row
        if row.action or row.ends or row.lifecycle or row.tells:
            assert kind in REPORTS
        assert ENDS <= LIFECYCLE_REPORTS


class TestFinds:
    """By what an event of a new kind finds its claims, where its row does not say."""

    def test_report(self) -> None:
        """A report about a claim finds it by name, and others on its object by a foreign one."""
        row = Row(Role.REPORT, "", Names.MUST)
        assert (By.NAME, By.FOREIGN) == row.finds

    def test_fact(self) -> None:
        """A fact that may name no claim finds those on its object, or that hold its blocks."""
        row = Row(Role.CHOICE, "", Names.MAY, request=True)
        assert (By.NAME, By.OBJECT, By.BLOCKS, By.REQUEST) == row.finds

    def test_registry(self) -> None:
        """A fact that must name a claim finds that one alone."""
        assert (By.NAME,) == Row(Role.ENVIRONMENT, "", Names.MUST).finds

    def test_nobody(self) -> None:
        """What names no claim is told to all of the pool."""
        assert (By.POOL, By.REQUEST) == Row(Role.REPORT, "", Names.NEVER, request=True).finds

    def test_stated(self) -> None:
        """What the row states counts before all else."""
        assert (By.LOSS,) == Row(Role.CHOICE, "", Names.MAY, by=(By.LOSS,)).finds
