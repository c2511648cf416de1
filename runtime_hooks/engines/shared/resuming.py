"""Says which claims can outlive a vLLM engine, and loads the prompts of those that did."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.engines.shared.engine import connector_of, identity_of
from runtime_hooks.engines.shared.requests import request_of

if TYPE_CHECKING:
    from runtime_hooks.claims.arrivals import Prompt
    from runtime_hooks.engines.shared.wraps import Wraps

__all__ = ["VllmNextEngine"]

_OUTLIVING: Final = ("ExampleConnector",)
"""The connectors whose tier outlives the process, of those that were tried."""

_MORE: Final = (0, 0)
"""Tokens after the prefix: a hit leaves one to compute, and ExampleConnector one more."""


class VllmNextEngine:
    """One engine (`runtime_hooks.controller.resuming.NextEngine`)."""

    def __init__(self, scheduler: Any) -> None:
        self._scheduler = scheduler
        self._numbers = count()
        config = scheduler.vllm_config
        identity = identity_of(scheduler).model_dump(exclude_none=True, exclude={"namespace"})
        self.cache = {
            **{name: str(value) for name, value in identity.items()},
            "dtype": str(config.model_config.dtype),
            "tensor_parallel_size": str(config.parallel_config.tensor_parallel_size),
        }
        self.tier = connector_of(config) in _OUTLIVING

    def install(self, wraps: Wraps) -> None:
        """Have faults noted."""
        self._wraps = wraps

    def restore(self, prompt: Prompt) -> None:
        """Have the engine load the blocks of a prompt, if its tier has them all: by a request that
        nobody waits for, whose output vLLM drops.
        """
        self._wraps.attempt("restore", self._restore, prompt)

    def _restore(self, prompt: Prompt) -> None:
        scheduler, tokens = self._scheduler, [*prompt.token_ids, *_MORE]
        if len(tokens) >= scheduler.max_model_len:
            return
        request = request_of(
            scheduler, f"resident-claims:resume:{next(self._numbers)}", tokens, prompt.salt
        )
        found, _ = scheduler.connector.get_num_new_matched_tokens(request, 0)
        if found is not None and found >= len(prompt.token_ids):
            scheduler.add_request(request)
