"""A report for people, within 80 columns; every verdict is a word, colours only repeat it."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from monitor.engine import ModeVerdict
from spec.digest import SHORT
from spec.obligations import OBLIGATIONS
from spec.screens import STYLES, counted, printable
from spec.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console

    from monitor.verdict import ClaimReport, ObligationReport, Place, Report

__all__ = ["MOST_CLAIMS", "as_text", "headline"]

MOST_CLAIMS: Final = 20
"""Claims that are shown one by one; the JSON form has all of them."""

_MOST_NAMES: Final = 20
_LABEL: Final = 12
_GLUE: Final = "\ue000"  # a space at which no line is broken; no text from a trace holds it
_ABSENT: Final = ("not accepted", "not registered")
_ORDER: Final = tuple(reversed(Verdict))
_STYLES: Final = {**STYLES, "kept": "green"}
_SHOWN: Final = (Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.PENDING)


def as_text(report: Report, out: Console, most: int = MOST_CLAIMS) -> str:
    """The report as `out` would show it, with at most `most` claims one by one, the worst first."""
    with out.capture() as captured:
        _print(report, out, most)
    return captured.get().replace(_GLUE, " ")


def _print(report: Report, out: Console, most: int) -> None:
    out.print(Text(headline(report), f"bold {_STYLES[report.verdict]}"))
    out.print()
    out.print(_account(report, out.width), soft_wrap=True)
    out.print(_obligations(report))
    out.print()
    idle = [n for n, v in report.obligations.items() if v is Verdict.UNEXERCISED]
    if idle:
        out.print(Text(f"Exercised by no claim, so nothing is known of: {', '.join(idle)}."))
        out.print()
    claims = sorted(filter(_is_shown, report.claims), key=_gravity)
    for claim in claims[:most]:
        out.print(Text(f"claim {printable(claim.claim_id)}: {claim.verdict}", "bold"))
        out.print(_claim(claim, report.mode, out.width), soft_wrap=True)
    if len(claims) > most:
        left = f"{counted(len(claims) - most, 'more claim')} with something to show left out"
        out.print(Text(f"{left}; --format json has them all.\n"))
    out.print(Text(_trust(report)))


def headline(report: Report) -> str:
    """The verdict in a sentence."""
    judged = _judged(report)
    alike, total = judged[report.verdict], judged.total()
    part = f"{alike} of {total} claims"
    if alike == total:
        part = "the one claim" if alike == 1 else f"all {alike} claims"
    if report.verdict is ModeVerdict.VIOLATED:
        return f"violated: {report.mode} was not kept in {part}"
    if report.verdict is ModeVerdict.KEPT:
        left = total - alike
        rest = f"; {left} cannot be judged" if left else ""
        return f"kept: {report.mode} was kept in {part}{rest}"
    return f"inconclusive: {printable(report.why)}"


def _judged(report: Report) -> Counter[str]:
    """Claims by their verdicts, those that were forgotten among them."""
    listed: Counter[str] = Counter(claim.verdict for claim in report.claims)
    return listed + Counter(report.forgotten.verdicts)


def _account(report: Report, width: int) -> Text:
    """How the verdict was reached."""
    only = f", claim {printable(report.claim)} alone" if report.claim is not None else ""
    strict = ", strict" if report.strict else ""
    rows = [
        ("judged by", f"mode {report.mode}, {report.bundle} bundle{strict}{only}"),
        ("with", f"resident-claims {report.tool}, spec {report.spec[:SHORT]}"),
    ]
    files = [f"{_file(i.file)}, {counted(i.lines, 'line')}" for i in report.inputs]
    rows += [("read" if not n else "", file) for n, file in enumerate(_some(files))]
    rows.append(("events", f"{report.events.read} read"))
    if unknown := report.events.unknown:
        rows.append(("unknown", f"{_tally(unknown)}: of no known kind, and not judged"))
    if report.events.rejected:
        first = next((i.rejection for i in report.inputs if i.rejection), "")
        lines = counted(report.events.rejected, "line")
        rows.append(("rejected", f"{lines}, the first {printable(first)}"))
    if judged := _judged(report):
        rows.append(("claims", _tally(judged)))
    if report.forgotten.claims:
        ended = counted(report.forgotten.claims, "claim")
        rows.append(("forgotten", f"{ended}: ended, counted above, and listed nowhere"))
    if report.others:
        others = _tally({str(mode): number for mode, number in report.others.items()})
        rows.append(("not judged", f"{others}: claims of another mode"))
    return _grid(rows, width)


def _obligations(report: Report) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in ("", "obligation", "verdict"):
        table.add_column(name, no_wrap=True)
    table.add_column("claims")
    for name, verdict in report.obligations.items():
        found = Counter(claim.obligations[name].verdict for claim in report.claims)
        found += Counter(report.forgotten.obligations.get(name, {}))
        counts = {str(v): found[v] for v in _ORDER if found[v]}
        word = Text(verdict, _STYLES[verdict])
        table.add_row(OBLIGATIONS[name].code, name, word, _tally(counts))
    return table


def _claim(claim: ClaimReport, mode: str, width: int) -> Text:
    """One claim: what was owed or said, where, and what would have been allowed."""
    rows: list[tuple[str | Text, str]] = [
        ("stream", printable(claim.stream)),
        ("state", f"{claim.state}, as reported"),
    ]
    if claim.declared_mode not in (None, mode):
        rows.append(("declared", printable(claim.declared_mode or "")))
    if claim.why in _ABSENT:
        rows.append(("because", claim.why))
    for names, found in _alike(claim):
        rows.append(("", ""))
        rows.append((Text(found.verdict, _STYLES[found.verdict]), ", ".join(names)))
        if found.at is not None:
            rows.append(("at", _place(found.at)))
        rows.append(("because", printable(found.why)))
        if found.allowed:
            rows.append(("allowed", found.allowed))
    return _grid(rows, width)


def _alike(claim: ClaimReport) -> Iterator[tuple[list[str], ObligationReport]]:
    """The obligations to show, those with one and the same finding together, the worst first."""
    found: dict[ObligationReport, list[str]] = {}
    for name, obligation in claim.obligations.items():
        if obligation.verdict in _SHOWN:
            found.setdefault(obligation, []).append(name)
    for obligation in sorted(found, key=lambda o: _ORDER.index(o.verdict)):
        yield found[obligation], obligation


def _trust(report: Report) -> str:
    trust = report.trust
    facts = _tally(trust.facts) if trust.facts else "none in what was read"
    text = f"Taken on trust: that the hooks observed facts as they were. Here: {facts}."
    if trust.derived:
        text += (
            f" No hook of the recorded dialects observes {', '.join(trust.derived)}: acceptance "
            "and its end are read from what was reported"
        )
        reused = "prefix_reused" in trust.derived
        text += ", reuse from how the request ended." if reused else "."
    return text


def _is_shown(claim: ClaimReport) -> bool:
    return claim.verdict is not ModeVerdict.KEPT


def _gravity(claim: ClaimReport) -> tuple[bool, int]:
    weights = [o.verdict for o in claim.obligations.values()]
    broken = weights.count(Verdict.VIOLATED)
    return claim.verdict is not ModeVerdict.VIOLATED, -broken


def _grid(rows: Iterable[tuple[str | Text, str]], width: int) -> Text:
    """Labels and values side by side; a path stays in one piece, so that it can be copied."""
    grid = Text()
    margin = " " * (_LABEL + 2)
    for label, value in rows:
        lines = textwrap.wrap(
            value,
            width,
            initial_indent=margin,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        )
        style = label.style if isinstance(label, Text) else "bright_black"
        grid.append(str(label).ljust(_LABEL), style)
        grid.append("\n".join(lines)[_LABEL:] + "\n")
    return grid


def _place(at: Place) -> str:
    sequence = "" if at.sequence is None else f", sequence {at.sequence}"
    return f"{_file(at.file)}:{at.line}{sequence}"


def _file(name: str) -> str:
    return "standard input" if name == "-" else printable(name)


def _tally(counts: Mapping[str, int]) -> str:
    """Names with their numbers, a long list cut short."""
    each = [f"{number}{_GLUE}{printable(name)}" for name, number in counts.items()]
    return ", ".join(_some(each))


def _some(items: Sequence[str]) -> list[str]:
    if len(items) <= _MOST_NAMES:
        return list(items)
    return [*items[:_MOST_NAMES], f"and {len(items) - _MOST_NAMES} more"]
