"""Tells whether the tests run on compiled modules."""

from __future__ import annotations

from typing import Final

from monitor.stream import projection

__all__ = ["NATIVE"]

NATIVE: Final = not projection.__file__.endswith(".py")
"""Whether the inner part of the monitor is compiled (`hatch_build`)."""
