"""Tabulates what was found of many claims: those that stand alike differ by their ids and places.

A table is small where the reports of its claims are not, and quick to hand to another process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from monitor.check.parts import text_of
from monitor.evaluate.alike import PlacedFindings
from monitor.input.records import At, Source, at_line
from monitor.report.verdict import ClaimReport, ObligationReport, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from monitor.engine import ClaimVerdict, ModeVerdict
    from spec.claims.claim import Mode
    from spec.claims.states import ClaimState
    from spec.language.verdicts import Verdict

__all__ = ["ClaimTable", "tabulated"]

_Row: TypeAlias = "tuple[int, str, tuple[At, ...]]"
"""A claim: its kind, its id, and its places."""

_Packed: TypeAlias = "tuple[int, str, list[int | None]]"
"""The same, with the file, the line and the sequence number of each place."""


class _Found(NamedTuple):
    """What was found of an obligation; `place` is which of a claim's places it has, if any."""

    name: str
    verdict: Verdict
    why: str
    allowed: str
    place: int | None


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

    def __reduce__(self) -> tuple[Callable[..., ClaimTable], tuple[object, ...]]:
        """How another process makes it again: of numbers, which are read faster than places."""
        files = {at.file: 0 for _, _, places in self.rows for at in places}
        numbers = {file: number for number, file in enumerate(files)}
        rows = [
            (kind, name, [n for at in places for n in (numbers[at.file], at.line, at.sequence)])
            for kind, name, places in self.rows
        ]
        return _unpacked, (self.kinds, list(files), rows)


def _unpacked(kinds: list[_Kind], files: list[str], rows: Iterable[_Packed]) -> ClaimTable:
    return ClaimTable(kinds, [(kind, name, _places(files, each)) for kind, name, each in rows])


def _places(files: list[str], numbers: list[int | None]) -> tuple[At, ...]:
    each: Any = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
    return tuple([at_line(files[file], line, sequence) for file, line, sequence in each])


def tabulated(claims: Iterable[ClaimVerdict]) -> ClaimTable:
    """The claims as a table."""
    kinds: list[_Kind] = []
    rows: list[_Row] = []
    numbers: dict[Hashable, int] = {}
    for judged in claims:
        claim, findings = judged.claim, judged.findings
        key: Hashable
        if type(findings) is PlacedFindings:
            places = findings.shared.pick(findings.places)
            key = findings.shared, claim.stream, claim.declared_mode
        else:
            places = tuple([each.at for each in findings.values() if each.at is not None])
            key = _key_of(judged)
        if (number := numbers.get(key)) is None:
            number = numbers[key] = len(kinds)
            kinds.append(_kind_of(judged))
        rows.append((number, claim.claim_id, places))
    return ClaimTable(kinds, rows)


def _key_of(judged: ClaimVerdict) -> Hashable:
    """What is equal of claims of one kind."""
    claim = judged.claim
    # A member of an enumeration is one object, and computes its hash in Python.
    key: list[Hashable]
    key = [claim.stream, id(claim.state), id(judged.verdict), judged.why, claim.declared_mode]
    for name, found in judged.findings.items():
        key += (name, id(found.verdict), found.why, found.allowed, found.at is None)
    return tuple(key)


def _kind_of(judged: ClaimVerdict) -> _Kind:
    claim, found, taken = judged.claim, [], 0
    shared = judged.findings.shared if isinstance(judged.findings, PlacedFindings) else None
    for name, each in judged.findings.items():
        place = None
        if each.at is not None:
            place = taken if shared is None else shared.used.index(shared.slots[name][0])
            taken += 1
        found.append(_Found(name, each.verdict, each.why, each.allowed, place))
    return _Kind(claim.stream, claim.state, judged.verdict, judged.why, claim.declared_mode, found)


class _Reports:
    """Makes the reports of the claims of one kind, which have in common what no event decided."""

    def __init__(self, kind: _Kind, mode: Mode) -> None:
        self._kind, self._mode, self._stream = kind, mode, text_of(kind.stream)
        self._source: Source | None = None
        self._as_text = ""
        self._obligations = {
            each.name: ObligationReport(each.verdict, None, each.why, each.allowed)
            for each in kind.found
        }
        self._placed = [(*each[:4], each.place) for each in kind.found if each.place is not None]

    def of(self, claim_id: str, places: tuple[At, ...]) -> ClaimReport:
        """The report of a claim."""
        kind, obligations, shown = self._kind, self._obligations.copy(), []
        for at in places:
            source, line = at.source, at.line
            if source is not self._source:
                self._source, self._as_text = source, text_of(source.file)
            ahead = source.ahead
            shown.append(Place(self._as_text, line, None if ahead is None else line - ahead))
        for name, verdict, why, allowed, place in self._placed:
            obligations[name] = ObligationReport(verdict, shown[place], why, allowed)
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
