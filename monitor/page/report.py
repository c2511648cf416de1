"""Makes the page of some traces: judges them, collects their timeline, and quotes lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from monitor.check.conclude import absent_of, concluded
from monitor.check.files import check
from monitor.page.against import Run, compared
from monitor.page.collect import Collected
from monitor.page.document import document
from monitor.page.quotes import MOST_LINES, quoted
from monitor.report.headline import headline
from monitor.report.verdict import Report
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.events.kinds import Kind
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.check.conclude import Asked, Found
    from monitor.timeline.items import Item
    from spec.claims.states import Mode
    from spec.language.machine import Observer

__all__ = ["SCHEMA", "Made", "Written", "made"]

SCHEMA: Final = "resident-claims/page/1"

_SHOWN: Final = ("tool", "spec", "verdict", "inputs", "mode", "bundle", "unjudged", "theorem")


class Written(msgspec.Struct, frozen=True):
    """What was written: the file, its size, the verdict, and what the page lacks."""

    schema: Literal["resident-claims/page/1"]
    file: str
    bytes: int
    verdict: ModeVerdict
    headline: str
    left_out: list[str]


class Made(msgspec.Struct, frozen=True):
    """A page, the report that it shows, its verdict in a sentence, and what the page lacks."""

    page: bytes
    report: Report
    sentence: str
    left_out: list[str]


def made(
    traces: Sequence[str],
    mode: Mode | None = None,
    *,
    against: str | None = None,
    with_tokens: bool = False,
    **judged: Any,
) -> Made:
    """The page of some traces.

    Args:
        mode: the one that was asked for; None: each claim is judged by the one that it states.
        against: a trace to compare them with.
        with_tokens: quoted lines keep their token ids.
        judged: how the traces are judged, as by `check`.

    Raises:
        InputError: a file or a line of it cannot be read.
    """
    collected, run, other = Collected(mode), Run(mode), Run(mode)
    absent: dict[str, str] = {}

    def put(item: Item) -> None:
        run.take(item)
        collected(item)

    def conclude(asked: Asked, found: Found) -> Report:
        report = concluded(asked, found)
        absent.update({each.mode: absent_of(asked, found, each.mode) for each in report.modes})
        return report

    report = check(traces, mode, Bundle.CONTRACT, timeline=put, conclude=conclude, **judged)
    difference = None
    if against is not None:
        there = check([against], mode, Bundle.CONTRACT, timeline=other.take, **judged)
        difference = compared(run, report, other, there)
    head, wanted, sentence = collected.head(), collected.wanted, headline(report)
    if len(wanted) > MOST_LINES:
        head["left_out"].append(f"the text of lines beyond the {MOST_LINES:,} that matter most")
    head |= {name: getattr(report, name) for name in _SHOWN}
    head |= {
        "headline": sentence,
        "absent": absent,
        "quotes": quoted(report.inputs, wanted, with_tokens=with_tokens),
        "observers": {name: _drawn(each) for name, each in OBLIGATIONS.items()},
        "says": {kind: kind.row.says for kind in Kind},
        "promises": {mode: each.promise for mode, each in MODES.items()},
        "against": difference,
    }
    title = f"{report.verdict}: {', '.join(i.file for i in report.inputs[:3])}"
    page = document(title, sentence, collected.columns.packed(head))
    return Made(page, report, sentence, head["left_out"])


def _drawn(observer: Observer) -> dict[str, Any]:
    """What the picture of an observer shows."""
    places = {state.name: place for place, state in enumerate(observer.states)}
    return {
        "code": observer.code,
        "reason": observer.reason,
        "states": [[s.name, s.verdict, s.says] for s in observer.states],
        "rules": [
            [r.name, r.guard, [places[n] for n in observer.sources(r)], places[r.to], r.why]
            for r in observer.rules
        ],
    }
