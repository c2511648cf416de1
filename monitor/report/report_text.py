"""Renders a report as text within 80 columns; colours only repeat the words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.report.findings import (
    VERDICT_STYLES,
    Row,
    coded,
    file_name,
    place,
    places,
    put_claim,
    put_rows,
    shown_claims,
    verdict_word,
)
from monitor.report.headline import headline, summary, tallies
from monitor.report.quote import quotes
from monitor.report.remedies import remedy
from monitor.report.verdict import ModeChoice
from spec.cli.layout import GLUE, Page, Styled, rendered
from spec.contract.obligations import OBLIGATIONS
from spec.digest import SHORT
from spec.events.alphabet import Kind
from spec.language.prose import counted, printable
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from monitor.report.headline import Tally
    from monitor.report.verdict import BreakReport, Events, Report, UnjudgedClaim
    from spec.cli.layout import Paper

__all__ = ["MOST_CLAIMS", "as_text", "order_text"]

MOST_CLAIMS: Final = 20
"""Claims that are shown one by one where all is asked for; the JSON form has all of them."""

_FEW: Final = 5  # claims that are shown one by one otherwise
_FEW_FILES: Final = 3
_MOST_NAMES: Final = 20
_ORDER: Final = tuple(reversed(Verdict))


def as_text(report: Report, out: Paper, most: int | None = None, *, verbose: bool = False) -> str:
    """The report as `out` would show it: the verdict, what is wrong, and how it was reached.

    A line at which an obligation was violated is quoted from its file, which is read again.

    Args:
        most: claims that are shown one by one.
        verbose: with a table of the obligations, each claim that was not kept, the facts that were
            taken for true, and what judged.
    """
    most = most or (MOST_CLAIMS if verbose else _FEW)
    found, several = tallies(report), len(report.modes) > 1
    periods = any(claim.period > 1 for claim in report.claims)
    page = Page(out.width)
    page.put(headline(report), f"bold {VERDICT_STYLES[report.verdict]}").put()
    claims = shown_claims(report, verbose=verbose)
    quoted = quotes(report.inputs, places(claims[:most]))
    for claim in claims[:most]:
        put_claim(page, claim, quoted, several=several, periods=periods, verbose=verbose)
        page.put()
    if len(claims) > most:
        left = f"{counted(len(claims) - most, 'more claim')} with something to show left out"
        page.put(f"{left}; --format json has them all.").put()
    put_rows(page, _account(report, found, verbose=verbose))
    page.put()
    for each in found if verbose else ():
        if several:
            page.put(f"{each.mode.mode}: {each.mode.verdict}", "bold")
        _put_table(page, each)
        page.put()
    page.put(_trust(report, verbose=verbose))
    return rendered(page, out)


def _account(report: Report, found: Sequence[Tally], *, verbose: bool) -> Iterator[Row]:
    """How the verdict was reached, and what to do where it is inconclusive."""
    if todo := remedy(report):
        yield "to do", todo
    yield from _unjudged(report)
    yield from _modes(found if len(found) > 1 else ())
    yield "judged by", _judged_by(report)
    if verbose:
        yield "with", f"resident-claims {report.tool}, spec {report.spec[:SHORT]}"
    files = [f"{file_name(i.file)}, {counted(i.lines, 'line')}" for i in report.inputs]
    for number, file in enumerate(_some(files) if verbose else _some(files, _FEW_FILES)):
        yield "" if number else "read", file
    forms = [each.form for each in report.inputs if each.form]
    for number, text in enumerate(_some(forms, _FEW_FILES)):
        yield "" if number else "form", printable(text)
    if verbose:
        yield "events", f"{report.events.read} read"
    if unknown := report.events.unknown:
        yield "unknown", f"{_numbers(unknown)}: of an unknown kind, and not judged"
        if not unknown.keys().isdisjoint(Kind):  # of the form that names its kinds by `event`
            yield "", "canonical events have the name of their kind in `kind`, not in `event`"
    if report.events.rejected:
        first = next((i.rejection for i in report.inputs if i.rejection), "")
        yield "rejected", f"{counted(report.events.rejected, 'line')}, the first {printable(first)}"
    if order := order_text(report.events):
        yield "order", order
    claims = sum((each.claims for each in found[1:]), found[0].claims) if found else {}
    if claims and (verbose or len(claims) > 1):
        yield "claims", _numbers(claims)
    if report.forgotten.claims:
        ended = counted(report.forgotten.claims, "claim")
        yield "forgotten", f"{ended}: ended, counted above, not listed"
    for number, text in enumerate(_some([*map(_break, report.breaks)], _FEW_FILES)):
        yield "" if number else "breaks", text
    yield "theorem", _applies(report)
    if report.others:
        others = _numbers({str(mode): number for mode, number in report.others.items()})
        yield "not judged", f"{others}: claims of another mode"
    absent = [c for c in report.claims if c.verdict is not ModeVerdict.KEPT]
    if report.verdict is ModeVerdict.KEPT and absent and not verbose:
        each_why = [f"{printable(c.claim_id)} ({printable(c.why)})" for c in absent]
        yield "without verdict", ", ".join(_some(each_why, _FEW_FILES))


def _modes(found: Sequence[Tally]) -> Iterator[Row]:
    """What each mode came to; why several are inconclusive is there once, where it is the same."""
    alike: dict[str, list[str]] = {}
    for each in found:
        if each.mode.verdict is ModeVerdict.INCONCLUSIVE:
            alike.setdefault(summary(each), []).append(each.mode.mode)
    for each in found:
        text, style = summary(each), VERDICT_STYLES[each.mode.verdict]
        names = alike.get(text, ())
        if len(names) < 2:
            yield Styled(each.mode.mode, style), text
        elif names[0] == each.mode.mode:
            yield Styled(f"{len(names)} modes", style), f"{', '.join(names)}: {text}"


def order_text(events: Events) -> str:
    """How lines were put into order; empty where they came in order."""
    found = {
        "repeated and dropped": events.duplicates,
        "held back until those before them came": events.reordered,
        "later than the window and left out": events.late,
        "with the number of another line and another content": events.contradicting,
    }
    return "; ".join(f"{counted(n, 'line')} {what}" for what, n in found.items() if n)


def _judged_by(report: Report) -> str:
    if report.mode is ModeChoice.AUTO:
        modes = ", ".join(part.mode for part in report.modes)
        forms = {form for part in report.modes for form in part.read_from}
        words = f" (in the words of the form {', '.join(sorted(forms))})" if forms else ""
        by = f"the mode each claim states: {modes or 'none'}{words}"
    else:
        by = f"mode {report.mode}"
    strict = ", strict" if report.strict else ""
    only = f", claim {printable(report.claim)} alone" if report.claim is not None else ""
    return f"{by}, {report.bundle} bundle{strict}{only}"


def _unjudged(report: Report) -> Iterator[Row]:
    """The claims that go by no mode of their own, and what to do about it."""
    claims, rest = report.unjudged.claims, report.unjudged.forgotten
    for number, claim in enumerate(claims[:_FEW]):
        yield "" if number else "not judged", f"{printable(claim.claim_id)}: {_remedy(claim)}"
    if more := len(claims[_FEW:]) + rest:
        yield "", f"and {more} more; --format json has those that are listed"
    if away := [printable(claim.claim_id) for claim in report.unjudged.turned_away]:
        yield "turned away", f"{', '.join(_some(away, _FEW_FILES))}: no claim states a mode"
    if ended := report.unjudged.turned_away_forgotten:
        claims_ended = counted(ended, "claim")
        yield (
            "" if away else "turned away",
            f"{claims_ended} without a mode that are not listed",
        )


def _remedy(claim: UnjudgedClaim) -> str:
    mode = "MODE" if claim.hint is None else claim.hint
    return f"{printable(claim.why)}; --mode{GLUE}{mode} judges it by that mode"


def _break(found: BreakReport) -> str:
    """Where a stream lacks events or contradicts itself."""
    where = "" if found.at is None else f"{place(found.at)}: "
    return f"{where}{printable(coded(found.why, found.code, found.reason))}"


def _applies(report: Report) -> str:
    """Whether what is proved of the mode holds of what was read."""
    if report.theorem.applies:
        return "applies: its assumptions hold of every line"
    at, several = report.theorem.at, len(report.inputs) > 1
    where = "" if at is None else f" from line {at.line}"
    where += f" of {file_name(at.file)}" if at is not None and several else ""
    return f"does not apply{where}: {printable(report.theorem.because)}"


def _put_table(page: Page, tally: Tally) -> None:
    rows = []
    for name, verdict in tally.pooled.items():
        each = {verdict_word(v): tally.found[name][v] for v in _ORDER if tally.found[name][v]}
        word = Styled(verdict_word(verdict), VERDICT_STYLES[verdict])
        rows.append((OBLIGATIONS[name].code, name, word, _numbers(each)))
    page.grid(rows, head=("", "obligation", "verdict", "claims"), gap=2)


def _trust(report: Report, *, verbose: bool) -> str:
    """The assumptions of the verdict that are not checked."""
    facts, derived = report.trust.facts, report.trust.derived
    number = counted(sum(facts.values()), "fact")
    if not verbose:
        kinds = f", {counted(len(derived), 'kind')} read from reports" if derived else ""
        return f"Assumed, not checked: faithful hooks ({number}{kinds})."
    each = f": {_numbers(facts)}" if facts else ""
    text = f"Assumed, not checked: the instrumentation is faithful ({number}{each})."
    if derived:
        text += f" Read from reports, because the recording has no such fact: {', '.join(derived)}."
    return text


def _numbers(found: Mapping[str, int]) -> str:
    """Names with their numbers, a long list cut short."""
    each = [f"{number}{GLUE}{printable(name)}" for name, number in found.items()]
    return ", ".join(_some(each))


def _some(items: Sequence[str], most: int = _MOST_NAMES) -> list[str]:
    """The first of the items, and how many more there are."""
    if len(items) <= most:
        return list(items)
    return [*items[:most], f"and {len(items) - most} more"]
