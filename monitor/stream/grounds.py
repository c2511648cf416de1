"""Collects what the verdict on a mode rests on, of files that may be judged apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from monitor.evaluate.conclusion import Conclusion, ModeVerdict, decide
from monitor.stream.stream_part import torn
from spec.language.prose import counted
from spec.language.verdicts import Verdict, pool

if TYPE_CHECKING:
    from monitor.evaluate.conclusion import ClaimVerdict
    from monitor.stream.stream_part import StreamPart

__all__ = ["Found", "Grounds"]


@dataclass(slots=True)
class Grounds:
    """What the verdict on a mode rests on, of some files. Those of all files are joined, in the
    order of the files.

    Attributes:
        obligations: of each the verdicts that occur, over the claims that are judged.
        entry: what a claim is once it entered, in a word.
        only: the one claim that is judged.
        read: lines that were read, those of unknown kinds by kind in `unknown`.
        rejected: lines that could not be read.
        left_out: events beyond what is followed.
        late: lines that came too late to be put in order.
        occurs: whether there is any claim.
        entered: whether one entered.
        mixed: a claim of which it is unknown by which of two modes it goes, and why.
        modes: other modes of which there are claims, where no claim of this one entered.
        cut: a stream that has two forms, or not the end that it promised, and why.
        full: why nothing is concluded of claims with too many requests.
        parts: the streams that another file may go on with.
    """

    obligations: dict[str, set[Verdict]]
    entry: str
    only: str | None = None
    strict: bool = False
    read: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    rejected: int = 0
    left_out: int = 0
    late: int = 0
    occurs: bool = False
    entered: bool = False
    mixed: str = ""
    modes: set[str] = field(default_factory=set)
    cut: str = ""
    full: str = ""
    parts: list[StreamPart] = field(default_factory=list)

    def join(self, later: Grounds) -> None:
        """Add those of files that come after these; the first reason of a kind stays."""
        for name, verdicts in later.obligations.items():
            self.obligations[name] |= verdicts
        self.read += later.read
        self.unknown += later.unknown
        self.rejected += later.rejected
        self.left_out += later.left_out
        self.late += later.late
        self.occurs |= later.occurs
        self.entered |= later.entered
        self.mixed = self.mixed or later.mixed
        self.modes |= later.modes
        self.cut = self.cut or later.cut
        self.full = self.full or later.full
        self.parts += later.parts

    @property
    def pooled(self) -> dict[str, Verdict]:
        """The verdict on each obligation."""
        return {name: pool(verdicts) for name, verdicts in self.obligations.items()}

    def verdict(self, absent: str) -> tuple[ModeVerdict, str]:
        """The verdict on the mode, and why.

        Args:
            absent: what `absent` says.
        """
        verdict, why = decide(self.pooled, absent, strict=self.strict)
        full = self.full if verdict is ModeVerdict.INCONCLUSIVE else ""
        return verdict, f"{why}; {full}" if full else why

    @property
    def absent(self) -> str:
        """What keeps the whole from being judged, if anything."""
        if self.rejected:
            return f"{counted(self.rejected, 'line')} could not be read"
        if self.left_out:
            left_out = f"{counted(self.left_out, 'event')} left out"
            return f"{left_out}: more claims or requests than are followed"
        if self.late:
            return f"{counted(self.late, 'line')} came too late and left out"
        if self.only is not None and not self.occurs:
            return f"claim {self.only} does not occur"
        if self.mixed:
            return self.mixed
        if not self.entered:
            rest = f" of this mode, only of {', '.join(sorted(self.modes))}" if self.modes else ""
            return f"no {self.entry} claim{rest}"
        return self.cut or torn(self.parts, self.entry)


class Found(NamedTuple):
    """What was found of the claims of some files, and of those not among them: one of each kind,
    with how many there are.
    """

    grounds: Grounds
    claims: tuple[ClaimVerdict, ...]
    forgotten: tuple[tuple[ClaimVerdict, int], ...]

    @property
    def conclusion(self) -> Conclusion:
        """What it comes to, where there are no other files."""
        grounds, absent = self.grounds, self.grounds.absent
        rest = grounds.read, dict(grounds.unknown), grounds.rejected
        verdict, why = grounds.verdict(absent)
        return Conclusion(verdict, why, absent, grounds.pooled, self.claims, self.forgotten, *rest)
