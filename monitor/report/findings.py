"""Renders the claims of a report as text: what was found, where, and what was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.report.quote import shortened
from spec.cli.layout import STYLES, Page, Styled
from spec.language.prose import printable
from spec.language.verdicts import Verdict
from spec.stream.codes import CODES
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from monitor.report.quote import QuotedLine
    from monitor.report.verdict import ClaimReport, ObligationReport, Place, Report

__all__ = [
    "VERDICT_STYLES",
    "Row",
    "alike",
    "coded",
    "file_name",
    "place",
    "places",
    "put_claim",
    "put_quoted",
    "put_rows",
    "shown_claims",
    "verdict_word",
]

VERDICT_STYLES: Final = {**STYLES, "kept": "green"}

Row = tuple[str | Styled, str]

_LABEL: Final = 16  # columns of a label

_ORDER: Final = tuple(reversed(Verdict))
_SHOWN: Final = (Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.PENDING)


def shown_claims(report: Report, *, verbose: bool) -> list[ClaimReport]:
    """The claims with something to show, the worst first: of a report that is violated those that
    are, of one that is kept none, unless all is asked for.
    """
    if report.verdict is ModeVerdict.KEPT and not verbose:
        return []
    only_worst = report.verdict is ModeVerdict.VIOLATED and not verbose
    least = {ModeVerdict.VIOLATED} if only_worst else {*ModeVerdict} - {ModeVerdict.KEPT}
    return sorted((c for c in report.claims if c.verdict in least), key=_gravity)


def places(claims: list[ClaimReport]) -> list[Place]:
    """Where these claims were violated."""
    found = [each for claim in claims for each in claim.obligations.values()]
    violated = (each.at for each in found if each.verdict is Verdict.VIOLATED)
    return [at for at in violated if at is not None]


def put_claim(
    out: Page,
    claim: ClaimReport,
    quoted: Mapping[Place, list[QuotedLine]],
    *,
    several: bool,
    periods: bool,
    verbose: bool,
) -> None:
    """One claim.

    Args:
        quoted: the lines at which obligations were violated, with some before them.
        several: name the mode that judged it, for there are others.
        periods: say in which period of the stream it was judged, for there are several.
        verbose: with its state, and in full what is open beside a violation.
    """
    mode = f", {claim.mode}" if several else ""
    out.append(f"claim {printable(claim.claim_id)}{mode}: {claim.verdict}\n", "bold")
    rows: list[Row] = [("stream", printable(claim.stream))]
    if periods:
        rows.append(("period", f"{claim.period} of the stream"))
    if verbose:
        rows.append(("state", f"{claim.state}, as reported"))
    if claim.declared_mode not in (None, claim.mode):
        rows.append(("declared", printable(claim.declared_mode or "")))
    unknown = any(found.code for found in claim.obligations.values())  # an acceptance as well
    if claim.verdict is ModeVerdict.INCONCLUSIVE and not (claim.entered or unknown):
        rows.append(("because", claim.why))
    put_rows(out, rows)
    in_short = claim.verdict is ModeVerdict.VIOLATED and not verbose
    rest: dict[Verdict, list[str]] = {}
    for names, found in alike(claim, *_SHOWN):
        if in_short and found.verdict is not Verdict.VIOLATED:
            rest.setdefault(found.verdict, []).extend(names)
        else:
            out.put()
            _put_finding(out, names, found, quoted)
    if rest:
        out.put()
        put_rows(out, ((_styled(verdict), ", ".join(names)) for verdict, names in rest.items()))


def put_rows(out: Page, rows: Iterable[Row]) -> None:
    """Labels and values side by side."""
    labelled = (
        (label if isinstance(label, Styled) else Styled(label, "bright_black"), value)
        for label, value in rows
    )
    out.grid(labelled, gap=2, first=_LABEL)


def _put_finding(
    out: Page,
    names: list[str],
    found: ObligationReport,
    quoted: Mapping[Place, list[QuotedLine]],
) -> None:
    put_rows(out, [(_styled(found.verdict), ", ".join(names))])
    if found.at is not None:
        put_rows(out, [("at", place(found.at))])
        put_quoted(out, found.at, quoted)
    put_rows(out, [("because", printable(coded(found.why, found.code, found.reason)))])
    if found.allowed:
        put_rows(out, [("expected instead", found.allowed)])
    elif found.code:
        put_rows(out, [("to do", CODES[found.code].remedy)])


def put_quoted(out: Page, at: Place, quoted: Mapping[Place, list[QuotedLine]]) -> None:
    """The line of a place, and those before it, if they can be quoted."""
    digits = len(str(at.line))
    for line in quoted.get(at, ()):
        meant = line.number == at.line
        margin = f"{'>' if meant else ' '} {line.number:>{digits}} | "
        style = "" if meant else "bright_black"
        out.append(f"{margin}{shortened(line.text, out.width - len(margin))}\n", style)


def place(at: Place) -> str:
    """File, line and number of an event."""
    sequence = "" if at.sequence is None else f", sequence {at.sequence}"
    return f"{file_name(at.file)}:{at.line}{sequence}"


def file_name(name: str) -> str:
    """A file as it was named."""
    return "standard input" if name == "-" else printable(name)


def verdict_word(verdict: Verdict) -> str:
    """A verdict as people read it."""
    return "not exercised" if verdict is Verdict.UNEXERCISED else str(verdict)


def coded(why: str, code: str, reason: str) -> str:
    """Why nothing is concluded, with the code and the name of the reason if there is one."""
    return f"{why} ({code} {reason})" if code else why


def _styled(verdict: Verdict) -> Styled:
    return Styled(verdict, VERDICT_STYLES[verdict])


def alike(claim: ClaimReport, *verdicts: Verdict) -> Iterator[tuple[list[str], ObligationReport]]:
    """The obligations with one of these verdicts, those with one and the same finding together: the
    worst first, and of one verdict the earliest.
    """
    found: dict[ObligationReport, list[str]] = {}
    for name, obligation in claim.obligations.items():
        if obligation.verdict in verdicts:
            found.setdefault(obligation, []).append(name)
    for obligation in sorted(found, key=_urgency):
        yield found[obligation], obligation


def _urgency(found: ObligationReport) -> tuple[int, int]:
    return _ORDER.index(found.verdict), 0 if found.at is None else found.at.line


def _gravity(claim: ClaimReport) -> tuple[bool, int]:
    weights = [o.verdict for o in claim.obligations.values()]
    broken = weights.count(Verdict.VIOLATED)
    return claim.verdict is not ModeVerdict.VIOLATED, -broken
