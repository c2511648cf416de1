"""What becomes of claims when the engine does something: decisions, enforcement, and the telling.

The keeper knows no engine. An adapter tells it what the engine did, and gives it a `Pool` by which
it holds blocks. Everything here runs on the engine's own thread, and each entry is one moment: all
that is said in it bears the same time, and claims whose duration is over are ended first.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec.structs import replace

from runtime_hooks.custody.blocks import Custody
from runtime_hooks.custody.intake import Intake
from runtime_hooks.custody.registry import Registry
from runtime_hooks.custody.tier import Tier
from runtime_hooks.custody.voice import Voice
from runtime_hooks.enforce.holds import Holding
from runtime_hooks.enforce.ranks import Ranking
from runtime_hooks.enforce.room import blockers, in_conflict, proof
from runtime_hooks.requests.arrivals import Refusal
from runtime_hooks.requests.callers import Callers
from runtime_hooks.requests.metadata import CLAIM, PIN, RELEASE, name_of
from spec.claims.claim import Mode, TimeUnit
from spec.events.alphabet import Kind
from spec.events.fields import RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime_hooks.custody.tier import Copies
    from runtime_hooks.enforce.ledger import Entry
    from runtime_hooks.requests.ahead import Ahead, Prompt
    from runtime_hooks.requests.arrivals import Arrival
    from runtime_hooks.settings.config import Settings
    from runtime_hooks.trace.journal import Journal
    from spec.claims.claim import CacheIdentity

__all__ = ["Keeper", "Pool"]

_NS: Final = 1_000_000_000
_SECONDS: Final = TimeUnit.SECONDS


class Pool(Holding, Ranking, Protocol):
    """The blocks of the engine, as far as the keeper needs them. The null block is none."""

    @property
    def usable(self) -> int:
        """Blocks that are usable at all."""


@dataclass(slots=True)
class _InHand:
    """A request that has not ended; `needed` is what was stated, once, in blocks.

    `until` is the time in ns until which it is put off; `seen` the claims as they were when it was
    last decided on, `acted` when it was last told what is done about it, and `told` is that.
    """

    arrival: Arrival
    needed: int
    until: int = 0
    seen: int = -1
    acted: int = -1
    told: Kind | None = None


class Keeper:
    """The claims of one engine with one pool.

    Args:
        identity: of the engine's cache.
        tier: where copies of blocks are kept, None where there is none.
        prompts: the contents of a prompt's whole blocks.
        alarm: why no more claims are accepted; empty while they are.
        clock: monotonic time in ns.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        pool: Pool,
        identity: CacheIdentity,
        tier: Copies | None = None,
        *,
        prompts: Callable[[Prompt], Sequence[bytes]],
        alarm: Callable[[], str] = lambda: "",
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._registry = Registry(settings, pool.usable, tier=tier is not None)
        self._settings, self._pool, self._clock = settings, pool, clock
        self._callers = Callers()
        self._voice = Voice(journal, settings.drill)
        self.custody = Custody(pool, self._registry, self._voice, self.tick, self._has)
        self.tier = Tier(tier, self.custody, self._registry, self._voice, self.tick)
        self._now = dict.fromkeys(TimeUnit, 0)  # in ns; steps that have begun
        self._intake = Intake(
            identity,
            pool,
            self._registry,
            self.custody,
            self.tier,
            self._voice,
            prompts=prompts,
            beside=self._neediest,
            alarm=alarm,
            tick=self.tick,
            now=self._now,
        )
        self._in_hand: dict[str, _InHand] = {}  # requests that were not put off
        self._put_off: dict[str, _InHand] = {}
        self._refused: dict[str, _InHand] = {}
        self._refusals: list[Refusal] = []  # that nobody was told of but the auditor

    # Requests.

    def arrive(self, arrival: Arrival) -> tuple[bool, dict[str, str]]:
        """A request came, with a claim or without.

        Returns:
            Whether it may be scheduled now (if not, `decide` will tell), and why what came with it
            was turned away: by `claim`, `release`, `pin` and `no_admit`, empty where it was not.
        """
        self.tick()
        if arrival.plain and not self.awaits:
            request = self._in_hand[arrival.request_id] = _InHand(arrival, arrival.blocks)
            self._state(request)
            return True, {}
        arrival = self.identified(arrival)
        if not arrival.no_admit:
            self.custody.clear_way(arrival.keys[: arrival.reusable])
        self.ahead.serve(arrival)
        answers = dict(arrival.faults)
        if arrival.release is not None:
            answers["release"] = self._intake.give_up(arrival)
        if arrival.claim is not None:
            answers["claim"] = self._intake.take(arrival)
        if arrival.pin is not None:
            answers["pin"] = self._intake.pins.ask(arrival)
        request = _InHand(arrival, self._need(arrival))
        yielding = self._makes_way(request)
        waits = self._settings.defer_s and arrival.blocks <= self._pool.usable
        if yielding is None and waits:
            request.needed = arrival.blocks  # meanwhile the claims that it shares with may end
        self._state(request)
        if yielding is not None:
            self._let_in(request, yielding)
            return True, answers
        request.until = self._voice.now_ns + int(self._settings.defer_s * _NS)
        if waits:
            self._act(Kind.REQUEST_DEFERRED, request)
            self._put_off[arrival.request_id] = request
        else:  # told at once: its client may go away before the next step
            self._refuse(request)
        return False, answers

    def identified(self, arrival: Arrival) -> Arrival:
        """A request, with the scope of who sent it where that is asked and was not yet.

        One that asks for nothing uses up no proof, of which an engine remembers so many.
        """
        if not (self._settings.scopes and arrival.asks) or arrival.scope is not None:
            return arrival
        asks = {CLAIM: arrival.claim, RELEASE: arrival.release, PIN: arrival.pin}
        return replace(arrival, scope=self._callers.scope_of(arrival.caller, asks))

    def decide(self) -> tuple[list[str], list[Refusal]]:
        """A step begins; what becomes of the requests that were put off: those that fit now, those
        refused.
        """
        self.tick()
        self._intake.expire(TimeUnit.STEPS)  # those that have begun are over
        self._now[TimeUnit.STEPS] += 1
        self.ahead.drain()
        fit: list[str] = []
        for request_id, request in list(self._put_off.items()):
            late = request.until <= self._voice.now_ns
            if request.seen == self._registry.version and not late:
                continue
            if (yielding := self._makes_way(request)) is not None:
                self._let_in(request, yielding)
                fit.append(request_id)
            elif late:
                self._refuse(request)
            else:
                continue
            del self._put_off[request_id]
        refusals, self._refusals = self._refusals, []
        return fit, refusals

    def stuck(self, arrival: Arrival) -> Refusal | None:
        """A request that was let through finds no room, though nobody uses blocks but claims.

        What it needs was misjudged, or was not seen, so readers are told of a gap.

        Returns:
            Its refusal; None where claims are not the reason.
        """
        self.tick()
        for needed in (self._need(arrival), arrival.blocks):
            if in_conflict(len(self._registry.declared), needed, self._pool.usable):
                self.fail()
                request = self._refused[arrival.request_id] = _InHand(arrival, needed)
                if self._in_hand.pop(arrival.request_id, None) is None:
                    self._state(request)
                return self._act(Kind.REQUEST_REFUSED, request)
        return None

    def answer(self, act: Callable[..., object], *about: Any) -> None:
        """Do what decides on what came with a request and answers it.

        Where that fails nobody learns of a claim that was taken, so nobody could give it up: it is
        given up.
        """
        self._intake.begin()
        try:
            act(*about)
        except Exception:
            self.fail()  # before it, for a runtime may not end every claim
            self._intake.undo()
            raise

    @property
    def ahead(self) -> Ahead:
        """The claims registered ahead."""
        return self._intake.ahead

    @property
    def awaits(self) -> bool:
        """Whether a request that comes may have to do with a claim that came before it."""
        return bool(self.claims) or self.ahead.waiting

    @property
    def claims(self) -> int:
        """How many claims are live."""
        return len(self._registry.live)

    def finish(self, request_id: str) -> dict[str, str]:
        """A request ended, whatever way; why its prompt was not pinned, by `pin`, if it asked."""
        self.tick()
        self._finish(request_id)
        reason = self._intake.pins.finish(request_id)
        return {} if reason is None else {"pin": reason}

    def _finish(self, request_id: str) -> None:
        self._in_hand.pop(request_id, None)
        waiting = self._put_off.pop(request_id, None) or self._refused.pop(request_id, None)
        if waiting is not None:
            self._refusals = [r for r in self._refusals if r.request_id != request_id]
            self._tell_again(waiting)
        self.tier.failed(request_id)  # a load that is under way now brings nothing back any more
        self._voice.fact(Kind.REQUEST_FINISHED, request_id=name_of(request_id))

    # Claims.

    def release(self, claim_id: str, scope: str) -> str:
        """The owner gives a claim up; why that is not done, or empty."""
        return self._intake.release(claim_id, scope)

    def tick(self) -> None:
        """Time has passed: end the claims whose duration is over."""
        self._now[_SECONDS] = self._voice.now_ns = self._clock()
        self._intake.expire(_SECONDS)

    def close(self) -> None:
        """The engine ends in order: first its requests do, then all that is cached is lost.

        Claims that may be demoted are, beforehand; whatever else was there is harmed, aloud.
        """
        self.tick()
        for request_id in [*self._in_hand, *self._put_off, *self._refused]:
            self._finish(request_id)
        for entry in self._yielding():
            self._intake.end(entry, Kind.CLAIM_DEMOTED, RUNTIME)
        self.custody.after_reset(done=True)
        self.tier.forgotten(None)

    def fail(self) -> None:
        """Something was not seen: every reader learns that events are missing here."""
        self._voice.gap()

    # What the entries above are made of.

    def _has(self, request_id: str) -> bool:
        """Whether a request came and has not ended."""
        return any(request_id in some for some in (self._in_hand, self._put_off, self._refused))

    def _neediest(self) -> int:
        """What the neediest request in hand needs, by what was stated and as claims stand now."""
        in_hand = self._in_hand.values()
        return max((max(r.needed, self._need(r.arrival)) for r in in_hand), default=0)

    def _need(self, arrival: Arrival) -> int:
        """The blocks that a request needs beside those that are the claims' as they stand."""
        keys = arrival.keys[: arrival.reusable]
        return arrival.blocks - self.custody.ledger.spared(keys, cached=not arrival.no_admit)

    def _state(self, request: _InHand) -> None:
        """State what a request needs."""
        self._voice.fact(
            Kind.REQUEST_ARRIVED,
            request_id=name_of(request.arrival.request_id),
            needed=request.needed,
            usable=self._pool.usable,
        )

    def _makes_way(self, request: _InHand) -> list[Entry] | None:
        """The claims to demote so that the request fits, as claims stand now; None where that
        does not do, and it does not fit.

        One with which the request shares blocks is none: its room would be the request's own.
        """
        request.seen = self._registry.version
        needed, usable, taken = self._need(request.arrival), self._pool.usable, self._registry.taken
        if not in_conflict(len(taken), needed, usable):
            return []
        shared = self.custody.ledger.on(request.arrival.keys)
        yielding = [entry for entry in self._yielding() if entry not in shared]
        return blockers(yielding, taken, len(taken) + needed - usable) or None

    def _let_in(self, request: _InHand, yielding: Sequence[Entry]) -> None:
        """A request may be scheduled, for which these claims are demoted."""
        for entry in yielding:
            self._intake.end(entry, Kind.CLAIM_DEMOTED, RUNTIME)
        self._tell_again(request)
        self._in_hand[request.arrival.request_id] = request

    def _yielding(self) -> list[Entry]:
        """The claims that may be demoted."""
        return [
            entry
            for entry in self._registry.live.values()
            if entry.claim.protection_mode is Mode.DEMOTABLE and self._registry.keeps(entry)
        ]

    def _refuse(self, request: _InHand) -> None:
        self._refused[request.arrival.request_id] = request
        self._refusals.append(self._act(Kind.REQUEST_REFUSED, request))

    def _tell_again(self, request: _InHand) -> None:
        """What was told of a request, if anything, stands: name the claims that came since, too."""
        declared = len(self._registry.declared)
        conflict = in_conflict(declared, request.needed, self._pool.usable)
        if conflict and request.told and request.acted != self._registry.version:
            self._act(request.told, request)

    def _act(self, kind: Kind, request: _InHand) -> Refusal:
        """Report what is done about a request that does not fit, and because of whom."""
        request_id, needed = request.arrival.request_id, request.needed
        request.acted, request.told = self._registry.version, kind
        declared, usable = len(self._registry.declared), self._pool.usable
        kept = (entry for entry in self._registry.live.values() if not entry.watched)
        named = blockers(kept, self._registry.declared, declared + needed - usable)
        refusal = Refusal(
            request_id,
            tuple(entry.claim_id for entry in named),
            proof(declared, needed, usable),
        )
        self._voice.report(
            kind,
            request_id=name_of(request_id),
            blocking_claim_ids=refusal.blocking_claim_ids,
            proof=refusal.proof,
        )
        return refusal
