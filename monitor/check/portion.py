"""Holds what the judging of some files found, as far as a report needs it.

Files may be judged in several processes: their portions are joined, in the order of the files.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from monitor.check.claim_table import tabulated
from monitor.check.parts import text_of
from monitor.report.verdict import UnjudgedClaim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.check.claim_table import ClaimTable
    from monitor.check.parts import Trusted
    from monitor.check.stated import Stated
    from monitor.check.theorem import Theorem
    from monitor.engine import ClaimVerdict, ModeVerdict
    from monitor.input.records import At
    from monitor.input.sources import Account
    from monitor.stream.grounds import Found, Grounds
    from spec.claims.claim import Mode
    from spec.language.verdicts import Verdict

__all__ = ["ModePortion", "Portion", "Unclear", "portion_of"]

_Left: TypeAlias = "tuple[At | None, str]"


class Unclear(NamedTuple):
    """A claim of which it is unclear by which mode it goes.

    Attributes:
        file: the file of its stream.
        stream: as the file calls it.
        owes_nothing: whether it was turned away without more.
        claim: as a report lists it.
    """

    file: str
    stream: str
    owes_nothing: bool
    claim: UnjudgedClaim

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from other claims."""
        return self.file, self.stream, self.claim.claim_id


@dataclass(slots=True)
class ModePortion:
    """What one mode found in some files.

    Attributes:
        left: the streams that leave what the theorem assumes, each with where and how.
        theorem: what the lines leave of it.
        judges: whether the mode judged any claim.
        claims: those that it judged and that are listed.
        verdicts: how many claims that are forgotten have each verdict.
        obligations: the same of each obligation.
        others: how many listed claims are of each other mode.
        other_forgotten: the same of those that are forgotten.
        unclear: the claims that go by no mode.
        unclear_forgotten: how many of those are forgotten.
        unclear_owed: how many of these were not turned away without more.
    """

    mode: Mode
    grounds: Grounds
    left: list[_Left]
    theorem: Theorem
    judges: bool
    claims: list[ClaimTable]
    verdicts: Counter[ModeVerdict]
    obligations: dict[str, Counter[Verdict]]
    others: Counter[Mode]
    other_forgotten: Counter[Mode]
    unclear: list[Unclear]
    unclear_forgotten: int
    unclear_owed: int

    def join(self, later: ModePortion) -> None:
        """Add what the mode found in files that come after these."""
        self.grounds.join(later.grounds)
        self.left += later.left
        self.theorem.join(later.theorem)
        self.judges |= later.judges
        self.claims += later.claims
        self.verdicts.update(later.verdicts)
        for name, found in later.obligations.items():
            self.obligations[name].update(found)
        self.others.update(later.others)
        self.other_forgotten.update(later.other_forgotten)
        self.unclear += later.unclear
        self.unclear_forgotten += later.unclear_forgotten
        self.unclear_owed += later.unclear_owed


@dataclass(slots=True)
class Portion:
    """What all modes found in some files.

    Attributes:
        accounts: of the files.
        stated: the modes that claims state, where each is judged by its own.
    """

    accounts: list[Account]
    trusted: Trusted
    stated: Stated | None
    modes: Sequence[ModePortion]

    def join(self, later: Portion) -> None:
        """Add what the same modes found in files that come after these."""
        self.accounts += later.accounts
        self.trusted.join(later.trusted)
        if self.stated is not None and later.stated is not None:
            self.stated.join(later.stated)
        for ours, theirs in zip(self.modes, later.modes, strict=True):
            ours.join(theirs)


def portion_of(mode: Mode, found: Found, left: list[_Left], theorem: Theorem) -> ModePortion:
    """What a mode found."""
    claims, forgotten = found.claims, found.forgotten
    verdicts: Counter[ModeVerdict] = Counter()
    obligations: dict[str, Counter[Verdict]] = {n: Counter() for n in found.grounds.obligations}
    others: Counter[Mode] = Counter()
    other_forgotten: Counter[Mode] = Counter()
    for judged, count in forgotten:
        if not judged.judged:
            continue
        verdicts[judged.verdict] += count
        for name, each in judged.findings.items():
            obligations[name][each.verdict] += count
    for judged in claims:
        if judged.other is not None:
            others[judged.other] += 1
    for judged, count in forgotten:
        if judged.other is not None:
            other_forgotten[judged.other] += count
    unclear = [(each, count) for each, count in forgotten if each.unclear]
    return ModePortion(
        mode,
        found.grounds,
        left,
        theorem,
        any(each.judged for each in (*claims, *(each for each, _ in forgotten))),
        [tabulated(each for each in claims if each.judged)],
        verdicts,
        obligations,
        others,
        other_forgotten,
        [_unclear(each) for each in claims if each.unclear],
        sum(count for _, count in unclear),
        sum(count for each, count in unclear if not each.owes_nothing),
    )


def _unclear(judged: ClaimVerdict) -> Unclear:
    claim = judged.claim
    listed = UnjudgedClaim(
        claim_id=claim.claim_id,
        stream=text_of(claim.stream),
        state=claim.state,
        why=judged.why,
        declared_mode=claim.declared_mode,
    )
    return Unclear(judged.file, claim.stream, judged.owes_nothing, listed)
