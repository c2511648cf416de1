"""A report for people, within 80 columns; every verdict is a word, colours only repeat it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from monitor.engine import ModeVerdict
from monitor.report.tally import Tally
from monitor.report.verdict import REFERENCE
from spec.cli.screens import STYLES
from spec.contract.obligations import OBLIGATIONS
from spec.digest import SHORT
from spec.language.prose import counted, printable
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console

    from monitor.report.verdict import ClaimReport, ObligationReport, Place, Report

__all__ = ["MOST_CLAIMS", "as_text", "headline"]

MOST_CLAIMS: Final = 20
"""Claims that are shown one by one; the JSON form has all of them."""

_MOST_NAMES: Final = 20
_LABEL: Final = 16
_GLUE: Final = "\ue000"  # a space at which no line is broken; no text from a trace holds it
_ABSENT: Final = ("not accepted", "not registered", "it was accepted in another mode")
_ORDER: Final = tuple(reversed(Verdict))
_STYLES: Final = {**STYLES, "kept": "green"}
_SHOWN: Final = (Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.PENDING)


def as_text(report: Report, out: Console, most: int = MOST_CLAIMS, *, verbose: bool = False) -> str:
    """The report as `out` would show it, with at most `most` claims one by one, the worst first.

    Args:
        verbose: with a table of the obligations, and the facts that were taken for true.
    """
    with out.capture() as captured:
        _print(report, out, most, verbose=verbose)
    return captured.get().replace(_GLUE, " ")


def _print(report: Report, out: Console, most: int, *, verbose: bool) -> None:
    tally = Tally(report)
    out.print(Text(_headline(report, tally), f"bold {_STYLES[report.verdict]}"))
    out.print()
    out.print(_account(report, tally, out.width, verbose=verbose), soft_wrap=True)
    if verbose:
        out.print(_table(tally))
        out.print()
    else:
        out.print(_grid(_obligations(tally), out.width), soft_wrap=True)
    claims = sorted(filter(_is_shown, report.claims), key=_gravity)
    for claim in claims[:most]:
        out.print(Text(f"claim {printable(claim.claim_id)}: {claim.verdict}", "bold"))
        out.print(_claim(claim, report.mode, out.width), soft_wrap=True)
    if len(claims) > most:
        left = f"{counted(len(claims) - most, 'more claim')} with something to show left out"
        out.print(Text(f"{left}; --format json has them all.\n"))
    out.print(Text(_trust(report, verbose=verbose)))


def headline(report: Report) -> str:
    """The verdict in a sentence that counts."""
    return _headline(report, Tally(report))


def _headline(report: Report, tally: Tally) -> str:
    alike, total = tally.claims[report.verdict], tally.total
    part = f"{alike} of {total} claims"
    if alike == total:
        part = "the one claim" if alike == 1 else f"all {alike} claims"
    number = len(tally.pooled)
    if report.verdict is ModeVerdict.VIOLATED:
        broken = tally.having(Verdict.VIOLATED)
        what = f"{len(broken)} of {number} obligations: {', '.join(broken)}"
        return f"violated: {what}; {report.mode} was not kept in {part}"
    if report.verdict is ModeVerdict.KEPT:
        idle = tally.having(Verdict.UNEXERCISED)
        what = f"{number - len(idle)} of {number} obligations exercised"
        what += f", {len(idle)} not put to the test: {', '.join(idle)}" if idle else ""
        rest = f"; {total - alike} cannot be judged" if total > alike else ""
        return f"kept: {what}; {report.mode} was kept in {part}{rest}"
    return f"inconclusive: {printable(report.why)}"


def _account(report: Report, tally: Tally, width: int, *, verbose: bool) -> Text:
    """How the verdict was reached."""
    only = f", claim {printable(report.claim)} alone" if report.claim is not None else ""
    strict = ", strict" if report.strict else ""
    rows = [("judged by", f"mode {report.mode}, {report.bundle} bundle{strict}{only}")]
    if report.judge == REFERENCE:
        rows.append(("judge", "the naive reference projection, not the monitor"))
    if verbose:
        rows.append(("with", f"resident-claims {report.tool}, spec {report.spec[:SHORT]}"))
    files = [f"{_file(i.file)}, {counted(i.lines, 'line')}" for i in report.inputs]
    rows += [("read" if not n else "", file) for n, file in enumerate(_some(files))]
    if verbose:
        rows.append(("events", f"{report.events.read} read"))
    if unknown := report.events.unknown:
        rows.append(("unknown", f"{_counts(unknown)}: of no known kind, and not judged"))
    if report.events.rejected:
        first = next((i.rejection for i in report.inputs if i.rejection), "")
        lines = counted(report.events.rejected, "line")
        rows.append(("rejected", f"{lines}, the first {printable(first)}"))
    if tally.total and (verbose or len(tally.claims) > 1):
        rows.append(("claims", _counts(tally.claims)))
    if report.forgotten.claims:
        ended = counted(report.forgotten.claims, "claim")
        rows.append(("forgotten", f"{ended}: ended, counted above, and listed nowhere"))
    rows.append(("theorem", _applies(report)))
    if report.others:
        others = _counts({str(mode): number for mode, number in report.others.items()})
        rows.append(("not judged", f"{others}: claims of another mode"))
    return _grid(rows, width)


def _applies(report: Report) -> str:
    """Whether what is proved of the mode holds of what was read."""
    if report.theorem.applies:
        return "applies: its assumptions hold of every line"
    at, several = report.theorem.at, len(report.inputs) > 1
    where = "" if at is None else f" from line {at.line}"
    where += f" of {_file(at.file)}" if at is not None and several else ""
    return f"does not apply{where}: {printable(report.theorem.because)}"


def _obligations(tally: Tally) -> Iterator[tuple[str | Text, str]]:
    """The obligations by their verdicts, the worst first."""
    for verdict in _ORDER:
        if names := tally.having(verdict):
            shares = {name: tally.share(name).replace(" ", _GLUE) for name in names}
            each = (f"{name}{_GLUE}{share}" if share else name for name, share in shares.items())
            yield Text(_word(verdict), _STYLES[verdict]), ", ".join(each)


def _table(tally: Tally) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in ("", "obligation", "verdict"):
        table.add_column(name, no_wrap=True)
    table.add_column("claims")
    for name, verdict in tally.pooled.items():
        counts = {_word(v): tally.found[name][v] for v in _ORDER if tally.found[name][v]}
        word = Text(_word(verdict), _STYLES[verdict])
        table.add_row(OBLIGATIONS[name].code, name, word, _counts(counts))
    return table


def _word(verdict: Verdict) -> str:
    return "not exercised" if verdict is Verdict.UNEXERCISED else str(verdict)


def _claim(claim: ClaimReport, mode: str, width: int) -> Text:
    """One claim: what was owed or said, where, and what was expected instead."""
    rows: list[tuple[str | Text, str]] = [
        ("stream", printable(claim.stream)),
        ("state", f"{claim.state}, as reported"),
    ]
    if claim.declared_mode not in (None, mode):
        rows.append(("declared", printable(claim.declared_mode or "")))
    if claim.why.startswith(_ABSENT):
        rows.append(("because", claim.why))
    for names, found in _alike(claim):
        rows.append(("", ""))
        rows.append((Text(found.verdict, _STYLES[found.verdict]), ", ".join(names)))
        if found.at is not None:
            rows.append(("at", _place(found.at)))
        rows.append(("because", printable(found.why)))
        if found.allowed:
            rows.append(("expected instead", found.allowed))
    return _grid(rows, width)


def _alike(claim: ClaimReport) -> Iterator[tuple[list[str], ObligationReport]]:
    """The obligations to show, those with one and the same finding together: the worst first, and
    of one verdict the earliest."""
    found: dict[ObligationReport, list[str]] = {}
    for name, obligation in claim.obligations.items():
        if obligation.verdict in _SHOWN:
            found.setdefault(obligation, []).append(name)
    for obligation in sorted(found, key=_urgency):
        yield found[obligation], obligation


def _urgency(found: ObligationReport) -> tuple[int, int]:
    return _ORDER.index(found.verdict), 0 if found.at is None else found.at.line


def _trust(report: Report, *, verbose: bool) -> str:
    """What the verdict rests on and nobody checked."""
    facts, derived = report.trust.facts, report.trust.derived
    number = counted(sum(facts.values()), "fact")
    each = f": {_counts(facts)}" if verbose and facts else ""
    text = f"Assumed, not checked: the instrumentation is faithful ({number}{each})."
    if derived:
        text += f" Read from reports, for the recording states no such fact: {', '.join(derived)}."
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


def _counts(counts: Mapping[str, int]) -> str:
    """Names with their numbers, a long list cut short."""
    each = [f"{number}{_GLUE}{printable(name)}" for name, number in counts.items()]
    return ", ".join(_some(each))


def _some(items: Sequence[str]) -> list[str]:
    if len(items) <= _MOST_NAMES:
        return list(items)
    return [*items[:_MOST_NAMES], f"and {len(items) - _MOST_NAMES} more"]
