"""Makes vLLM's load balancer send a request to the data-parallel rank that has its claim.

In a process that answers HTTP, vLLM's client of the ranks chooses one for each request. This module
sets the request's own rank before, as the header X-data-parallel-rank does; a rank that the client
of the server chose stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.engine.core_client import DPLBAsyncMPClient

from runtime_hooks.engines.shared.refusals import RANK_FULL
from runtime_hooks.engines.shared.requests import metadata_of
from runtime_hooks.engines.shared.serving import Refused
from runtime_hooks.routing.router import TRIED, Asked, marked
from runtime_hooks.trace.faults import Faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.routing.router import Choice, Router

__all__ = ["route_by_claims"]

_MOVABLE: Final = ("prefix", "full", "elsewhere", "balancer")  # choices that name no claim


def route_by_claims(router: Router | None) -> Callable[[], None]:
    """Hook every client of ranks that is made from now on; returns a function that ends this."""
    if router is None:
        return lambda: None
    choose, add = DPLBAsyncMPClient.get_core_engine_for_request, AsyncLLM._add_request
    faults, whole = Faults(), set[str]()  # requests with one answer, while they are sent

    def routed(self: Any, request: Any) -> Any:
        tried = TRIED.get() if request.request_id in whole else None
        try:
            choice = _choice(self, router, request, tried)
        except Exception as fault:
            faults.note("get_core_engine_for_request", fault, effect="vLLM chooses the rank")
            choice = None
        if choice is None:
            return choose(self, request)
        if choice.refused:
            raise Refused({"refusal": {"reason": RANK_FULL, "rank": choice.rank}})
        request.data_parallel_rank = choice.rank
        try:
            engine = choose(self, request)
        finally:
            request.data_parallel_rank = None
        try:
            _sent(self, request, self.core_engines.index(engine), choice, tried)
        except Exception as fault:
            faults.note("get_core_engine_for_request", fault, effect="it states no route")
        return engine

    async def added(
        self: Any, request: Any, prompt: Any, parent_req: Any, *args: Any, **named: Any
    ) -> None:
        if parent_req is None:
            whole.add(request.request_id)
        try:
            await add(self, request, prompt, parent_req, *args, **named)
        except Refused:  # it never reached an engine, which would end it
            self.output_processor.abort_requests((request.request_id,), internal=True)
            raise
        finally:
            whole.discard(request.request_id)

    DPLBAsyncMPClient.get_core_engine_for_request = routed
    AsyncLLM._add_request = added

    def end() -> None:
        DPLBAsyncMPClient.get_core_engine_for_request = choose
        AsyncLLM._add_request = add

    return end


def _choice(client: Any, router: Router, request: Any, tried: list[int] | None) -> Choice | None:
    """The router's choice; None where the client of the server chose, or vLLM did before."""
    known = request.request_id in client.reqs_in_flight  # a session's next input
    _mark(request)
    if known or request.data_parallel_rank is not None:
        router.left(header=not known)
        return None

    def rank_of(request_id: str) -> int | None:
        engine = client.reqs_in_flight.get(request_id)
        return None if engine is None else client.core_engines.index(engine)

    waiting = [waiting for waiting, *_ in client.lb_engines]
    if tried:
        return router.elsewhere(waiting, tried)
    sampling = request.sampling_params
    params = ((sampling.extra_args if sampling else None) or {}).get("kv_transfer_params")
    asked = Asked(
        request.request_id,
        request.prompt_token_ids or (),
        request.cache_salt,
        request.lora_request.lora_name if request.lora_request else None,
        metadata_of(request.kv_hints, params),
    )
    return router.choose(asked, waiting, rank_of)


def _sent(client: Any, request: Any, rank: int, choice: Choice, tried: list[int] | None) -> None:
    """Count a request that goes to a rank by a choice, and give it the marks for the engine."""
    if choice.rank is not None:
        client.lb_engines[rank][0] += client.client_count  # as vLLM does where it chooses
    moves = False
    if tried is not None and choice.why in _MOVABLE:
        tried.append(rank)
        moves = len({*tried}) < len(client.core_engines)
    _mark(request, choice, elsewhere=moves)


def _mark(request: Any, choice: Choice | None = None, *, elsewhere: bool = False) -> None:
    """Give a request the marks for its engine, and take those away that are not the router's."""
    sampling = request.sampling_params
    if sampling is not None:
        sampling.extra_args = marked(sampling.extra_args, choice, elsewhere=elsewhere)
