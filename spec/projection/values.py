"""Numbers values, so that they are compared and hashed as integers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Values"]

T = TypeVar("T", bound=Hashable)


class Values(Generic[T]):
    """Values by their numbers, from 0 in the order in which they came."""

    def __init__(self) -> None:
        self._numbers: dict[T, int] = {}
        self._values: list[T] = []

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, number: int) -> T:
        return self._values[number]

    def number(self, value: T) -> int:
        """The number of a value."""
        number = self._numbers.setdefault(value, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        return number
