"""What goes wrong in a hook stays in it: counted, said once for each kind, and never raised."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

__all__ = ["LOG", "Faults"]

LOG: Final = logging.getLogger("vllm.resident_claims")
"""Beneath vLLM's own logger, so that it is shown as the engine's messages are."""


class Faults:
    """The exceptions that hooks would have raised, by hook and kind."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def note(self, hook: str, fault: Exception) -> None:
        """One more; the first of its kind is logged with its traceback."""
        kind = (hook, type(fault).__name__)
        self.counts[kind] += 1
        if self.counts[kind] == 1:
            LOG.error(
                "resident-claims: a hook failed at %s; the engine goes on, and what is judged of "
                "the claims alive now is inconclusive. Further failures of this kind are counted.",
                hook,
                exc_info=fault,
            )
