"""Counts the exceptions of hooks and logs the first of each kind; none reaches the engine."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

__all__ = ["LOG", "Faults", "not_armed"]

LOG: Final = logging.getLogger("vllm.resident_claims")
"""A child of vLLM's logger, so that messages appear among the engine's own."""

_EFFECT: Final = "verdicts on the claims that are live now are inconclusive"


def not_armed(why: str) -> None:
    """Log that an engine runs without the plugin, and why."""
    LOG.error("resident-claims is not armed: %s", why)


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
