"""A tiny real engine with a view of its own pool, and of the end of its trace."""

from __future__ import annotations

import gc
from contextlib import AbstractContextManager
from typing import Any, Final
from unittest.mock import patch

from vllm.v1.core import kv_cache_utils
from vllm.v1.request import Request

from runtime_hooks.demo.engine import Asked, sampling
from runtime_hooks.demo.engine import Engine as DemoEngine
from runtime_hooks.demo.tiny import tokens
from spec.events.canonical import Event

__all__ = ["Engine", "freeze", "unchecked"]

_COLLECTED_EVERY: Final = 16  # engines; one that has ended leaves some megabytes
_unfreeze = gc.unfreeze  # tests replace it


def freeze(turn: int) -> None:
    """Exclude from garbage collection what is there before an engine; collect at some turns.

    An engine has everything collected seven times in its life. With torch and vLLM imported, that
    takes most of the time of a test.
    """
    if turn % _COLLECTED_EVERY == 0:
        _unfreeze()
        gc.collect()
    gc.freeze()


def unchecked() -> AbstractContextManager[object]:
    """vLLM starts although the pool does not hold one request of the whole context."""
    return patch.object(kv_cache_utils, "_check_enough_kv_cache_memory", lambda *given: None)


class Engine(DemoEngine):
    """One hooked engine, and its trace."""

    @property
    def pool(self) -> Any:
        """The block pool."""
        return self.core.scheduler.kv_cache_manager.block_pool

    def cached(self, name: str, blocks: int) -> list[bool]:
        """Which blocks of a prompt are cached in the engine's own pool."""
        probe = self.request((name, blocks))
        return [self.pool.get_cached_block(h, [0]) is not None for h in probe.block_hashes]

    def request(self, asked: Asked) -> Request:
        """A request as the engine's core takes it."""
        name, blocks, *rest = asked
        hasher = self.core.request_block_hasher
        return Request(name, tokens(name, blocks), sampling(*rest), None, block_hasher=hasher)

    def ending(self) -> list[Event]:
        """The events of the shutdown."""
        return [event for event in self._events() if (event.sequence or 0) >= self._ending]
