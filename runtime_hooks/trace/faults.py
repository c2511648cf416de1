"""Counts the exceptions of hooks and logs the first of each kind; none reaches the engine.

Where the plugin is required and is not armed, that ends the start of the engine: `not_armed`.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

from runtime_hooks.settings.switch import REQUIRE, required

__all__ = ["LOG", "Faults", "NotArmed", "not_armed"]

LOG: Final = logging.getLogger("vllm.resident_claims")
"""A child of vLLM's logger, so that messages appear among the engine's own."""

_EFFECT: Final = "verdicts on the claims that are live now are inconclusive"


class NotArmed(RuntimeError):
    """The environment requires the plugin, and it is not armed: vLLM does not start."""


def not_armed(why: str, *, traceback: bool = False) -> None:
    """Log that an engine runs without the plugin, and why.

    Args:
        traceback: log that of the exception which is handled, too.

    Raises:
        NotArmed: the environment lets no engine run without the plugin.
    """
    LOG.error("resident-claims is not armed: %s", why, exc_info=traceback)
    if required():
        raise NotArmed(f"resident-claims is not armed: {why}; {REQUIRE} is set, so vLLM ends")


class Faults:
    """The exceptions that were caught, by hook and exception class."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def note(self, hook: str, fault: Exception, *, effect: str = _EFFECT) -> None:
        """Count an exception; the first of its kind is logged with its traceback.

        Args:
            effect: what it does to verdicts.
        """
        kind = (hook, type(fault).__name__)
        self.counts[kind] += 1
        if self.counts[kind] == 1:
            LOG.error(
                "resident-claims: a hook failed at %s; the engine goes on, and %s. "
                "Further failures of this kind are counted.",
                hook,
                effect,
                exc_info=fault,
            )
