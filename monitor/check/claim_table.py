"""Tabulates what was found of many claims: those that stand alike differ by their ids and places.

A table is small where the reports of its claims are not, and quick to hand to another process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from monitor.check.parts import text_of
from monitor.evaluate.alike import PlacedFindings
from monitor.report.verdict import ClaimReport, ObligationReport, Place

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from monitor.engine import ClaimVerdict, ModeVerdict
    from monitor.input.records import At
    from spec.claims.claim import Mode
    from spec.claims.states import ClaimState
    from spec.language.verdicts import Verdict

__all__ = ["ClaimTable", "tabulated"]

_Row: TypeAlias = "tuple[int, str, list[int | None]]"
"""A claim: its kind, its id, and the line and the sequence number of each of its places."""


class _Found(NamedTuple):
    """What was found of an obligation; `place` is which of a claim's places it has, if any."""

    name: str
    verdict: Verdict
    why: str
    allowed: str
    place: int | None


class _Kind(NamedTuple):
    """What claims have in common that stand alike; `files` are those of their places."""

    stream: str
    state: ClaimState
    verdict: ModeVerdict
    why: str
    declared_mode: str | None
    found: list[_Found]
    files: list[str]


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
        claim, findings = judged.claim, judged.findings
        key: Hashable
        if type(findings) is PlacedFindings:
            shared = findings.shared
            places = [findings.places[slot] for slot in shared.used]
            key = shared, claim.stream, claim.declared_mode, *[at.file for at in places]
        else:
            places = [each.at for each in findings.values() if each.at is not None]
            key = _key_of(judged)
        if (number := numbers.get(key)) is None:
            number = numbers[key] = len(table.kinds)
            table.kinds.append(_kind_of(judged, places))
        table.rows.append((number, claim.claim_id, _numbers(places)))
    return table


def _numbers(places: Iterable[At]) -> list[int | None]:
    return [number for at in places for number in (at.line, at.sequence)]


def _key_of(judged: ClaimVerdict) -> Hashable:
    """What is equal of claims of one kind."""
    claim = judged.claim
    # A member of an enumeration is one object, and computes its hash in Python.
    key: list[Hashable]
    key = [claim.stream, id(claim.state), id(judged.verdict), judged.why, claim.declared_mode]
    for name, found in judged.findings.items():
        file = None if found.at is None else found.at.file
        key += (name, id(found.verdict), found.why, found.allowed, file)
    return tuple(key)


def _kind_of(judged: ClaimVerdict, places: Sequence[At]) -> _Kind:
    claim, found, taken = judged.claim, [], 0
    shared = judged.findings.shared if isinstance(judged.findings, PlacedFindings) else None
    for name, each in judged.findings.items():
        place = None
        if each.at is not None:
            place = taken if shared is None else shared.used.index(shared.slots[name][0])
            taken += 1
        found.append(_Found(name, each.verdict, each.why, each.allowed, place))
    files = [at.file for at in places]
    about = claim.stream, claim.state, judged.verdict, judged.why, claim.declared_mode
    return _Kind(*about, found, files)


class _Reports:
    """Makes the reports of the claims of one kind, which have in common what no event decided."""

    def __init__(self, kind: _Kind, mode: Mode) -> None:
        self._kind, self._mode, self._stream = kind, mode, text_of(kind.stream)
        self._obligations = {
            each.name: ObligationReport(each.verdict, None, each.why, each.allowed)
            for each in kind.found
        }
        self._placed = [(*each[:4], each.place) for each in kind.found if each.place is not None]
        self._files = [text_of(file) for file in kind.files]

    def of(self, claim_id: str, numbers: list[int | None]) -> ClaimReport:
        """The report of a claim.

        Args:
            numbers: the line and the sequence number of each place.
        """
        kind, obligations = self._kind, self._obligations.copy()
        places = list(map(Place, self._files, numbers[::2], numbers[1::2]))  # type: ignore[arg-type]
        for name, verdict, why, allowed, place in self._placed:
            obligations[name] = ObligationReport(verdict, places[place], why, allowed)
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
