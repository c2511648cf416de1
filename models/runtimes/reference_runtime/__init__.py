"""A runtime that keeps every obligation of every mode."""

from __future__ import annotations

from models.runtimes.reference_runtime.model import TAKES, VARIANTS

__all__ = ["TAKES", "VARIANTS"]
