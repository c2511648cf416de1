"""Makes the report of all modes from the part of each mode."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from spec.stream.outcome import ModeVerdict
from monitor.report.verdict import (
    SCHEMA,
    Applies,
    ClaimReport,
    Events,
    Forgotten,
    Input,
    ModeChoice,
    ModeReport,
    Report,
    Trust,
    Unjudged,
)
from monitor.stream.limits import Limits
from spec import __version__
from spec.digest import spec_digest
from spec.language.prose import counted
from spec.language.verdicts import Verdict, pool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from spec.claims.claim import Mode
    from spec.contract.modes import Bundle

__all__ = ["Asked", "Part", "Read", "by_each", "by_one"]


class Asked(NamedTuple):
    """What was asked for, and who judged."""

    bundle: Bundle
    strict: bool
    claim: str | None
    judge: Literal["monitor", "reference"] = "monitor"
    limits: Limits = Limits()


class Read(NamedTuple):
    """What was read."""

    inputs: list[Input]
    events: Events
    trust: Trust


class Part(NamedTuple):
    """What one mode came to, with the claims that it judged and are listed."""

    report: ModeReport
    claims: list[ClaimReport]


def by_one(asked: Asked, read: Read, part: Part, others: dict[Mode, int]) -> Report:
    """The report by a mode that was asked for.

    Args:
        others: how many claims of other modes there are.
    """
    found = part.report
    return Report(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        inputs=read.inputs,
        mode=ModeChoice(found.mode),
        bundle=asked.bundle,
        strict=asked.strict,
        verdict=found.verdict,
        why=found.why,
        obligations=found.obligations,
        events=read.events,
        claims=part.claims,
        trust=read.trust,
        forgotten=found.forgotten,
        others=others,
        theorem=found.theorem,
        claim=asked.claim,
        judge=asked.judge,
        modes=[found],
    )


def by_each(asked: Asked, read: Read, parts: Sequence[Part], unjudged: Unjudged) -> Report:
    """The report where each claim is judged by the mode that it states.

    It is violated if a mode is, and kept if each is and no claim is left unjudged.
    """
    modes = [part.report for part in parts]
    verdict, why = _pooled(asked, read, modes, unjudged)
    return Report(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        inputs=read.inputs,
        mode=ModeChoice.AUTO,
        bundle=asked.bundle,
        strict=asked.strict,
        verdict=verdict,
        why=why,
        obligations=_obligations(modes),
        events=read.events,
        claims=[claim for part in parts for claim in part.claims],
        trust=read.trust,
        forgotten=_forgotten(modes),
        others={},
        theorem=_theorem(modes),
        claim=asked.claim,
        judge=asked.judge,
        modes=modes,
        unjudged=unjudged,
    )


def _pooled(
    asked: Asked, read: Read, modes: Sequence[ModeReport], unjudged: Unjudged
) -> tuple[ModeVerdict, str]:
    def having(verdict: ModeVerdict) -> str:
        found = [each for each in modes if each.verdict is verdict]
        return found[0].why if len(modes) == len(found) == 1 else "; ".join(_named(found))

    if broken := having(ModeVerdict.VIOLATED):
        return ModeVerdict.VIOLATED, broken
    if why := _unjudged(unjudged):
        return ModeVerdict.INCONCLUSIVE, why
    if not modes:
        return ModeVerdict.INCONCLUSIVE, _nothing(asked, read)
    if unclear := having(ModeVerdict.INCONCLUSIVE):
        return ModeVerdict.INCONCLUSIVE, unclear
    return ModeVerdict.KEPT, having(ModeVerdict.KEPT)


def _named(found: Sequence[ModeReport]) -> list[str]:
    """Each reason once, with the modes that have it."""
    by_why: dict[str, list[str]] = {}
    for each in found:
        by_why.setdefault(each.why, []).append(each.mode)
    return [f"{', '.join(modes)}: {why}" for why, modes in by_why.items()]


def _unjudged(unjudged: Unjudged) -> str:
    """Why claims are left unjudged; empty where none is."""
    number = len(unjudged.claims) + unjudged.forgotten
    if number == 1 and unjudged.claims:
        return f"claim {unjudged.claims[0].claim_id} cannot be judged: {unjudged.claims[0].why}"
    return f"{counted(number, 'claim')} cannot be judged by a mode of their own" if number else ""


def _nothing(asked: Asked, read: Read) -> str:
    """Why no claim was judged at all."""
    if read.events.rejected:
        return f"{counted(read.events.rejected, 'line')} could not be read"
    return "no claim" if asked.claim is None else f"claim {asked.claim} does not occur"


def _obligations(modes: Sequence[ModeReport]) -> dict[str, Verdict]:
    names = dict.fromkeys(name for each in modes for name in each.obligations)
    return {n: pool(e.obligations[n] for e in modes if n in e.obligations) for n in names}


def _forgotten(modes: Sequence[ModeReport]) -> Forgotten:
    verdicts: Counter[ModeVerdict] = Counter()
    obligations: dict[str, Counter[Verdict]] = {}
    for each in modes:
        verdicts.update(each.forgotten.verdicts)
        for name, found in each.forgotten.obligations.items():
            obligations.setdefault(name, Counter()).update(found)
    return Forgotten(verdicts.total(), dict(verdicts), {n: dict(f) for n, f in obligations.items()})


def _theorem(modes: Sequence[ModeReport]) -> Applies:
    """Whether the theorem of each mode applies to what was read."""
    left = [each.theorem for each in modes if not each.theorem.applies]
    if not left:
        return Applies(bool(modes), None, "" if modes else "no claim was judged")
    return min(left, key=lambda each: 0 if each.at is None else each.at.line)
