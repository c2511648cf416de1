"""Writes the pages: one of the starts, and one for each state of a run."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from models.explorer.diagram import diagram, read
from models.explorer.links import url
from models.explorer.walk import LONGEST, why
from models.report.view import fields_text
from spec.events.canonical import as_jsonl
from spec.language.prose import counted
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from models.explorer.starts import Start
    from models.explorer.walk import Move, Turn, Walk
    from spec.stream.outcome import ClaimOutcome

__all__ = ["index_page", "problem_page", "state_page"]


def index_page(name: str, starts: Mapping[str, Start]) -> str:
    """The model, and where an exploration of it may start."""
    model = next(iter(starts.values())).model
    rows = [
        f"<tr><td>{_link(url(each), each.title)}</td><td>{escape(each.says)}</td>"
        f"<td>{_shortest(each)}</td></tr>"
        for each in starts.values()
    ]
    return _page(
        name,
        f"<h1>{escape(name)}</h1><p>{escape(model.about)}</p>"
        f"<p>Source: {escape(model.source)}. Left out: {escape(model.left_out)}.</p>"
        f"<h2>Start</h2>{_table(('as', 'what the reader relies on', 'counterexample'), rows)}",
    )


def state_page(name: str, walk: Walk) -> str:
    """A state: the run that leads to it, the verdicts there, and what can be done next."""
    at = counted(len(walk.taken), "action")
    nav = (
        f"<nav>{_link('/', name)} / {_link(url(walk.start), walk.start.title, key='0')} / {at}"
        f"{_back(walk)}</nav>"
    )
    footer = (
        "<footer>Keys, with the browser's modifier for access keys (Alt, Alt+Shift or "
        "Control+Option): 1 to 9 take an action, B goes back, 0 goes to the start; N and P "
        "follow the counterexample.</footer>"
    )
    parts = [
        f"<h1>{escape(f'{name}: {walk.start.title}')}</h1><p>{escape(walk.start.says)}</p>",
        _steps(walk),
        f"<p class='violated'>The facts contradict each other: {escape(walk.broken)}</p>"
        if walk.broken
        else "",
        f"<div class='columns'><section><h2>Next</h2>{_choices(walk)}"
        f"<h2>Obligations</h2>{_claims(walk)}<h2>State</h2>{_state(walk)}</section>"
        f"<section><h2>Run</h2>{diagram(walk) if walk.taken else '<p>No action yet.</p>'}"
        f"{_trace(walk)}</section></div>",
    ]
    return _page(f"{name}: {walk.start.title}, {at}", "".join(parts), nav=nav, footer=footer)


def problem_page(title: str, says: str) -> str:
    """Why there is no page."""
    text = f"<h1>{escape(title)}</h1><p>{escape(says)}</p><p>{_link('/', 'start again')}</p>"
    return _page(title, text)


def _page(title: str, main: str, *, nav: str = "", footer: str = "") -> str:
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title>"
        f'<link rel="stylesheet" href="/style.css"></head>'
        f"<body>{nav}<main>{main}</main>{footer}</body></html>\n"
    )


def _link(to: str, text: str, *, key: str = "") -> str:
    keyed = f' accesskey="{key}"' if key else ""
    return f'<a href="{to}"{keyed}>{escape(text)}</a>'


def _table(head: Iterable[str], rows: Iterable[str]) -> str:
    cells = "".join(f'<th scope="col">{escape(each)}</th>' for each in head)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _verdict(verdict: Verdict) -> str:
    return f'<span class="verdict {verdict}">{verdict}</span>'


def _shortest(start: Start) -> str:
    if start.run is None:
        return "none recorded"
    size = counted(len(start.run.taken), "action")
    return _link(url(start, start.run.taken), f"breaks {start.run.obligation} in {size}")


def _back(walk: Walk) -> str:
    if not walk.taken:
        return ""
    return f" &middot; {_link(url(walk.start, walk.numbers[:-1]), 'back', key='b')}"


def _steps(walk: Walk) -> str:
    """Where the state is on the shortest run of the counterexample, and its neighbours there."""
    run = walk.start.run
    if run is None:
        return ""
    at, last = len(walk.taken), len(run.taken)
    if walk.numbers != run.taken[:at]:
        return f"<p>Counterexample: {_shortest(walk.start)}</p>"
    links = [
        _link(url(walk.start, run.taken[:to]), text, key=key)
        for text, key, to in (("previous", "p", at - 1), ("next", "n", at + 1), ("last", "", last))
        if 0 <= to <= last and to != at
    ]
    says = f"Counterexample to {run.obligation}: action {at} of {last}"
    return f"<p>{escape(says)} &middot; {' &middot; '.join(links)}</p>"


def _choices(walk: Walk) -> str:
    if not walk.choices:
        if len(walk.taken) == LONGEST:
            return f"<p>A run has {LONGEST} actions at most here.</p>"
        return "<p>The run ends here: no action is enabled.</p>"
    rows = [_choice(walk, each) for each in walk.choices]
    return _table(("action", "emits", "obligations"), rows)


def _choice(walk: Walk, turn: Turn) -> str:
    numbers, run = (*walk.numbers, turn.number), walk.start.run
    key = str(turn.number + 1) if turn.number < 9 else ""
    marked = run is not None and numbers == run.taken[: len(numbers)]
    link = _link(url(walk.start, numbers), f"{turn.number + 1}. {turn.step.action}", key=key)
    emits = [each.text for one in turn.step.emits for each in read(one, walk.start.shim)]
    return (
        f"<tr><td>{link}{'<br><small>counterexample</small>' if marked else ''}</td>"
        f"<td>{_lines(map(escape, emits))}</td><td>{_lines(map(_move, turn.moves))}</td></tr>"
    )


def _lines(items: Iterable[str]) -> str:
    found = [f"<li>{each}</li>" for each in items]
    return f"<ul>{''.join(found)}</ul>" if found else "<small>none</small>"


def _move(move: Move) -> str:
    return (
        f"{escape(move.claim)} {escape(move.obligation)}: "
        f"{_verdict(move.before)} &rarr; {_verdict(move.after)}"
    )


def _claims(walk: Walk) -> str:
    moved = {(each.claim, each.obligation) for turn in walk.taken[-1:] for each in turn.moves}
    found = [_claim(each, moved) for each in walk.claims.values()]
    return "".join(found) or "<p>No claim yet.</p>"


def _claim(outcome: ClaimOutcome, moved: set[tuple[str, str]]) -> str:
    idle = [n for n, each in outcome.findings.items() if each.verdict is Verdict.UNEXERCISED]
    rows = [
        f"<tr><td class='name'>{escape(name)}</td><td>{_verdict(found.verdict)}"
        f"{' <small>new</small>' if (outcome.claim_id, name) in moved else ''}</td>"
        f"<td>{escape(why(name, found))}</td></tr>"
        for name, found in outcome.findings.items()
        if name not in idle
    ]
    says = f"{outcome.claim_id}: {outcome.mode or 'no mode'}, {outcome.state}"
    shown = _table(("obligation", "verdict so far", "why"), rows) if rows else ""
    rest = f"<p><small>unexercised: {escape(', '.join(idle))}</small></p>" if idle else ""
    return f"<h3>{escape(says)}</h3>{shown}{rest}"


def _state(walk: Walk) -> str:
    now, before = fields_text(walk.states[-1]), fields_text(walk.states[-2:][0])
    rows = [
        f"<tr><td>{escape(name)}</td><td>{escape(now.get(name, 'empty'))}</td>"
        f"<td>{_was(name, now, before)}</td></tr>"
        for name in walk.states[-1]._fields
        if name in now or name in before
    ]
    return _table(("field", "value", "before"), rows) + _properties(walk)


def _was(name: str, now: Mapping[str, str], before: Mapping[str, str]) -> str:
    if now.get(name) == before.get(name):
        return ""
    return f"<small>{escape(before.get(name, 'empty'))}</small>"


def _properties(walk: Walk) -> str:
    state, model = walk.states[-1], walk.start.model
    fails = [name for name, holds in model.always.items() if not holds(state)]
    found = [name for name, holds in model.reachable.items() if holds(state)]
    said = [f"A property fails here: {escape(name)}" for name in fails]
    said += [f"A property holds here: {escape(name)}" for name in found]
    return _lines(said) if said else ""


def _trace(walk: Walk) -> str:
    events = walk.events
    if not events:
        return ""
    file = _link(f"{url(walk.start, walk.numbers)}/trace.jsonl", "trace.jsonl")
    mode = "" if walk.start.mode is None else f" --mode {walk.start.mode}"
    return (
        f"<details><summary>Trace, {counted(len(events), 'event')}</summary>"
        f"<p>{file}, for <code>resident-claims check trace.jsonl{mode}</code></p>"
        "<pre tabindex='0' role='region' aria-label='Trace'>"
        f"{escape(as_jsonl(events).decode())}</pre></details>"
    )
