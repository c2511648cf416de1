"""Writes what was checked of modes as a page: clauses, what they rest on, and each shortest run."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from proofs.page.elements import Markup, chip, details, el, facts, table, words
from proofs.page.page import page_of
from proofs.report.summary import rows
from proofs.report.table import cells, total
from proofs.report.verdict import sentence, verdict
from spec.claims.states import Mode
from spec.contract.interpretations import INTERPRETATIONS
from spec.contract.modes import MODES, Bundle
from spec.language.prose import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proofs.checks.results import Lacking, Leaned
    from proofs.page.elements import Child
    from proofs.report.results import Check
    from proofs.traces.narrative import Line, Standing

__all__ = ["proof_page", "run_table"]

_LOOKS: Final = {
    **dict.fromkeys(("holds", "proved", "necessary", "witnessed"), "kept"),
    **dict.fromkeys(("refuted", "failed"), "violated"),
    "redundant": "some",
}
_ENDS: Final = (
    "The page is a picture of a proof, and no evidence: `prove MODE --certificate FOLDER` writes "
    "what `recheck` asks again of a solver."
)


def proof_page(checks: Sequence[Check]) -> bytes:
    """The page of some modes, checked for one bundle."""
    verdicts = {verdict(check) for check in checks}
    word = next(each for each in ("refuted", "undecided", "holds") if each in verdicts)
    alone = len(checks) == 1
    says = sentence(checks[0]).removeprefix(f"{word}: ") if alone else total(checks)
    names = checks[0].mode if alone else counted(len(checks), "mode")
    sections = [] if alone else [_overview(checks)]
    sections += [_legend(), *(_mode(check, alone=alone) for check in checks)]
    return page_of(f"proof of {words(names)}", (_look(word), word, says), sections, ends=_ENDS)


def _look(result: str) -> str:
    return _LOOKS.get(result, "inconclusive")


def _result(result: str) -> Markup:
    return chip(_look(result), result)


def _overview(checks: Sequence[Check]) -> Markup:
    def row(check: Check) -> list[Child]:
        first, *rest = cells(check)
        link = el("a", words(check.mode), href=f"#{check.mode}")
        return [link, _result(first), *rest, MODES[Mode(check.mode)].promise]

    head = ("mode", "verdict", "clauses", "witness", "necessary", "seconds", "what it promises")
    made = table(head, map(row, checks), of="Modes", class_="narrow")
    return el("section", made, class_="panel")


def _legend() -> Markup:
    """How a run is drawn."""
    keys = [
        el("span", "2 of 3", class_="lane submitted"),
        " blocks are held of those that the predicate needs; ",
        el("span", "3 of 3", class_="lane materialized"),
        " it holds; ",
        el("span", "0 of 3", class_="lane submitted responsible"),
        " a blue edge: the runtime is responsible; ",
        el("span", "accepted", class_="lane accepted"),
        " the state that an auditor reads; ▲ a fact, ▼ a report.",
    ]
    return el("p", el("b", "Runs"), ", one event a line: ", keys, class_="legend")


def _mode(check: Check, *, alone: bool) -> Markup:
    found = verdict(check)
    head = el("h2", words(check.mode), " ", _result(found))
    parts = [head, el("p", MODES[Mode(check.mode)].promise, class_="promise")]
    if not alone:
        says = sentence(check).removeprefix(f"{found}: {check.mode}, {check.bundle} bundle. ")
        parts.append(el("p", says, class_="more"))
    left = el("div", el("h3", "Theorem"), _clauses(check))
    right = el("div", el("h3", "What it rests on"), facts(rows(check)), *_rests(check))
    parts.append(el("div", left, right, class_="halves"))
    if check.sound.story:
        parts += [el("h3", "The run that breaks it"), run_table(check.sound.story, "Run")]
    parts.append(el("h3", _needed(check)))
    runs = [_lacking(check, name, each) for name, each in check.necessary.items()]
    parts.append(el("div", runs, class_="runs"))
    if check.consistent.story:
        summary = f"A run of {counted(len(check.consistent.story), 'event')} that keeps all of them"
        parts.append(details(summary, run_table(check.consistent.story, "Witness")))
    return el("article", parts, class_="panel", id=check.mode)


def _clauses(check: Check) -> Markup:
    sound, core = check.sound, check.core or {}
    kept = {"refuted": "not broken", "bounded": "so far"}.get(sound.result, sound.result)
    table_rows = [
        [
            name,
            f"the auditor {says}" if name != "promise" else says,
            _result("refuted" if name in sound.failed else kept),
            *([", ".join(words(each) for each in core.get(name, []))] if core else []),
        ]
        for name, says in sound.clauses.items()
    ]
    head = ["clause", "in every run", "result", *(["proved from"] if core else [])]
    return table(head, table_rows, of=f"Clauses of {check.mode}")


def _rests(check: Check) -> Iterator[Markup]:
    for name, leaned in (("statement check", check.statement), ("lemma", check.lemmas)):
        if leaned:
            yield details(counted(len(leaned), name), el("ul", map(_leaned, leaned)))
    read = [each for each in INTERPRETATIONS if each.name in check.interpretations]
    assumed = [el("li", el("b", each.name), f": {each.in_short}") for each in read]
    yield details(counted(len(read), "interpretation"), el("ul", assumed))


def _leaned(each: Leaned) -> Markup:
    return el("li", _result(each.result), " ", el("b", each.name), f": {each.says}")


def _needed(check: Check) -> str:
    of = "" if check.bundle == Bundle.CONTRACT else " of the contract"
    return f"Is each obligation{of} necessary? Without it, the shortest run that breaks a clause"


def _lacking(check: Check, name: str, found: Lacking) -> Markup:
    parts: list[Child] = [el("h4", _result(found.result), f" {words(name)}")]
    if found.length is not None:
        shortest = f"Without it, {counted(found.length, 'event')} can break"
        parts.append(el("p", f"{shortest} {' and '.join(found.failed)}.", class_="more"))
        if found.story and len(found.story) > found.length:
            longer = f"The shortest that can be written as a trace has {len(found.story)}:"
            parts.append(el("p", longer, class_="more"))
    why = check.redundancy.known.get(name) or found.reason
    if why:
        parts.append(el("p", f"{why[:1].upper()}{why[1:]}.", class_="more"))
    if found.story:
        parts.append(run_table(found.story, f"Run without {words(name)}"))
    return el("section", parts, class_="run")


def run_table(story: Sequence[Line], of: str) -> Markup:
    """A run, one event a row: what is held, what was reported, and what the last one breaks.

    Args:
        of: what readers of a screen hear that it is.
    """
    sides = [f"{each.claim}: " if each.claim else "" for each in story[0].claims]
    head = [f"{side}{what}" for side in sides for what in ("blocks", "reported")]
    top = el("tr", [el("th", each, scope="col") for each in [*head, "event"]])
    body, before = list[Markup](), list[tuple[str, str, str]]()
    for line in story:
        lanes = [lane for each in line.claims for lane in _lanes(each)]
        changed = [now != then for now, then in zip_longest(lanes, before)]
        bars = [_bar(*lane, seen=seen) for lane, seen in zip(lanes, changed, strict=True)]
        body.append(el("tr", bars, _event(line)))
        for each in line.fails:
            said = el("p", el("b", f"breaks {each.clause}"), f": {each.why}", class_="broken")
            body.append(el("tr", el("td", said, colspan=str(len(lanes) + 1))))
        before = lanes
    return el("table", el("thead", top), el("tbody", body), class_="lanes", aria_label=of)


def _lanes(claim: Standing) -> Iterator[tuple[str, str, str]]:
    """The two lanes of a claim: the look of each, its text, and what its colour says."""
    look = "materialized" if claim.held >= claim.threshold else "submitted"
    held = f"{claim.held} of {claim.threshold}{', copy' if claim.copy else ''}"
    if claim.responsible:
        yield f"{look} responsible", held, ", responsible"
    else:
        yield look, held, ", not responsible"
    yield claim.state, words(claim.state), ""


def _bar(look: str, text: str, says: str, *, seen: bool) -> Markup:
    """A line of a lane; its text is seen where it changes, and read out everywhere."""
    read = el("span", f"{'' if seen else text}{says}", class_="sr")
    return el("td", text if seen else None, read, class_=f"lane {look}")


def _event(line: Line) -> Markup:
    what = "fact" if line.fact else "report"
    mark = el("span", "▲" if line.fact else "▼", class_="mark", aria_hidden="true")
    read = el("span", f"{what}: ", class_="sr")
    return el("td", mark, read, el("b", words(line.kind)), f": {line.about}")
