"""The plugin of this project in vLLM: what its controller does with claims and requests."""

from __future__ import annotations

from models.runtimes.plugin.model import TAKES, VARIANTS
from models.runtimes.plugin.of_trace import INSTANCES
from models.runtimes.plugin.of_trace import plugins_of as OF_TRACE

__all__ = ["INSTANCES", "OF_TRACE", "TAKES", "VARIANTS"]
