"""Keeps the claims of which events of one kind may change anything, apart from those at rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from monitor.input.records import At

__all__ = ["Restless"]

T = TypeVar("T")


class Restless(Generic[T]):
    """`claims` by their ids; those that are at rest are not among them.

    `lead` is the most that a claim held when it came to rest. `last` is where the last event stands
    that claims at rest were spared; it would have moved nothing of them but the place at which an
    obligation was last satisfied.
    """

    def __init__(self, claims: dict[str, T]) -> None:
        self.claims = claims
        self.lead = 0
        self.last: At | None = None
