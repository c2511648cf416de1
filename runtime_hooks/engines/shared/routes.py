"""Notes the claims of a data-parallel rank for the processes that route requests to it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from runtime_hooks.claims.qualified import untried
from runtime_hooks.engines.shared.requests import keys_of
from runtime_hooks.routing.prefix import prefixes_of
from runtime_hooks.routing.router import goes_elsewhere, route_in
from spec.claims.states import Mode

if TYPE_CHECKING:
    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.controller.controller import Controller
    from runtime_hooks.engines.shared.steps import StepHooks
    from runtime_hooks.routing.routes import Prefix, RouteLog

__all__ = ["ClaimRoutes"]


class ClaimRoutes:
    """The routes to the claims of one engine.

    The tokens of a claim are those of the request that it came with, if the engine's own keys of
    that request are the claim's. The claim that follows another one by a renewal has its prefix. A
    claim whose tokens are not known has a route by its id alone.

    Args:
        size: of a block, in tokens.
        group: of caches, in which the keys of claims are.
    """

    def __init__(self, size: int, group: int, log: RouteLog) -> None:
        self._size, self._group, self._log = size, group, log
        self._request: Any = None
        self._prefixes: dict[bytes, Prefix] = {}  # of live claims, by their last key
        self._uses: Counter[bytes] = Counter()

    def install(self, controller: Controller, steps: StepHooks) -> None:
        """Follow the claims, and the requests that were routed by them."""
        self._controller = controller
        steps.arrives, steps.ends = self._arrives, self._ended
        steps.goes_elsewhere = lambda request: goes_elsewhere(_extra(request))
        controller.note_routes(self._changed)

    def _arrives(self, request: Any) -> None:
        self._request = request
        route = route_in(_extra(request))
        if route is not None and self._controller.claims:
            keys = keys_of(request, request.num_prompt_tokens, self._size, self._group)
            self._controller.routed(request.request_id, keys, *route)

    def _ended(self, request: Any) -> None:
        self._request = request

    def _changed(self, entry: Entry) -> None:
        try:
            (self._begins if self._controller.is_live(entry) else self._ends)(entry)
        except Exception as fault:
            self._controller.faults.note("routes", fault, effect="a claim has no route")

    def _begins(self, entry: Entry) -> None:
        key = entry.keys[-1]
        if (prefix := self._prefixes.get(key) or self._of_request(entry)) is not None:
            self._prefixes[key] = prefix
        self._uses[key] += 1
        routed = entry.claim.protection_mode is Mode.ROUTED_REUSE
        self._log.begin(untried(entry.claim_id), prefix, routed=routed)

    def _ends(self, entry: Entry) -> None:
        key = entry.keys[-1]
        self._uses[key] -= 1
        if not self._uses[key]:
            del self._uses[key]
            self._prefixes.pop(key, None)
        self._log.end(untried(entry.claim_id))

    def _of_request(self, entry: Entry) -> Prefix | None:
        """The prefix of a claim that came with the present request; None where it did not."""
        request, length = self._request, len(entry.keys) * self._size
        if request is None or request.prompt_token_ids is None:
            return None
        if keys_of(request, length, self._size, self._group)[-1:] != [entry.keys[-1]]:
            return None
        adapter = request.lora_request.lora_name if request.lora_request else None
        tokens = request.prompt_token_ids
        return next(prefixes_of(tokens, [length], request.cache_salt, adapter), None)


def _extra(request: Any) -> Any:
    """The extra arguments of a request, where a router puts its marks."""
    return request.sampling_params.extra_args if request.sampling_params is not None else None
