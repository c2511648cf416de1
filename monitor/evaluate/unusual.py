"""Defines what few claims have, and where a claim that has none of it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monitor.evaluate.nothing import NOTHING
from spec.events.alphabet import FACTS

if TYPE_CHECKING:
    from monitor.evaluate.partial_observation import Step
    from monitor.evaluate.restless import Restless
    from monitor.input.records import At
    from spec.events.alphabet import Kind

__all__ = ["USUAL", "MayBeUnusual", "Unusual"]

_NONE: Final[frozenset[Any]] = frozenset()


class Unusual:
    """What a claim has of which something is in doubt, contradicted or early.

    `MayBeUnusual` explains most of it. `steps` are those of the observers where they are not all
    whole. `quiet` are the collections that it rests in; of these it is `spared` the events of one
    since it `took_last` one.
    """

    __slots__ = (
        *("computed", "contradicted", "disputed", "doubts", "early", "guest", "lost"),
        *("missed", "observed", "other_mode", "past", "quiet", "spared", "steps"),
        *("strayed", "taint", "took_last", "unknown", "unsaid", "unwatched"),
    )

    def __init__(self) -> None:
        self.computed: frozenset[int] = _NONE
        self.contradicted: tuple[At | None, str] | None = None
        self.disputed: bool = False
        self.doubts: dict[int, tuple[At | None, str]] = NOTHING
        self.early: bool = False
        self.guest: bool = False
        self.lost: bool = False
        self.missed: bool = False
        self.observed: frozenset[Kind] = FACTS
        self.other_mode: str | None = None
        self.past: Any = None
        self.strayed: bool = False
        self.taint: tuple[At | None, str] | None = None
        self.unknown: frozenset[str] = _NONE
        self.unsaid: frozenset[int | None] = _NONE
        self.unwatched: bool = False
        self.steps: tuple[Step, ...] | None = None
        self.quiet: tuple[Restless[Any], ...] = ()
        self.spared: Restless[Any] | None = None
        self.took_last: At | None = None


USUAL: Final = Unusual()
"""What all claims of which nothing is unusual have in common; it is never changed."""


class MayBeUnusual:
    """A claim that has these things in an object of its own, once there are any."""

    __slots__ = ("unusual",)

    unusual: Unusual

    @property
    def own_unusual(self) -> Unusual:
        """What is unusual of this claim alone, to be changed."""
        if self.unusual is USUAL:
            self.unusual = Unusual()
        return self.unusual

    @property
    def computed(self) -> frozenset[int]:
        """The positions that were computed since it was last away."""
        return self.unusual.computed

    @computed.setter
    def computed(self, new: frozenset[int]) -> None:
        if new != self.unusual.computed:
            self.own_unusual.computed = new

    @property
    def contradicted(self) -> tuple[At | None, str] | None:
        """What facts about it contradicted last, until the stream notes it."""
        return self.unusual.contradicted

    @contradicted.setter
    def contradicted(self, new: tuple[At | None, str] | None) -> None:
        if new is not self.unusual.contradicted:
            self.own_unusual.contradicted = new

    @property
    def disputed(self) -> bool:
        """Whether two priorities of it were stated."""
        return self.unusual.disputed

    @disputed.setter
    def disputed(self, new: bool) -> None:
        if new is not self.unusual.disputed:
            self.own_unusual.disputed = new

    @property
    def doubts(self) -> dict[int, tuple[At | None, str]]:
        """Since when and why less is concluded of an obligation, by places."""
        return self.unusual.doubts

    @doubts.setter
    def doubts(self, new: dict[int, tuple[At | None, str]]) -> None:
        if new is not self.unusual.doubts:
            self.own_unusual.doubts = new

    @property
    def early(self) -> bool:
        """Whether the runtime ended its entry before its duration was over."""
        return self.unusual.early

    @early.setter
    def early(self, new: bool) -> None:
        if new is not self.unusual.early:
            self.own_unusual.early = new

    @property
    def guest(self) -> bool:
        """Whether another mode judges it."""
        return self.unusual.guest

    @guest.setter
    def guest(self, new: bool) -> None:
        if new is not self.unusual.guest:
            self.own_unusual.guest = new

    @property
    def lost(self) -> bool:
        """Whether it may have been forgotten, and nothing is remembered of it."""
        return self.unusual.lost

    @lost.setter
    def lost(self, new: bool) -> None:
        if new is not self.unusual.lost:
            self.own_unusual.lost = new

    @property
    def missed(self) -> bool:
        """Whether anything may have happened since it ended that was not observed."""
        return self.unusual.missed

    @missed.setter
    def missed(self, new: bool) -> None:
        if new is not self.unusual.missed:
            self.own_unusual.missed = new

    @property
    def observed(self) -> frozenset[Kind]:
        """The facts of which the hooks state each one."""
        return self.unusual.observed

    @observed.setter
    def observed(self, new: frozenset[Kind]) -> None:
        if new is not self.unusual.observed and new != self.unusual.observed:
            self.own_unusual.observed = new

    @property
    def other_mode(self) -> str | None:
        """Another mode that is stated of it."""
        return self.unusual.other_mode

    @other_mode.setter
    def other_mode(self, new: str | None) -> None:
        if new is not self.unusual.other_mode:
            self.own_unusual.other_mode = new

    @property
    def past(self) -> Any:
        """What is remembered of it, if it was forgotten."""
        return self.unusual.past

    @past.setter
    def past(self, new: Any) -> None:
        if new is not self.unusual.past:
            self.own_unusual.past = new

    @property
    def strayed(self) -> bool:
        """Whether an event took blocks from behind its end, and none of its own."""
        return self.unusual.strayed

    @strayed.setter
    def strayed(self, new: bool) -> None:
        if new is not self.unusual.strayed:
            self.own_unusual.strayed = new

    @property
    def taint(self) -> tuple[At | None, str] | None:
        """Since when and why nothing new is concluded of it."""
        return self.unusual.taint

    @taint.setter
    def taint(self, new: tuple[At | None, str] | None) -> None:
        if new is not self.unusual.taint:
            self.own_unusual.taint = new

    @property
    def unknown(self) -> frozenset[str]:
        """The fields of events that are unknown."""
        return self.unusual.unknown

    @unknown.setter
    def unknown(self, new: frozenset[str]) -> None:
        if new != self.unusual.unknown:
            self.own_unusual.unknown = new

    @property
    def unsaid(self) -> frozenset[int | None]:
        """The blocks that it lost and no report named; None for an unknown one."""
        return self.unusual.unsaid

    @unsaid.setter
    def unsaid(self, new: frozenset[int | None]) -> None:
        if new != self.unusual.unsaid:
            self.own_unusual.unsaid = new

    @property
    def unwatched(self) -> bool:
        """Whether nothing more is owed of it though it was watched."""
        return self.unusual.unwatched

    @unwatched.setter
    def unwatched(self, new: bool) -> None:
        if new is not self.unusual.unwatched:
            self.own_unusual.unwatched = new
