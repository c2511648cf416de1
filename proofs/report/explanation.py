"""Prints an explanation as plain text within 80 columns; uneventful lines are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.report.verdict import ModeChoice
from spec.cli.layout import Page
from spec.contract.modes import MODES
from spec.digest import SHORT
from spec.language.prose import counted, printable
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proofs.traces.explain import Change, Explanation, Step, Stop

__all__ = ["MOST", "as_page"]

MOST: Final = 60
"""Number of eventful lines shown; the JSON form has all of them."""

_FEW: Final = 5  # claims that are named because they are not judged
_SILENT: Final = (
    "",
    Verdict.UNEXERCISED,
)  # a verdict that was not known before is printed without "->"


def as_page(story: Explanation, most: int = MOST) -> str:
    """The explanation as text, with at most about `most` lines of the trace shown."""
    out = Page()
    _put_verdict(out, story)
    out.put()
    _put_head(out, story)
    if story.modes:  # by no mode, nothing was looked at
        out.put()
        _put_eventful(out, story, most)
    return str(out)


def _put_head(out: Page, story: Explanation) -> None:
    name = "standard input" if story.trace == "-" else printable(story.trace)
    out.put(f"{name}: {counted(story.read, 'line')} with events", hanging=2)
    only = f", claim {printable(story.claim)} alone" if story.claim is not None else ""
    modes = ", ".join(story.modes) or "none"
    auto = story.mode is ModeChoice.AUTO
    named = f"the mode that each claim states: {modes}" if auto else f"mode {story.mode}"
    by = f"judged by {named}, {story.bundle} bundle{only}"
    out.put(f"{by} (resident-claims {story.tool}, spec {story.spec[:SHORT]})", hanging=2)


def _put_eventful(out: Page, story: Explanation, most: int) -> None:
    """The eventful steps, with a count of the lines between them."""
    last, steps = 0, [step for step in story.steps if _is_eventful(step)]
    alone = len({change.claim for step in steps for change in step.changes}) == 1
    for step in _shown(steps, story.stop, most):
        _put_gap(out, steps, last, step.number)
        _put_step(out, step, alone)
        last = step.number
    _put_gap(out, steps, last, story.read + 1)


def _is_eventful(step: Step) -> bool:
    """Whether anything changed but a count of blocks that does not cross the threshold."""
    return any(change.what != "held" or _crosses(change) for change in step.changes)


def _crosses(change: Change) -> bool:
    held, _, threshold = change.after.partition(" of ")
    before = change.before.partition(" of ")[0]
    return (int(before) < int(threshold)) != (int(held) < int(threshold))


def _shown(steps: list[Step], stop: Stop | None, most: int) -> list[Step]:
    """The first and the last steps, and the one where the trace stopped being fine."""
    if len(steps) <= most:
        return steps
    last = most // 3
    kept = steps[: most - last] + steps[len(steps) - last :]
    numbers = {step.number for step in kept} | ({stop.number} if stop is not None else set())
    return [step for step in steps if step.number in numbers]


def _put_gap(out: Page, steps: Sequence[Step], after: int, before: int) -> None:
    between = before - after - 1
    eventful = sum(1 for step in steps if after < step.number < before)
    if between > 0:
        quiet = between - eventful
        parts = [counted(quiet, "uneventful line")] if quiet else []
        parts += [f"{counted(eventful, 'eventful line')} left out"] if eventful else []
        out.put(f"... {', '.join(parts)}", indent=5)


def _put_step(out: Page, step: Step, alone: bool) -> None:
    for event in step.events:
        role = "fact  " if event.fact else "report"
        said = f"{role} {event.kind} {printable(event.about)}"
        out.put(f"{step.line:>4} {said}", hanging=12)
    if not step.events:
        out.put(f"{step.line:>4} (no event)")
    _put_changes(out, step.changes, 12, alone)


def _put_changes(out: Page, changes: Iterable[Change], indent: int, alone: bool = False) -> None:
    """The changes, grouped by claim and reason.

    Args:
        alone: whether there is only one claim, which is then not named.
    """
    alike: dict[tuple[str, str, str, str, str], list[str]] = {}
    for c in changes:
        alike.setdefault((c.claim, c.before, c.after, c.why, c.allowed), []).append(c.what)
    for (claim, before, after, why, allowed), names in alike.items():
        what = ", ".join(names)
        turned = f"{what} {after}" if before in _SILENT else f"{what} {before} -> {after}"
        because = f", because {printable(why)}" if why else ""
        who = "" if alone else f"{printable(claim)}: "
        out.put(f"{who}{turned}{because}", indent=indent, hanging=indent + 2)
        if allowed:
            said = f"expected instead: {printable(allowed)}"
            out.put(said, indent=indent + 2, hanging=indent + 4)


def _put_verdict(out: Page, story: Explanation) -> None:
    kept = story.verdict is ModeVerdict.KEPT
    out.put(f"{story.verdict}: {_tested(story) if kept else printable(story.why)}", hanging=2)
    if story.stop is not None:
        _put_stop(out, story, story.stop)
    if story.owed:
        out.put("Still owed at the end:")
        _put_changes(out, story.owed, 2)
    for claim in story.unjudged[:_FEW]:
        mode = "MODE" if claim.hint is None else claim.hint
        said = f"{printable(claim.claim_id)}: {printable(claim.why)}"
        out.put(f"Not judged: {said}; --mode {mode} judges it by that mode", hanging=2)
    if more := len(story.unjudged[_FEW:]):
        out.put(f"Not judged: {counted(more, 'more claim')}; --format json lists them")


def _put_stop(out: Page, story: Explanation, stop: Stop) -> None:
    fine = "No line before it" if not story.fine else f"The first {counted(story.fine, 'line')}"
    verb = "was" if story.fine <= 1 else "were"
    broken = any(change.after == Verdict.VIOLATED for change in stop.changes)
    then = "violates an obligation" if broken else "cannot be judged"
    kinds = ", ".join(event.kind for event in stop.events) or "no event"
    out.put(f"{fine} {verb} fine; line {stop.line} ({kinds}) {then}:", hanging=2)
    _put_changes(out, stop.changes, 2)


def _tested(story: Explanation) -> str:
    names = {name for mode in story.modes for name in MODES[mode].names(story.bundle)}
    idle, number = story.unexercised, len(names)
    said = f"{number - len(idle)} of {number} obligations exercised"
    return f"{said}, {len(idle)} not exercised: {', '.join(idle)}" if idle else said
