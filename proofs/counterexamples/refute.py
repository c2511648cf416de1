"""Refutes an inference: which obligations the model breaks, and the shortest run that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from models.framework.shims import claim_of
from monitor.check.events import EventMonitor
from proofs.counterexamples.labels import Labelled, labelled
from proofs.product.search import Answer, Outcome, search_each
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.language.verdicts import Verdict
from spec.stream.breaks import line_of
from spec.stream.judge import Judge
from spec.stream.outcome import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from models.framework.inference import Inference
    from models.framework.model import Model
    from monitor.report.verdict import Report
    from proofs.product.graph import Run
    from spec.events.canonical import Event

__all__ = ["Refutation", "judged", "refute"]


@dataclass(frozen=True)
class Refutation:
    """An inference with its label, what the model did to each obligation, and the run shown.

    `shown` is the obligation that `run` breaks, by its `rule` and at the last of the `events`, and
    `found` are those that the monitor finds violated in these; all are empty where no run breaks
    any.
    """

    inference: Inference
    labelled: Labelled
    outcomes: dict[str, Outcome]
    shown: str | None
    run: Run | None
    events: tuple[Event, ...]
    verdict: str
    rule: str | None = None
    found: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[str, ...]:
        """The obligations that some run breaks."""
        return tuple(n for n, o in self.outcomes.items() if o.answer is Answer.BROKEN)


def refute(
    inference: Inference, progress: Callable[[str, int, int, int], None] | None = None
) -> Refutation:
    """Search the model of an inference for each obligation that its conclusion needs.

    Raises:
        SpecError: the model states facts that cannot be.
        AssertionError: the monitor, or the reference, does not say of the run what the search says.
    """
    model, shim, mode = inference.model(), inference.shim, inference.mode
    outcomes = search_each(model, shim, mode, inference.tracked, progress=progress)
    shown = _most_telling(inference, outcomes, model)
    label, run = labelled(inference), outcomes[shown].run if shown is not None else None
    if shown is None or run is None:
        return Refutation(inference, label, outcomes, None, None, (), "none")
    finding = _reference(run.events(shim), inference, shown)
    events = tuple(run.events(shim)[: int(str(finding.at))])
    report = judged(events, str(mode))
    verdict = str(report.verdict)
    if not verdict == finding.verdict == Verdict.VIOLATED:
        cause = f"the monitor says {verdict}, the reference {finding.verdict}"
        raise AssertionError(f"{inference.name}, {shown}: {cause}")
    run = run.until(shim, len(events))
    rule = OBLIGATIONS[shown].rules[finding.rule or 0].name
    found = tuple(n for n, each in report.obligations.items() if each is Verdict.VIOLATED)
    return Refutation(inference, label, outcomes, shown, run, events, verdict, rule, found)


def _reference(events: list[Event], inference: Inference, obligation: str) -> Finding:
    """What the judge of a stream says of an obligation."""
    judge = Judge(inference.mode)
    for at, event in enumerate(events, 1):
        judge.take(line_of(event, at))
    judge.finish()
    return judge.claims[claim_of(inference.tracked)].findings()[obligation]


def _most_telling(
    inference: Inference, outcomes: dict[str, Outcome], model: Model[object]
) -> str | None:
    """The broken obligation to show: the one concluded, else a critical one, else the first."""
    broken = [name for name, each in outcomes.items() if each.answer is Answer.BROKEN]
    if inference.concludes in OBLIGATIONS:
        return inference.concludes if inference.concludes in broken else None
    critical = [name for name in broken if name in MODES[inference.mode].critical]
    return next(iter([*critical, *broken]), None)


def judged(events: tuple[Event, ...], mode: str) -> Report:
    """What the monitor says of a stream in a mode."""
    monitor = EventMonitor(mode)
    for event in events:
        monitor.feed(msgspec.to_builtins(event))
    return monitor.finish()
