"""Tabulates what was found of many claims: those that stand alike differ by their ids and places.

A table is small where the reports of its claims are not, and quick to hand to another process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from monitor.check.parts import text_of
from monitor.report.verdict import ClaimReport, ObligationReport, Place

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from monitor.engine import ClaimVerdict, ModeVerdict
    from spec.claims.claim import Mode
    from spec.claims.states import ClaimState
    from spec.language.verdicts import Verdict

__all__ = ["ClaimTable", "tabulated"]

_Row: TypeAlias = "tuple[int, str, list[int | None]]"
"""A claim: its kind, its id, and the line and the sequence number of each event that decided."""


class _Found(NamedTuple):
    """What was found of an obligation; `file` is that of the event that decided, if one did."""

    name: str
    verdict: Verdict
    why: str
    allowed: str
    file: str | None


class _Kind(NamedTuple):
    """What claims have in common that stand alike."""

    stream: str
    state: ClaimState
    verdict: ModeVerdict
    why: str
    declared_mode: str | None
    found: list[_Found]


class ClaimTable(NamedTuple):
    """Claims that one mode judged, in their order."""

    kinds: list[_Kind]
    rows: list[_Row]

    def reports(self, mode: Mode) -> Iterator[ClaimReport]:
        """The claims as a report lists them."""
        kinds = [_Reports(kind, mode) for kind in self.kinds]
        for kind, claim_id, places in self.rows:
            yield kinds[kind].of(claim_id, places)


def tabulated(claims: Iterable[ClaimVerdict]) -> ClaimTable:
    """The claims as a table."""
    table = ClaimTable([], [])
    numbers: dict[Hashable, int] = {}
    for judged in claims:
        claim = judged.claim
        places: list[int | None] = []
        # A member of an enumeration is one object, and computes its hash in Python.
        key: list[Hashable]
        key = [claim.stream, id(claim.state), id(judged.verdict), judged.why, claim.declared_mode]
        for name, found in judged.findings.items():
            file = None
            if (at := found.at) is not None:
                file = at.file
                places += (at.line, at.sequence)
            key += (name, id(found.verdict), found.why, found.allowed, file)
        number = numbers.setdefault(tuple(key), len(table.kinds))
        if number == len(table.kinds):
            table.kinds.append(_kind_of(judged))
        table.rows.append((number, claim.claim_id, places))
    return table


def _kind_of(judged: ClaimVerdict) -> _Kind:
    claim = judged.claim
    found = [
        _Found(
            name, each.verdict, each.why, each.allowed, None if each.at is None else each.at.file
        )
        for name, each in judged.findings.items()
    ]
    return _Kind(claim.stream, claim.state, judged.verdict, judged.why, claim.declared_mode, found)


class _Reports:
    """Makes the reports of the claims of one kind, which have in common what no event decided."""

    def __init__(self, kind: _Kind, mode: Mode) -> None:
        self._kind, self._mode, self._stream = kind, mode, text_of(kind.stream)
        self._obligations = {
            each.name: ObligationReport(each.verdict, None, each.why, each.allowed)
            for each in kind.found
        }
        placed = ((each, each.file) for each in kind.found)
        self._placed = [(each, text_of(file)) for each, file in placed if file is not None]

    def of(self, claim_id: str, places: list[int | None]) -> ClaimReport:
        """The report of a claim.

        Args:
            places: the line and the sequence number of each event that decided.
        """
        kind, obligations = self._kind, self._obligations.copy()
        numbers = zip(self._placed, places[::2], places[1::2], strict=True)
        for (found, file), line, sequence in numbers:
            assert line is not None
            place = Place(file, line, sequence)
            obligations[found.name] = ObligationReport(
                found.verdict, place, found.why, found.allowed
            )
        return ClaimReport(
            claim_id,
            self._stream,
            kind.state,
            kind.verdict,
            obligations,
            kind.why,
            kind.declared_mode,
            self._mode,
        )
