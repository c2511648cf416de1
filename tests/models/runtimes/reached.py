"""What can be reached in an instance of a model, found once in a process."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from models.framework.explore import Reach, reach
from models.framework.model import Model

__all__ = ["reached"]


@cache
def reached(make: Callable[[], Model[Any]]) -> Reach:
    """What `reach` finds in the instance that `make` gives."""
    return reach(make())
