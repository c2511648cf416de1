"""The model of the block pool is vLLM's own pool: the same blocks, queue and order of look-ups."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from vllm import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core import kv_cache_utils
from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.request import Request

from models.framework.blocks import filed
from models.framework.model import Action
from models.runtimes.vllm_pool import Prompt, State, VllmPool

BLOCK = 4


class Real:
    """vLLM's cache manager, without an engine, driven by the actions of the model.

    Args:
        blocks: usable blocks; vLLM has the null block besides.
        prompts: the requests of the model.
    """

    def __init__(self, blocks: int, prompts: list[Prompt]) -> None:
        kv_cache_utils.init_none_hash(sha256)
        hasher = kv_cache_utils.get_request_block_hasher(BLOCK, sha256)
        spec = FullAttentionSpec(BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32)
        config = KVCacheConfig(blocks + 1, [], [KVCacheGroupSpec(["layer"], spec)])
        self.manager = KVCacheManager(config, 1_000, BLOCK, BLOCK)
        self.pool = self.manager.block_pool
        self.requests: dict[str, Request] = {}
        self.contents: dict[bytes, tuple[str, int]] = {}
        numbers: dict[tuple[str, int], int] = {}
        for each in prompts:
            parts = (each.object_id, each.shared), (each.request_id, each.own)
            contents = [(name, at) for name, size in parts for at in range(size)]
            whole = [numbers.setdefault(one, len(numbers)) for one in contents]
            tokens = [number for number in whole for _ in range(BLOCK)] + [0] * each.tail
            made = Request(
                each.request_id, tokens, SamplingParams(max_tokens=1), None, block_hasher=hasher
            )
            self.requests[each.request_id] = made
            self.contents.update(zip(made.block_hashes, contents, strict=True))

    def take(self, action: Action) -> None:
        """Do what the model does."""
        request = self.requests[str(action.what[0])]
        if action.name == "admit":
            found, hit, _ = self.manager.get_computed_blocks(request)
            assert self.manager.allocate_slots(request, request.num_tokens - hit, hit, found)
        elif action.name == "finish":
            self.manager.free(request)

    def state(self, running: list[str]) -> tuple[Any, ...]:
        """The free queue, the blocks of requests, and those of each content, the first first."""
        queue = self.pool.free_block_queue.get_all_free_blocks()
        used = {name: self.manager.get_block_ids(name)[0] for name in running}
        filed: dict[tuple[str, int], list[int]] = {}
        for key, held in self.pool.cached_block_hash_to_block._cache.items():
            content = self.contents[kv_cache_utils.get_block_hash(key)]
            blocks = held if isinstance(held, dict) else {held.block_id: held}
            filed[content] = [block - 1 for block in blocks]
        return (
            [block.block_id - 1 for block in queue],
            {name: [block - 1 for block in blocks] for name, blocks in used.items()},
            filed,
        )


def modelled(state: State) -> tuple[Any, ...]:
    """The same of a state of the model."""
    used = {name: list(blocks) for name, blocks in state.running}
    return list(state.free), used, filed(state.cached, state.again)


def made(source: random.Random) -> list[Prompt]:
    """Prompts on two objects, many of which end with a block that another one has."""
    prompts = []
    for number in range(source.randint(1, 14)):
        shared, own = source.randint(0, 3), source.choice((0, 0, 1))
        tail = source.choice((0, 0, 1)) if shared + own else 1
        name = source.choice("ab")
        prompts.append(Prompt(f"r{number}", name, shared, own, tail, exact=not tail))
    return prompts


@pytest.mark.parametrize("seed", range(200))
def test_same(seed: int) -> None:
    """In random runs, in which several blocks hold one content, each state is that of vLLM."""
    source = random.Random(seed)
    blocks, prompts = source.randint(4, 9), made(source)
    model, real = VllmPool(blocks, tuple(prompts), {}), Real(blocks, prompts)
    (state,) = model.initial()
    while actions := list(model.actions(state)):
        action = source.choice(actions)
        state = model.apply(state, action).state
        real.take(action)
        assert modelled(state) == real.state([name for name, _ in state.running])
