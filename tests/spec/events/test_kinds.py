"""Tests of the rows of the kinds, and of what is made from them."""

import msgspec
import pytest

from spec.events.alphabet import ENDS, LIFECYCLE_REPORTS, REPORTS, Kind
from spec.events.fields import FIELDS, IDENTITY, fields_of, one_of, required_of

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
