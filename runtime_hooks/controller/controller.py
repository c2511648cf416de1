"""Receives what an engine adapter observes, and answers with decisions on claims and requests.

The controller knows no engine. Everything here runs on the engine's own thread. Each call is one
moment: all its events bear the same time, and claims whose duration is over are ended first.
"""

from __future__ import annotations

import time
from typing import IO, TYPE_CHECKING, Any, Final, Protocol, TypeVar

from msgspec.structs import replace

from runtime_hooks.claims.arrivals import Decision, Refusal
from runtime_hooks.claims.entry import owners_of
from runtime_hooks.claims.groups import Groups
from runtime_hooks.claims.inbox import Inbox
from runtime_hooks.claims.metadata import ACTIONS, CHANGE, RENEW, TRY
from runtime_hooks.claims.outliving import lock, save, take
from runtime_hooks.claims.ownership import Callers
from runtime_hooks.claims.registry import Registry
from runtime_hooks.controller.admission import Admission
from runtime_hooks.controller.arbitration import Arbitration, SizedPool
from runtime_hooks.controller.figures import Figures, MeasuredPool
from runtime_hooks.controller.operator import Operator
from runtime_hooks.controller.restatement import Restatement
from runtime_hooks.enforce.victim_exclusion import EvictablePool
from runtime_hooks.enforce.victim_order import RankedPool
from runtime_hooks.trace.emitter import Emitter
from runtime_hooks.trace.faults import LOG, Faults
from runtime_hooks.trace.names import name_of
from runtime_hooks.tracking.offloaded import OffloadTracker
from runtime_hooks.tracking.tracker import BlockTracker
from spec.claims.durations import TimeUnit
from spec.events.alphabet import Kind
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from runtime_hooks.claims.arrivals import Arrival, Prompt
    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.preregistration import Preregistration
    from runtime_hooks.controller.resuming import NextEngine
    from runtime_hooks.settings.config import Settings
    from runtime_hooks.trace.journal import Journal
    from runtime_hooks.tracking.offloaded import OffloadTier
    from spec.claims.claim import CacheIdentity

__all__ = ["Controller", "Pool"]

T = TypeVar("T")

_NOT_LOCKED: Final = "it could not lock the file that its setting resume names"


class Pool(EvictablePool, RankedPool, SizedPool, MeasuredPool, Protocol):
    """What the controller needs of the engine's block pool."""


class Controller:
    """The claims and requests of one engine with one block pool.

    `epoch` names this life of the engine, with which its claims end. `tracker` receives what
    happens to blocks, `offloaded` what happens to copies in the offload tier. `operator` is for
    the operator, whose calls come by the `inbox`. `faults` counts the exceptions that were caught.

    Args:
        identity: of the engine's cache.
        tier: the engine's offload tier; None where it has none.
        no_tier: why it has none.
        next_engine: what the engine says of claims that outlive it; None where none does.
        groups: of its caches; None where it has one of full attention.
        prompts: computes the contents of a prompt's whole blocks.
        alarm: the reason why no more claims are accepted; empty while they are.
        clock: monotonic time in ns.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        pool: Pool,
        identity: CacheIdentity,
        tier: OffloadTier | None = None,
        *,
        no_tier: str = "it has no offload tier",
        next_engine: NextEngine | None = None,
        groups: Groups | None = None,
        prompts: Callable[[Prompt], Sequence[bytes]],
        alarm: Callable[[], str] = lambda: "",
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.epoch = journal.epoch
        self.inbox = Inbox()
        self.faults = Faults()
        self._clock = clock
        self._resume = self._to_take = settings.resume
        self._lock, self._next_engine = self._lock_file(next_engine)
        self._now = dict.fromkeys(TimeUnit, 0)  # in ns; steps that have begun
        self._callers = Callers() if settings.scopes else None
        self._emitter = Emitter(journal, settings.drill)
        self._registry = Registry(
            settings,
            pool.usable,
            self._emitter,
            self._now,
            self.faults,
            groups=groups or Groups(),
            no_tier="" if tier is not None else no_tier,
        )
        self.tracker = BlockTracker(
            pool, self._registry, self._emitter, self.tick, self._is_unfinished
        )
        self.offloaded = OffloadTracker(
            tier, self.tracker, self._registry, self._emitter, self.tick, self._read_clock
        )
        self._arbitration = Arbitration(
            settings, pool, self._registry, self.tracker.ledger, self._emitter, self._end
        )
        self._admission = Admission(
            identity,
            pool,
            self._registry,
            self.tracker,
            self.offloaded,
            self._emitter,
            prompts=prompts,
            fewest=self._arbitration.fewest,
            largest_need=self._arbitration.largest_need,
            alarm=alarm,
            tick=self.tick,
            inbox=self.inbox,
            epoch=self.epoch,
            now=self._now,
            next_engine=self._next_engine,
        )
        if self._lock is None and next_engine is not None:
            self._admission.resuming.off = _NOT_LOCKED
        self._restatement = Restatement(
            settings,
            journal,
            self._emitter,
            self._registry,
            self.tracker,
            self.offloaded,
            self._arbitration,
        )
        self.operator = Operator(
            self._registry,
            self._admission,
            self.tracker,
            epoch=self.epoch,
            stream=journal.stream,
            usable=pool.usable,
            now_ns=lambda: self._emitter.now_ns,
            requests=lambda: len(self._arbitration.unfinished),
            alarm=alarm,
            figures=Figures(
                pool,
                self._registry,
                self._admission,
                self.tracker,
                self._emitter,
                journal,
                self.faults,
                alarm=alarm,
            ).page,
            scope_of=lambda *asked: self._callers.scope_of(*asked) if self._callers else "",
        )

    # Requests.

    def arrive(self, arrival: Arrival) -> Decision:
        """Decide on a request that arrived, and on everything that came with it."""
        self.tick()
        never_fits = self._arbitration.never_fits(arrival)
        if arrival.plain and not (never_fits or self.may_concern_claims):
            self._arbitration.run(arrival)
            return Decision(True)
        arrival = self._with_scope(arrival)
        if not arrival.no_admit:
            self.tracker.drop_unreachable(arrival.keys[: arrival.reusable])
        self.preregistration.serve(arrival)
        answers = dict(arrival.faults)
        if arrival.release is not None:
            answers["release"] = self._admission.release_for(arrival)
        if arrival.renewal is not None:
            answers[RENEW] = self._admission.successors.renew(arrival)
        if arrival.mode_change is not None:
            need = self._arbitration.need_with(arrival)
            answers[CHANGE] = self._admission.successors.change_with(arrival, need)
        if arrival.claim is not None:
            answers |= self._admission.admit_with(arrival)
        if arrival.pin is not None:
            answers["pin"] = self._admission.pins.ask(arrival)
        if arrival.trial is not None:
            answers[TRY] = self._admission.would_reject(arrival)
        hints = None if arrival.hints is None else self._admission.hinted.ask(arrival)
        runs, refusal, bound = self._arbitration.decide(arrival)
        return Decision(runs, answers, refusal, arrival.scope, bound, hints)

    def begin_step(self) -> tuple[list[str], list[Refusal]]:
        """A step begins; returns the ids of waiting requests that may run now, and refusals."""
        self.tick()
        self._admission.expire(TimeUnit.STEPS)  # claims that last until the step before
        self._now[TimeUnit.STEPS] += 1
        self.inbox.drain()
        return self._arbitration.decide_again()

    def restate_if_due(self) -> None:
        """A step has begun, and what was refused has ended: state what stands, if it is time to."""
        self._restatement.write_if_due()

    def bound_of(self, request_id: str) -> int:
        """The blocks to which a request that may run was bounded; 0 where it was not."""
        return self._arbitration.bound_of(request_id)

    def ask(self, act: Callable[[Operator], T]) -> Future[T]:
        """Have the operator's call carried out between two steps; any thread may ask.

        Returns:
            What it returns or raises; cancelled where the engine ends before.
        """

        def call() -> T:
            try:
                return act(self.operator)
            except SpecError:  # it was not possible, and nothing was done
                raise
            except Exception:
                self.fail()
                raise

        return self.inbox.put(call)

    def operate(self) -> None:
        """Carry out the calls of other threads between two steps, while the engine is idle."""
        self.start()
        self.tick()
        self.inbox.drain()

    def stuck(self, arrival: Arrival) -> Refusal | None:
        """A request that may run gets no blocks although only claims use blocks.

        Returns:
            Its refusal; None where claims are not the reason.
        """
        self.tick()
        return self._arbitration.refuse_stuck(arrival)

    def finish(
        self,
        request_id: str,
        *,
        aborted: bool = False,
        completed: bool = True,
        freed: bool = True,
        answers: str | None = None,
    ) -> dict[str, str]:
        """A request ended, in whatever way.

        Args:
            aborted: its client gave it up, and so has no answer.
            completed: it was not ended by an error, nor refused.
            freed: its blocks are free; otherwise it counts as in hand until `freed` is called.
            answers: the request whose answer this was, by default its own; empty where the answer
                is still to come, from another part of the same request.

        Returns:
            Under `pin` why its prompt was not pinned, or empty, if it asked for a pin.
        """
        self.tick()
        if freed:
            self._finish(request_id)
        answered = request_id if answers is None else answers
        if answered:
            self._admission.answered(answered, received=not aborted)
        self._arbitration.ending = request_id
        try:
            self._admission.hinted.finish(request_id, completed=completed and not aborted)
            reason = self._admission.pins.finish(request_id)
        finally:
            self._arbitration.ending = ""
        return {} if reason is None else {"pin": reason}

    def freed(self, request_id: str) -> None:
        """The blocks of a request that ended are free."""
        self.tick()
        self._finish(request_id)

    def undo_on_failure(self, act: Callable[..., object], *args: Any) -> None:
        """Call what decides on a request; if it fails, end the claims that it accepted.

        Their owners will not learn of these claims, and so could not release them.
        """
        self._admission.begin()
        try:
            act(*args)
        except Exception:
            self.fail()  # first, because the runtime may not end every claim
            self._admission.undo()
            raise

    @property
    def may_concern_claims(self) -> bool:
        """Whether a request that arrives now may concern a claim that came earlier."""
        return bool(self.claims) or self.preregistration.waiting

    def not_restored(self, request_id: str, claim_ids: tuple[str, ...]) -> Refusal:
        """The refusal of a request for which these live claims were not restored."""
        entries = [self._registry.live[claim_id] for claim_id in claim_ids]
        return Refusal(request_id, claim_ids, owners=owners_of(entries))

    @property
    def private(self) -> bool:
        """Whether a caller may not know the claims of others, because callers are authenticated."""
        return self._callers is not None

    # Claims.

    @property
    def claims(self) -> int:
        """How many claims are live."""
        return len(self._registry.live)

    @property
    def preregistration(self) -> Preregistration:
        """The claims that were registered ahead of their requests."""
        return self._admission.preregistration

    def note_routes(self, changed: Callable[[Entry], None]) -> None:
        """Requests are routed to this engine by its claims: accept claims of routed_reuse, too.

        Args:
            changed: called with each claim that begins, and with each that ends.
        """
        self._registry.take_routed(changed)

    def is_live(self, entry: Entry) -> bool:
        """Whether a claim has not ended."""
        return self._registry.live.get(entry.claim_id) is entry

    def routed(self, request_id: str, keys: Sequence[bytes], cost: int, worker: str) -> None:
        """A request is about to arrive that was routed to this engine for the claims on its prompt.

        Args:
            keys: the contents of the whole blocks of its prompt.
            cost: of the route, in the router's units.
            worker: the rank that the router chose.
        """
        self.tick()
        shared = self.tracker.watched.ledger.shared(keys)
        whole = [entry for entry, blocks in shared.items() if blocks == entry.footprint]
        self.tracker.placements.routed(request_id, whole, cost, worker)

    # The engine.

    def tick(self) -> None:
        """Read the clock, and end the claims whose duration or time to be there is over."""
        self._read_clock()
        self._admission.expire(TimeUnit.SECONDS)
        self._admission.resuming.expire()
        self._admission.demote_overdue()

    def start(self) -> None:
        """The engine is about to take requests: resume the claims of the engine before, once."""
        path, self._to_take = self._to_take, ""
        if not path or self._next_engine is None:
            return
        self.tick()
        try:
            content = take(path)
        except SpecError as error:
            LOG.error("resident-claims: no claim is resumed: %s", error)
            return
        if content is None:
            return
        for prompt in self._admission.resuming.resume(content):
            self._next_engine.restore(prompt)

    def save(self) -> None:
        """The engine stops in order: write the claims that outlive it."""
        self.tick()
        content = self._admission.resuming.content(self._admission.unanswered)
        if content is None:
            return
        try:
            save(self._resume, content)
            LOG.info("resident-claims: %d claims are to be resumed", len(content.claims))
        except SpecError as error:
            LOG.error("resident-claims: no claim will be resumed: %s", error)

    def close(self) -> None:
        """The engine shuts down: its requests end, and then all cached blocks are lost.

        Demotable claims are demoted before; any other claim that loses blocks is reported harmed.
        """
        self.tick()
        for request_id in self._arbitration.unfinished:
            self._finish(request_id)
        for entry in self._arbitration.demotable():
            self._end(entry, Kind.CLAIM_DEMOTED)
        self.tracker.after_reset(done=True)
        self.offloaded.lost(None)

    def leave(self) -> None:
        """The plugin leaves the engine: take no more calls, and leave the file to another one."""
        self.inbox.close()
        if self._lock is not None:
            self._lock.close()

    def _lock_file(self, engine: NextEngine | None) -> tuple[IO[bytes] | None, NextEngine | None]:
        """Lock the file of claims that outlive the engine; where that fails, none does."""
        if engine is None:
            return None, None
        try:
            return lock(self._resume), engine
        except SpecError as error:
            LOG.error("resident-claims: no claim outlives this engine: %s", error)
            return None, None

    def _read_clock(self) -> None:
        self._now[TimeUnit.SECONDS] = self._emitter.now_ns = self._clock()

    def fail(self) -> None:
        """Something was not observed: leave a gap in the stream."""
        self._emitter.gap()

    def _finish(self, request_id: str) -> None:
        self._arbitration.finish(request_id)
        self.offloaded.failed(request_id)  # a load that is still under way brings nothing back
        self.tracker.placements.ended(request_id)
        self._emitter.fact(Kind.REQUEST_FINISHED, request_id=name_of(request_id))

    def _with_scope(self, arrival: Arrival) -> Arrival:
        """The arrival with the scope of its authenticated caller.

        Only a request that asks for something uses up its proof.
        """
        if self._callers is None or not arrival.asks or arrival.scope is not None:
            return arrival
        asked = dict(zip(ACTIONS, arrival.actions, strict=True))
        return replace(arrival, scope=self._callers.scope_of(arrival.caller, asked))

    def _is_unfinished(self, request_id: str) -> bool:
        return self._arbitration.is_unfinished(request_id)

    def _end(self, entry: Entry, how: Kind) -> None:
        self._admission.end(entry, how)
