"""Finds the prefixes that many sessions of a workload begin with: system prompts, mostly."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from models.simulation.request import Workload

__all__ = ["Prefix", "Prefixes"]


class Prefix(NamedTuple):
    """The first full blocks of several prompts."""

    name: str
    keys: tuple[int, ...]


class Prefixes:
    """The prefixes of a workload.

    The prefix of a request is the longest one with which the first prompts of at least so many
    sessions begin. A request without a session counts as one.

    Args:
        least: sessions.
    """

    def __init__(self, workload: Workload, least: int) -> None:
        self._counts: dict[int, int] = {}
        self._least, self._block = least, workload.block
        self._found: dict[int, Prefix] = {}
        for request in workload:
            if request.after is None:
                for key in request.keys[: request.prompt // workload.block]:
                    self._counts[key] = self._counts.get(key, 0) + 1
        self._counts = {key: count for key, count in self._counts.items() if count >= least}

    def of(self, keys: Sequence[int], prompt: int) -> Prefix | None:
        """The prefix of a prompt of so many tokens, if it has one."""
        size = 0
        for key in keys[: prompt // self._block]:
            if key not in self._counts:
                break
            size += 1
        if not size:
            return None
        found = self._found.get(keys[size - 1])
        if found is None:
            found = Prefix(f"prefix:{len(self._found)}", tuple(keys[:size]))
            self._found[keys[size - 1]] = found
        return found
