"""A check from files to a report."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Final

from monitor.check.parts import Trusted, input_of, place_of, text_of
from monitor.check.theorem import Theorem
from monitor.engine import ModeVerdict, Monitor
from monitor.input.records import At
from monitor.input.sources import read
from monitor.report.verdict import (
    SCHEMA,
    Applies,
    ClaimReport,
    Events,
    Forgotten,
    ObligationReport,
    Report,
)
from monitor.stream.claim_store import Keep
from spec import __version__
from spec.digest import spec_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monitor.engine import ClaimVerdict, Conclusion
    from monitor.evaluate.observer_state import Finding
    from monitor.input.errors import InputError
    from spec.claims.claim import Mode
    from spec.contract.modes import Bundle
    from spec.language.verdicts import Verdict

__all__ = ["ENDED", "EXIT_CODES", "check"]

ENDED: Final = 10_000
"""Claims that are listed after they have ended, of each stream; others are counted."""

EXIT_CODES = {ModeVerdict.KEPT: 0, ModeVerdict.VIOLATED: 1, ModeVerdict.INCONCLUSIVE: 3}
"""What a process that printed a verdict exits with."""

_EVERY = 4096  # records between two calls of `progress`


def check(
    paths: Sequence[str],
    mode: Mode,
    bundle: Bundle,
    *,
    claim: str | None = None,
    strict: bool = False,
    lenient: bool = False,
    stdin: BinaryIO | None = None,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Judge trace files by one bundle of one mode.

    Args:
        claim: judge the claim of this id alone.
        strict: an obligation that no claim exercised makes the verdict inconclusive.
        lenient: skip and count lines that cannot be read; the verdict is then inconclusive at best.
        stdin: what `-` stands for, by default the standard input of the process.
        progress: told now and then how many bytes have been read, as they lie on disk.

    Raises:
        InputError: a file or a line of it cannot be read.
    """
    keep = Keep(ended=ENDED)
    monitor = Monitor(mode, bundle, only=claim, strict=strict, keep=keep)
    trusted, theorem = Trusted(), Theorem(mode)

    def reject(error: InputError) -> None:
        monitor.reject(At(error.file, error.line or 0))

    source = read(paths, lenient=lenient, stdin=stdin, on_reject=reject)
    for number, record in enumerate(source):
        if progress is not None and number % _EVERY == 0:
            progress(source.size)
        trusted.note(record)
        theorem.note(record)
        monitor.take(record)
    if progress is not None:
        progress(source.size)
    conclusion = monitor.conclude()
    return Report(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        inputs=[input_of(account) for account in source.accounts],
        mode=mode,
        bundle=bundle,
        strict=strict,
        verdict=conclusion.verdict,
        why=conclusion.why,
        obligations=conclusion.obligations,
        events=Events(conclusion.read, conclusion.unknown, conclusion.rejected),
        claims=[_claim(judged) for judged in conclusion.claims if judged.other is None],
        others=_others(conclusion),
        trust=trusted.report(),
        forgotten=_forgotten(conclusion),
        theorem=_applies(theorem.left(left for _, left in monitor.left()), conclusion),
        claim=claim,
    )


def _applies(left: tuple[At | None, str] | None, conclusion: Conclusion) -> Applies:
    """Whether the theorem speaks of what was read, all lines being understood."""
    if left is None and conclusion.rejected:
        return Applies(False, None, "lines could not be read")
    if left is None:
        return Applies(True)
    at, why = left
    return Applies(False, None if at is None else place_of(at), why)


def _claim(judged: ClaimVerdict) -> ClaimReport:
    claim = judged.claim
    return ClaimReport(
        claim_id=claim.claim_id,
        stream=text_of(claim.stream),
        state=claim.state,
        verdict=judged.verdict,
        obligations={name: _obligation(found) for name, found in judged.findings.items()},
        why=judged.why,
        declared_mode=claim.declared_mode,
    )


def _others(conclusion: Conclusion) -> dict[Mode, int]:
    others: Counter[Mode] = Counter()
    for judged, count in (*((judged, 1) for judged in conclusion.claims), *conclusion.forgotten):
        if judged.other is not None:
            others[judged.other] += count
    return dict(others)


def _forgotten(conclusion: Conclusion) -> Forgotten:
    verdicts: Counter[ModeVerdict] = Counter()
    obligations: dict[str, Counter[Verdict]] = {name: Counter() for name in conclusion.obligations}
    for judged, count in conclusion.forgotten:
        if judged.other is not None:
            continue
        verdicts[judged.verdict] += count
        for name, found in judged.findings.items():
            obligations[name][found.verdict] += count
    by_name = {name: dict(found) for name, found in obligations.items() if found}
    return Forgotten(verdicts.total(), dict(verdicts), by_name)


def _obligation(found: Finding) -> ObligationReport:
    if found.at is None:
        return _nowhere(found.verdict, found.why, found.allowed)
    return ObligationReport(found.verdict, place_of(found.at), found.why, found.allowed)


@lru_cache(maxsize=256)
def _nowhere(verdict: Verdict, why: str, allowed: str) -> ObligationReport:
    """What no event decided, which very many claims have in common."""
    return ObligationReport(verdict, None, why, allowed)
