"""Makes the page of some traces: judges them, collects their timeline, and quotes lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.check.files import check
from monitor.page.against import Run, compared
from monitor.page.collect import Collected
from monitor.page.document import document
from monitor.page.quotes import MOST_LINES, quoted
from monitor.report.headline import headline
from monitor.results import USUAL
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.events.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monitor.input.reorder_window import Window
    from monitor.report.verdict import Report
    from spec.claims.states import Mode
    from spec.language.machine import Observer

__all__ = ["SCHEMA", "Made", "Options", "made"]

SCHEMA: Final = "resident-claims/page/1"


class Options(msgspec.Struct, frozen=True):
    """How the traces are judged, as by `check`."""

    mode: Mode | None = None
    bundle: Bundle = Bundle.CONTRACT
    strict: bool = False
    lenient: bool = False
    window: Window | None = None


class Made(msgspec.Struct, frozen=True):
    """A page, and the report that it shows; `left_out` says what it lacks."""

    page: bytes
    report: Report
    sentence: str
    left_out: list[str]


def made(
    traces: Sequence[str],
    options: Options,
    *,
    against: str | None = None,
    with_tokens: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Made:
    """The page of some traces.

    Args:
        against: a trace to compare them with.
        with_tokens: quoted lines keep their token ids.

    Raises:
        InputError: a file or a line of it cannot be read.
    """
    collected, run = Collected(options.mode), Run()
    report = _judged(traces, options, run, collected, progress)
    difference = None
    if against is not None:
        other = Run()
        difference = compared(run, report, other, _judged([against], options, other, None))
    head = collected.head()
    wanted = collected.wanted
    if len(wanted) > MOST_LINES:
        head["left_out"].append(f"the text of lines beyond the {MOST_LINES:,} that matter most")
    sentence = headline(report)
    head |= {
        "schema": SCHEMA,
        "tool": report.tool,
        "spec": report.spec,
        "verdict": report.verdict,
        "headline": sentence,
        "why": report.why,
        "inputs": report.inputs,
        "events": report.events,
        "mode": report.mode,
        "bundle": report.bundle,
        "strict": report.strict,
        "modes": [{"mode": m.mode, "verdict": m.verdict, "why": m.why} for m in report.modes],
        "unjudged": report.unjudged,
        "theorem": report.theorem,
        "forgotten": report.forgotten.claims,
        "quotes": quoted(report.inputs, wanted, with_tokens=with_tokens),
        "observers": {name: _drawn(each) for name, each in OBLIGATIONS.items()},
        "says": {kind: kind.row.says for kind in Kind},
        "against": difference,
    }
    title = f"{report.verdict}: {', '.join(i.file for i in report.inputs[:3])}"
    page = document(title, sentence, collected.columns.packed(head))
    return Made(page, report, sentence, head["left_out"])


def _judged(
    traces: Sequence[str],
    options: Options,
    run: Run,
    collected: Collected | None,
    progress: Callable[[int], None] | None = None,
) -> Report:
    def put(item: Any) -> None:
        run.take(item)
        if collected is not None:
            collected(item)

    return check(
        traces,
        options.mode,
        options.bundle,
        strict=options.strict,
        lenient=options.lenient,
        window=options.window,
        limits=USUAL,
        progress=progress,
        timeline=put,
    )


def _drawn(observer: Observer) -> dict[str, Any]:
    """What the picture of an observer shows."""
    places = {state.name: place for place, state in enumerate(observer.states)}
    return {
        "code": observer.code,
        "reason": observer.reason,
        "states": [[s.name, s.verdict, s.says] for s in observer.states],
        "rules": [
            [
                rule.name,
                rule.guard.value,
                [places[name] for name in observer.sources(rule)],
                places[rule.to],
                rule.why,
                rule.allowed,
            ]
            for rule in observer.rules
        ],
    }
