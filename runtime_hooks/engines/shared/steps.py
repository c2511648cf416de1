"""Follows requests of vLLM through the scheduler, and carries out decisions on them."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace
from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason
from vllm.v1.request import RequestStatus

from runtime_hooks.claims.metadata import HINTS, RESUME, TRY
from runtime_hooks.engines.shared.refusals import METADATA, as_metadata
from runtime_hooks.engines.shared.requests import arrival_of, bounded_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.claims.arrivals import Refusal
    from runtime_hooks.controller.controller import Controller
    from runtime_hooks.engines.shared.attachment import HookedScheduler
    from runtime_hooks.engines.shared.blocks import BlockHooks
    from runtime_hooks.engines.shared.pool import VllmPool
    from runtime_hooks.engines.shared.wraps import Wraps

__all__ = ["StepHooks"]

_ACCEPTED: Final = {"decision": "accepted"}
_FITS: Final = {"decision": "fits"}
_RESUMES: Final = {
    "after_an_orderly_stop": "another claim follows, which waits for its prefix",
    "after_a_crash": "no promise",
}
_PARENTS: Final = 1024  # requests with several answers that are remembered
_PART: Final = re.compile(r"\d+_(.+)", re.DOTALL)


class _FirstPart(NamedTuple):
    """The first of the requests that vLLM makes of one: its id, metadata, scope and answers.

    `hints` is the answer to its KV hints, `unfinished` are the parts that arrived and have not
    ended, this one among them.
    """

    request_id: str
    metadata: Any
    scope: str | None
    answers: dict[str, str]
    unfinished: set[str]
    hints: dict[str, Any] | None


class StepHooks:
    """The hooks on one scheduler.

    `refused_late` are refusals of the step that is being scheduled. `before_output` is set by the
    hooks on offloading, `step_computed` by those on loads. `keeps_blocks` is set by either, and
    says whether the blocks of a request that ends stay in use; then `freed` follows. `arrives` and
    `ends` are called with each request before what came with it is decided on; `goes_elsewhere`
    says whether a request that does not fit is sent to another rank.
    """

    def __init__(self, scheduler: Any, blocks: BlockHooks) -> None:
        self._scheduler, self._blocks = scheduler, blocks
        self._kept_waiting: set[str] = set()  # requests that the scheduler skips
        self._to_refuse: dict[str, Refusal] = {}  # in the next step, by request
        self._refused: list[tuple[Any, dict[str, Any]]] = []  # requests without an output yet
        self._notes: dict[str, dict[str, Any]] = {}  # answers for the last output, by request
        self._aborted: set[str] = set()  # by their clients, until their end is reported
        self._failed: set[str] = set()  # requests that were refused or ended by an error, likewise
        self._ended: list[str] = []  # requests with notes that ended since the last output
        self._keep_blocks: set[str] = set()  # requests that ended, and whose blocks are in use
        self._parents: OrderedDict[str, _FirstPart] = OrderedDict()
        self.refused_late: list[Refusal] = []
        self.step_computed: Callable[[Any, Any], None] = lambda step, _: blocks.computed(step)
        self.before_output: Callable[[Any], None] = lambda output: None
        self.keeps_blocks: Callable[[Any], bool] = lambda request: False
        self.arrives: Callable[[Any], None] = lambda request: None
        self.ends: Callable[[Any], None] = lambda request: None
        self.goes_elsewhere: Callable[[Any], bool] = lambda request: False

    def install(
        self, controller: Controller, wraps: Wraps, pool: VllmPool, attachment: HookedScheduler
    ) -> None:
        """Wrap the methods."""
        self._controller, self._wraps, self._pool = controller, wraps, pool
        self._attachment = attachment
        wraps.put(self._scheduler, "add_request", self._add_request)
        wraps.put(self._scheduler, "schedule", self._schedule)
        wraps.put(self._scheduler, "_handle_blocked_waiting_request", self._handle_blocked)
        wraps.put(self._scheduler, "update_from_output", self._update_from_output)
        wraps.put(self._scheduler, "_free_request", self._free_request)

    # A request arrives.

    def _add_request(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        def add_request(request: Any) -> None:
            self._wraps.attempt("add_request", self._controller.start)
            known = request.request_id in self._scheduler.requests  # a session's next input
            call(request)
            if not known:
                arrive = self._controller.undo_on_failure
                self._wraps.attempt("add_request", arrive, self._arrive, request)

        return add_request

    def _arrive(self, request: Any) -> None:
        self.arrives(request)
        claims = self._controller.may_concern_claims
        arrival = arrival_of(request, self._scheduler, self._blocks.groups.lead, claims=claims)
        if self.goes_elsewhere(request):
            arrival = replace(arrival, elsewhere=True)
        first = self._first_part(request)
        if first is not None:
            done = dict.fromkeys(("claim", "release", "renewal", "trial", "mode_change", "hints"))
            arrival = replace(arrival, **done, scope=first.scope)
        decision = self._controller.arrive(arrival)
        if not decision.runs:
            self._kept_waiting.add(request.request_id)
        self._bound(request, decision.bound)
        if decision.refusal is not None:
            self._to_refuse[request.request_id] = decision.refusal
        if arrival.no_admit:
            self._blocks.not_admitted.add(request.request_id)
        answers, hints = decision.answers, decision.hints
        if first is None and (answers or hints):
            once = {k: v for k, v in answers.items() if k != "pin"}
            params, name = request.kv_transfer_params, request.request_id
            self._remember(request, _FirstPart(name, params, decision.scope, once, {name}, hints))
        elif first is not None:
            first.unfinished.add(request.request_id)
            hints = first.hints
        self._note(request.request_id, {**(first.answers if first else {}), **answers})
        if hints is not None:
            self._notes.setdefault(request.request_id, {})[HINTS] = hints

    def _bound(self, request: Any, blocks: int) -> None:
        """Bound the output of a request, so that it uses no more than these blocks; 0 bounds
        nothing.
        """
        if blocks and request is not None:
            request.max_tokens = bounded_tokens(request, self._scheduler, blocks)
            bounded = {"max_tokens": request.max_tokens}
            self._notes.setdefault(request.request_id, {})["bounded"] = bounded

    def _first_part(self, request: Any) -> _FirstPart | None:
        """The first part of this request; None where it has none.

        vLLM makes several requests of one that asks for several answers, each with the same
        metadata: only the first of them claims and releases.
        """
        if not self._parents:
            return None
        parent, metadata = _parent_of(request), request.kv_transfer_params
        known = self._parents.get(parent) if parent else None
        return known if known is not None and known.metadata == metadata else None

    def _remember(self, request: Any, part: _FirstPart) -> None:
        if parent := _parent_of(request):
            self._parents[parent] = part
            if len(self._parents) > _PARENTS:
                self._parents.popitem(last=False)

    def _answers(self, request_id: str) -> str | None:
        """Whose answer the end of a request is: its own (None), or that of the first part where it
        is the last part to end; empty where it is another part.

        vLLM answers a request with several parts once, when the last of them has ended.
        """
        first = self._parents.get(_parent(request_id)) if self._parents else None
        if first is None or request_id not in first.unfinished:
            return None
        first.unfinished.discard(request_id)
        return "" if first.unfinished else first.request_id

    def _note(self, request_id: str, answers: dict[str, str]) -> None:
        """Keep the answers to what came with a request for its response."""
        for what, reason in answers.items():
            well = _FITS if what == TRY else _ACCEPTED
            decision = {"decision": "rejected", "reason": reason} if reason else well
            if what == RESUME:
                decision = {"how": reason, **_RESUMES}
            self._notes.setdefault(request_id, {})[what] = decision

    # A step is scheduled.

    def _schedule(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def schedule(*args: Any, **named: Any) -> Any:
            if self._wraps.dirty and self._leave():
                return call(*args, **named)
            self._wraps.attempt("schedule", self._begin_step)
            self._wraps.attempt("schedule", self._controller.restate_if_due)
            output = call(*args, **named)
            if self._blocks.no_room is not None and not output.total_num_scheduled_tokens:
                about = (None, self._refuse_stuck, self._blocks.no_room)
                self._wraps.instead("schedule", *about)
            self._wraps.attempt("schedule", self._blocks.scheduled, output)
            while self.refused_late:
                self._wraps.attempt("schedule", self.refuse, self.refused_late.pop())
            return output

        return schedule

    def _leave(self) -> bool:
        """Disarm the plugin if a fault makes that necessary, or tidy up; returns whether it did.

        Requests that were refused are answered before that.
        """
        if self._wraps.given_up and not self._refused:
            self._attachment.detach(wait=False)
            return True
        self._wraps.dirty = bool(self._wraps.given_up)
        self._wraps.instead("schedule", None, self._tidy)
        return False

    def _tidy(self) -> None:
        """Free the blocks that a fault left excluded on behalf of nobody."""
        self._pool.keep_only(self._controller.tracker.excluded)

    def _begin_step(self) -> None:
        try:
            run, refusals = self._controller.begin_step()
            for request_id in run:
                bound = self._controller.bound_of(request_id)
                self._bound(self._scheduler.requests.get(request_id), bound)
            self._kept_waiting.difference_update(run)
            refusals = [*self._to_refuse.values(), *refusals]
            for refusal in refusals:
                self.refuse(refusal)
        except Exception:
            self._kept_waiting.clear()  # nothing else would ever let them run
            raise
        finally:
            self._to_refuse.clear()

    def _handle_blocked(self, call: Callable[[Any], bool]) -> Callable[[Any], bool]:
        def handle_blocked_waiting_request(request: Any) -> bool:
            return request.request_id not in self._kept_waiting and call(request)

        return handle_blocked_waiting_request

    def _refuse_stuck(self, request_id: str) -> None:
        """Refuse a request that would wait for ever: it got no blocks, and only claims use any."""
        scheduler = self._scheduler
        used = scheduler.running or scheduler.kv_holding_waiting or scheduler.deferred_frees
        request = scheduler.requests.get(request_id)
        if used or request is None or len(scheduler.requests) > len(scheduler.waiting):
            return
        group = self._blocks.groups.lead
        refusal = self._controller.stuck(arrival_of(request, scheduler, group, claims=True))
        if refusal is not None:
            self.refuse(refusal)
        elif self._controller.faults.counts:
            self._wraps.give_up(f"{request_id} gets no blocks after a fault")
            self._wraps.dirty = True

    def refuse(self, refusal: Refusal) -> None:
        """End a request whose refusal was reported; its client receives the refusal with the next
        output.
        """
        request = self._scheduler.requests.get(refusal.request_id)
        if request is not None:
            why = as_metadata(refusal, private=self._controller.private)
            self._refused.append((request, why))
            self._scheduler.finish_requests(refusal.request_id, RequestStatus.FINISHED_ABORTED)
            self._note_parts(_parent_of(request), why)

    def _note_parts(self, parent: str, why: dict[str, Any]) -> None:
        """Add a refusal to the other parts of a request: the notes of the last to end are read."""
        for request_id, request in self._scheduler.requests.items() if parent else ():
            if _parent_of(request) == parent and not request.is_finished():
                self._notes.setdefault(request_id, {})["refusal"] = why

    # A request ends.

    def _free_request(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def free_request(request: Any, *args: Any, **named: Any) -> Any:
            freed = call(request, *args, **named)
            self._wraps.attempt("_free_request", self._freed, request)
            return freed

        return free_request

    def _freed(self, request: Any) -> None:
        self.ends(request)
        self._kept_waiting.discard(request.request_id)
        self._to_refuse.pop(request.request_id, None)
        self._blocks.not_admitted.discard(request.request_id)
        refused = any(each is request for each, _ in self._refused)
        if refused or request.status is RequestStatus.FINISHED_ERROR:
            self._failed.add(request.request_id)
        elif request.status is RequestStatus.FINISHED_ABORTED and not _may_have_stopped(request):
            self._aborted.add(request.request_id)
        if self.keeps_blocks(request):
            self._keep_blocks.add(request.request_id)
        about = (self._controller.undo_on_failure, self._finish, request.request_id)
        self._wraps.attempt("_free_request", *about)

    def freed(self, request_id: str) -> None:
        """The blocks of a request are free; it may have ended before."""
        if request_id in self._keep_blocks:
            self._keep_blocks.discard(request_id)
            self._controller.freed(request_id)

    def _finish(self, request_id: str) -> None:
        aborted, completed = request_id in self._aborted, request_id not in self._failed
        self._aborted.discard(request_id)
        self._failed.discard(request_id)
        finish, answers = self._controller.finish, self._answers(request_id)
        how = {"aborted": aborted, "completed": completed}
        how["freed"] = request_id not in self._keep_blocks
        self._note(request_id, finish(request_id, **how, answers=answers))
        if request_id in self._notes:
            self._ended.append(request_id)

    # Its last output leaves the engine.

    def _update_from_output(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def update_from_output(scheduler_output: Any, model_runner_output: Any) -> Any:
            about = (scheduler_output, model_runner_output)
            self._wraps.attempt("update_from_output", self.step_computed, *about)
            self._wraps.attempt("update_from_output", self.before_output, model_runner_output)
            outputs = call(scheduler_output, model_runner_output)
            if self._refused or self._notes:
                self._wraps.attempt("update_from_output", self._answer, outputs)
            self._end_refused(outputs)
            if self._wraps.given_up:
                self._leave()
            return outputs

        return update_from_output

    def _answer(self, outputs: dict[int, Any]) -> None:
        """Add the notes to last outputs."""
        for outs in outputs.values():
            for out in outs.outputs:
                if out.finish_reason is not None and out.request_id in self._notes:
                    note = {METADATA: self._with_epoch(self._notes.pop(out.request_id))}
                    out.kv_transfer_params = {**(out.kv_transfer_params or {}), **note}

    def _end_refused(self, outputs: dict[int, Any]) -> None:
        """Give refused requests their only output, whatever fails."""
        while self._refused:
            request, why = self._refused.pop()
            outs = outputs.setdefault(request.client_index, EngineCoreOutputs())
            bare = EngineCoreOutput(request.request_id, [], finish_reason=FinishReason.ABORT)
            about = (bare, self._refusal_output, request, why)
            outs.outputs.append(self._wraps.instead("update_from_output", *about))
        while self._ended:  # an aborted request has no output
            self._notes.pop(self._ended.pop(), None)

    def _refusal_output(self, request: Any, why: dict[str, Any]) -> EngineCoreOutput:
        note = self._with_epoch({**self._notes.get(request.request_id, {}), "refusal": why})
        return EngineCoreOutput(
            request_id=request.request_id,
            new_token_ids=[],
            finish_reason=FinishReason.ABORT,
            stop_reason=why["reason"],
            events=request.take_events(),
            kv_transfer_params={METADATA: note},
            trace_headers=request.trace_headers,
        )

    def _with_epoch(self, note: dict[str, Any]) -> dict[str, Any]:
        """An answer with the epoch of the engine: what it says holds as long as the engine."""
        return {"epoch": self._controller.epoch, **note}


def _may_have_stopped(request: Any) -> bool:
    """Whether the front end may have aborted a request because it found a stop string."""
    params = request.sampling_params
    return params is not None and bool(params.stop)


def _parent_of(request: Any) -> str:
    """The id of the request that this one is a part of; empty where it is not a part."""
    return _parent(request.request_id)


def _parent(request_id: str) -> str:
    part = _PART.fullmatch(request_id)
    return part[1] if part else ""
