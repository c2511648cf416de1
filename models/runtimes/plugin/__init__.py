"""The plugin of this project in vLLM: what its controller does with claims and requests."""

from __future__ import annotations

from models.runtimes.plugin.model import TAKES, VARIANTS

__all__ = ["TAKES", "VARIANTS"]
