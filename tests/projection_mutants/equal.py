"""Changes of the projection that are none, with the reason of each, from `equal.txt`.

A reason stands at the margin. The changes that it is about follow, indented: the name, and what is
changed, so that a name that means another change by now is found out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

__all__ = ["EQUAL", "Equal"]


class Equal(NamedTuple):
    """What a change is, and why it is none."""

    says: str
    why: str


def _read(text: str) -> dict[str, Equal]:
    found: dict[str, Equal] = {}
    why = ""
    for line in text.splitlines():
        if line.startswith(" "):
            name, says = line.strip().split("  ", 1)
            found[name] = Equal(says, why)
        else:
            why = line
    return found


EQUAL: Final[Mapping[str, Equal]] = MappingProxyType(
    _read(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8"))
)
"""By the names of the changes."""
