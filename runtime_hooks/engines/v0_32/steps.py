"""What vLLM 0.32 does with requests: they arrive, wait, are served or refused, and end."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace
from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason
from vllm.v1.request import RequestStatus

from runtime_hooks.engines.v0_32.engine import arrival_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.custody.keeper import Keeper
    from runtime_hooks.engines.v0_32.blocks import BlockHooks
    from runtime_hooks.engines.v0_32.wraps import Wraps
    from runtime_hooks.requests.arrivals import Refusal

__all__ = ["METADATA", "RESTORE_REASON", "STOP_REASON", "StepHooks"]

STOP_REASON: Final = "protected_resident_capacity_refused"
"""The stop reason of a request that was refused for want of room beside claims."""

RESTORE_REASON: Final = "claim_restoration_failed"
"""The stop reason of a request that was refused because a claim's blocks did not come back."""

METADATA: Final = "resident_claims"
"""The key, in the response's `kv_transfer_params`, of what became of the request's claim."""


class _Part(NamedTuple):
    """A request in parts, as its first one came: what with, from whom, and the answers to that."""

    metadata: Any
    scope: str | None
    answers: dict[str, str]


class StepHooks:
    """The hooks on one scheduler."""

    def __init__(self, scheduler: Any, blocks: BlockHooks) -> None:
        self._scheduler, self._blocks = scheduler, blocks
        self._put_off: set[str] = set()
        self._refused: list[tuple[Any, dict[str, Any]]] = []
        self._notes: dict[str, dict[str, Any]] = {}  # by request, for its last output
        self.late: list[Refusal] = []  # of the step that is being scheduled
        self._done: list[str] = []  # requests that ended since the last output, with notes
        self._parents: OrderedDict[str, _Part] = OrderedDict()
        self.before_output: Callable[[Any], None] = lambda output: None
        self.still_loads: Callable[[Any], bool] = lambda request: False

    def install(self, keeper: Keeper, wraps: Wraps) -> None:
        """Wrap the methods."""
        self._keeper, self._wraps = keeper, wraps
        wraps.put(self._scheduler, "add_request", self._add_request)
        wraps.put(self._scheduler, "schedule", self._schedule)
        wraps.put(self._scheduler, "_handle_blocked_waiting_request", self._handle_blocked)
        wraps.put(self._scheduler, "update_from_output", self._update_from_output)
        wraps.put(self._scheduler, "_free_request", self._free_request)

    # Requests.

    def _add_request(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        def add_request(request: Any) -> None:
            known = request.request_id in self._scheduler.requests  # a session's next input
            call(request)
            if not known:
                self._wraps.attempt("add_request", self._keeper.answer, self._arrive, request)

        return add_request

    def _arrive(self, request: Any) -> None:
        arrival = arrival_of(request, self._scheduler, claims=self._keeper.awaits)
        first = self._first_part(request)
        if first is not None:
            arrival = replace(arrival, claim=None, release=None, scope=first.scope)
        arrival = self._keeper.identified(arrival)
        fits, answers = self._keeper.arrive(arrival)
        if not fits:
            self._put_off.add(request.request_id)
        if arrival.no_admit:
            self._blocks.not_admitted.add(request.request_id)
        if first is None and answers:
            once = {k: v for k, v in answers.items() if k != "pin"}
            self._remember(request, _Part(request.kv_transfer_params, arrival.scope, once))
        self._note(request.request_id, {**(first.answers if first else {}), **answers})

    def _first_part(self, request: Any) -> _Part | None:
        """vLLM makes several requests of one that asks for several answers, each with the same
        metadata: the first of them.
        """
        if not self._parents:
            return None
        parent, metadata = _parent_of(request), request.kv_transfer_params
        known = self._parents.get(parent) if parent else None
        return known if known is not None and known.metadata == metadata else None

    def _remember(self, request: Any, part: _Part) -> None:
        if parent := _parent_of(request):
            self._parents[parent] = part
            if len(self._parents) > _PARENTS:
                self._parents.popitem(last=False)

    def _note(self, request_id: str, answers: dict[str, str]) -> None:
        """What the response will say of what came with the request."""
        for what, reason in answers.items():
            decision = {"decision": "rejected", "reason": reason} if reason else _ACCEPTED
            self._notes.setdefault(request_id, {})[what] = decision

    def end(self, request_id: str, hook: str) -> None:
        """A request has ended, whatever way, which was seen at a hook."""
        self._wraps.attempt(hook, self._keeper.answer, self._ended, request_id)

    def _ended(self, request_id: str) -> None:
        self._note(request_id, self._keeper.finish(request_id))
        if request_id in self._notes:
            self._done.append(request_id)

    def _handle_blocked(self, call: Callable[[Any], bool]) -> Callable[[Any], bool]:
        def handle_blocked_waiting_request(request: Any) -> bool:
            return request.request_id not in self._put_off and call(request)

        return handle_blocked_waiting_request

    def _free_request(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def free_request(request: Any, *args: Any, **named: Any) -> Any:
            freed = call(request, *args, **named)
            self._put_off.discard(request.request_id)
            self._blocks.not_admitted.discard(request.request_id)
            if not self.still_loads(request):
                self.end(request.request_id, "_free_request")
            return freed

        return free_request

    # Steps.

    def _schedule(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def schedule(*args: Any, **named: Any) -> Any:
            self._wraps.attempt("schedule", self._decide)
            output = call(*args, **named)
            if self._blocks.no_room is not None and not output.total_num_scheduled_tokens:
                self._wraps.attempt("schedule", self._unblock, self._blocks.no_room)
            self._blocks.scheduled(output)
            while self.late:
                self._wraps.attempt("schedule", self.refuse, self.late.pop())
            return output

        return schedule

    def _decide(self) -> None:
        try:
            fit, refused = self._keeper.decide()
        except Exception:
            self._put_off.clear()  # nobody else would ever let them go
            raise
        self._put_off.difference_update(fit)
        for refusal in refused:
            self.refuse(refusal)

    def _unblock(self, request_id: str) -> None:
        """Nothing is scheduled, and this request found no room: where nobody uses blocks but claims
        it would wait for ever.
        """
        scheduler = self._scheduler
        used = scheduler.running or scheduler.kv_holding_waiting or scheduler.deferred_frees
        request = scheduler.requests.get(request_id)
        if used or request is None or len(scheduler.requests) > len(scheduler.waiting):
            return
        refusal = self._keeper.stuck(arrival_of(request, scheduler, claims=True))
        if refusal is not None:
            self.refuse(refusal)

    def refuse(self, refusal: Refusal) -> None:
        """End a request whose refusal has been reported; its client is told with the next step."""
        request = self._scheduler.requests.get(refusal.request_id)
        if request is not None:
            why = _why(refusal)
            self._refused.append((request, why))
            self._scheduler.finish_requests(refusal.request_id, RequestStatus.FINISHED_ABORTED)
            self._tell_parts(_parent_of(request), why)

    def _tell_parts(self, parent: str, why: dict[str, Any]) -> None:
        """Of a request for several answers the last part to end is the one whose notes are read."""
        for request_id, request in self._scheduler.requests.items() if parent else ():
            if _parent_of(request) == parent and not request.is_finished():
                self._notes.setdefault(request_id, {})["refusal"] = why

    def _update_from_output(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def update_from_output(scheduler_output: Any, model_runner_output: Any) -> Any:
            self._wraps.attempt("update_from_output", self._blocks.computed, scheduler_output)
            self._wraps.attempt("update_from_output", self.before_output, model_runner_output)
            outputs = call(scheduler_output, model_runner_output)
            if self._refused or self._notes:
                self._wraps.attempt("update_from_output", self._answer, outputs)
            return outputs

        return update_from_output

    def _answer(self, outputs: dict[int, Any]) -> None:
        """Give refused requests their only output, and say in others what became of the claim."""
        for outs in outputs.values():
            for out in outs.outputs:
                if out.finish_reason is not None and out.request_id in self._notes:
                    note = {METADATA: self._notes.pop(out.request_id)}
                    out.kv_transfer_params = {**(out.kv_transfer_params or {}), **note}
        while self._refused:
            request, why = self._refused.pop()
            outs = outputs.setdefault(request.client_index, EngineCoreOutputs())
            outs.outputs.append(self._refusal(request, why))
        while self._done:  # an aborted request has no output
            self._notes.pop(self._done.pop(), None)

    def _refusal(self, request: Any, why: dict[str, Any]) -> EngineCoreOutput:
        note = {**self._notes.get(request.request_id, {}), "refusal": why}
        return EngineCoreOutput(
            request_id=request.request_id,
            new_token_ids=[],
            finish_reason=FinishReason.ABORT,
            stop_reason=why["reason"],
            events=request.take_events(),
            kv_transfer_params={METADATA: note},
            trace_headers=request.trace_headers,
        )


def _why(refusal: Refusal) -> dict[str, Any]:
    """What the client is told of a refusal."""
    proof = refusal.proof
    why: dict[str, Any] = {
        "reason": RESTORE_REASON if proof is None else STOP_REASON,
        "blocking_claim_ids": list(refusal.blocking_claim_ids),
    }
    if proof is not None:
        why["proof"] = {name: getattr(proof, name) for name in proof.__struct_fields__}
    return why


def _parent_of(request: Any) -> str:
    """Of which request this one is a part; empty where it is one by itself."""
    part = _PART.fullmatch(request.request_id)
    return part[1] if part else ""


_ACCEPTED: Final = {"decision": "accepted"}
_PARENTS: Final = 1024  # requests in parts that are remembered
_PART: Final = re.compile(r"\d+_(.+)", re.DOTALL)
