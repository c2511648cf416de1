"""Defines the lifecycle machine of a claim: who may trigger which transition, and when."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from transitions import Machine

from spec.claims.claim import ResidentClaim
from spec.claims.durations import Instant
from spec.claims.states import (
    OWNER_TRIGGERS,
    RUNTIME_TRIGGERS,
    TRANSITIONS,
    TRIGGERS,
    ClaimState,
    Mode,
    next_state,
)
from spec.language.errors import LifecycleError, OwnershipError
from spec.language.suggest import did_you_mean

__all__ = [
    "RUNTIME",
    "Actor",
    "Caller",
    "ClaimLifecycle",
    "Entry",
    "Runtime",
    "is_escalation",
]


_RANK: Final[Mapping[Mode, int]] = {
    Mode.BEST_EFFORT: 0,
    Mode.SOFT_PRIORITY: 1,
    Mode.DEMOTABLE: 2,
    Mode.EXPIRING: 2,
    Mode.OFFLOADABLE: 2,
    Mode.ROUTED_REUSE: 2,
    Mode.HARD_PROTECTED: 3,
}


def is_escalation(old: Mode, new: Mode) -> bool:
    """Whether `new` protects strictly more than `old`; modes of one rank do not compare."""
    return _RANK[new] > _RANK[old]


@dataclass(frozen=True)
class Caller:
    """The caller that acts in the name of `scope`; raises OwnershipError if the scope is blank."""

    scope: str

    def __post_init__(self) -> None:
        if not self.scope.strip():
            raise OwnershipError("a caller has a blank scope", "name the scope it acts for")

    def __str__(self) -> str:
        return f"a caller of scope {self.scope!r}"


@dataclass(frozen=True)
class Runtime:
    """The serving runtime that holds the blocks."""

    def __str__(self) -> str:
        return "the runtime"


Actor: TypeAlias = Caller | Runtime
RUNTIME: Final = Runtime()


@dataclass(frozen=True)
class Entry:
    """A step that was taken."""

    trigger: str
    by: Actor
    dest: ClaimState


class _Model:
    """What the machine moves: one claim."""

    def __init__(self) -> None:
        self.state: str = ClaimState.SUBMITTED.value


class ClaimLifecycle:
    """One claim on its way through TRANSITIONS, with the rules of who may do what.

    Of callers only the owning scope may demote, release or expire. The runtime sends every other
    report, may demote a demotable claim, or a hard_protected one while `pressed`, and may expire
    one whose duration, counted from the commitment, has passed. `claim_harmed` and the refusal of
    active requests end no responsibility.
    Source: Resident KV Claims, section 3.3 and table 4; design, section 2.

    Args:
        history: how many of the latest entries `history` keeps; None keeps all.
    """

    # One machine moves all claims: building one takes 2 ms and 40 kB.
    _machine: Final = Machine(
        model=None,
        states=[state.value for state in ClaimState],
        transitions=[[row.trigger, row.source.value, row.dest.value] for row in TRANSITIONS],
        initial=ClaimState.SUBMITTED.value,
        auto_transitions=False,
    )

    def __init__(self, claim: ResidentClaim, *, history: int | None = None) -> None:
        self.claim = claim
        self.pressed = False
        """Whether a request in hand is in a standing conflict with the responsible claims."""
        self._accepted_at: Instant | None = None
        self._last: Instant | None = None
        self._history: deque[Entry] = deque(maxlen=history)
        self._model = _Model()

    @classmethod
    def moves(cls) -> Iterator[tuple[str, ClaimState, ClaimState]]:
        """Every transition of the machine: its trigger, its source and its destination."""
        for trigger, event in cls._machine.events.items():
            for from_one in event.transitions.values():
                for each in from_one:
                    yield trigger, ClaimState(each.source), ClaimState(each.dest or each.source)

    @property
    def state(self) -> ClaimState:
        """Where the claim stands."""
        return ClaimState(self._model.state)

    @property
    def history(self) -> tuple[Entry, ...]:
        """What happened so far, or the latest of it, oldest first; without failed attempts."""
        return tuple(self._history)

    def allowed(self, by: Actor) -> tuple[str, ...]:
        """The triggers that `by` may send in this state, whatever the clock says."""
        return tuple(
            row.trigger
            for row in TRANSITIONS
            if row.source is self.state and self._bar(row.trigger, by) is None
        )

    def step(self, trigger: str, *, by: Actor, now: Instant | None = None) -> ClaimState:
        """Take the step `trigger`, sent by `by`, and return the new state.

        `now` is needed to accept a claim that has a duration and for the runtime to expire it.
        Raises OwnershipError if `by` may not, LifecycleError if the state or the clock does not
        allow it; then nothing has changed.
        """
        if trigger not in TRIGGERS:
            hint = did_you_mean(trigger, TRIGGERS) or f"use one of {', '.join(TRIGGERS)}"
            raise LifecycleError(f"there is no trigger {trigger[:100]!r}", hint)
        tried = f"{by} tried {trigger} on claim {self.claim.claim_id!r} in state {self.state}"
        bar = self._bar(trigger, by)
        if bar is not None:
            raise OwnershipError(f"{tried}, but {bar}", self._remedy(by))
        dest = next_state(self.state, trigger)
        if dest is None:
            raise LifecycleError(
                f"{tried}, but the lifecycle has no such transition", self._remedy(by)
            )
        self._check_clock(trigger, by, now, tried)
        self._machine.events[trigger].trigger(self._model)
        if trigger == "claim_accepted":
            self._accepted_at = now
        self._last = now or self._last
        self._history.append(Entry(trigger, by, self.state))
        return self.state

    def _owned(self, by: Actor) -> bool:
        return isinstance(by, Caller) and by.scope == self.claim.owner_scope

    def _bar(self, trigger: str, by: Actor) -> str | None:
        """Why `by` may never send `trigger` as the claim is; None if it may."""
        if isinstance(by, Caller):
            if trigger not in OWNER_TRIGGERS:
                return "only the runtime may report this"
            return None if self._owned(by) else f"{self.claim.owner_scope!r} owns the claim"
        if trigger not in RUNTIME_TRIGGERS:
            return "only the owner may release"
        mode = self.claim.protection_mode
        relaxes = mode is Mode.HARD_PROTECTED and self.pressed
        if trigger == "claim_demoted" and mode is not Mode.DEMOTABLE and not relaxes:
            return f"the runtime may demote only demotable claims, and this one is {mode}"
        if trigger == "claim_expired" and self.claim.duration is None:
            return "the runtime may expire only a claim with a duration"
        return None

    def _remedy(self, by: Actor) -> str:
        may = ", ".join(self.allowed(by))
        return f"allowed to it now: {may}" if may else "nothing is allowed to it now"

    def _check_clock(self, trigger: str, by: Actor, now: Instant | None, tried: str) -> None:
        """Raises LifecycleError if `now` is missing, of another unit, earlier or too early."""
        duration = self.claim.duration
        expires = trigger == "claim_expired" and by == RUNTIME
        timed = trigger == "claim_accepted" or expires
        if now is None:
            if timed and duration is not None:
                raise LifecycleError(f"{tried} without a time", f"give now in {duration.unit}")
            return
        clock = duration or self._last
        if clock is not None and now.unit is not clock.unit:
            raise LifecycleError(f"{tried} at {now}, on another clock", f"give now in {clock.unit}")
        if self._last is not None and now.value < self._last.value:
            raise LifecycleError(f"{tried} at {now}, before {self._last}", "give a later time")
        start = self._accepted_at
        if not expires or duration is None or start is None:
            return
        if not duration.over(since=start, now=now):
            raise LifecycleError(
                f"{tried} at {now}, but {duration} from {start} have not elapsed",
                "wait, or let the owner expire it",
            )
