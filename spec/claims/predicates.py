"""Defines materialization predicates over logical block positions."""

import re
from collections.abc import Collection, Set
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from spec.language.errors import PredicateError, type_name
from spec.language.suggest import did_you_mean

__all__ = [
    "MAX_BLOCKS",
    "MAX_TEXT",
    "ContiguousRange",
    "LeadingPrefixAtLeast",
    "MaterializationPredicate",
    "parse_predicate",
]

MAX_BLOCKS: Final = 2**31 - 1
"""Largest block count and largest block position + 1 (a signed 32-bit block index)."""

MAX_TEXT: Final = 128
"""Longest predicate text that is read, in characters."""

_ARITY: Final = {"leading_prefix_at_least": 1, "contiguous_range": 2}
_REMEDY: Final = "write leading_prefix_at_least(k) or contiguous_range(start, k)"
_CALL: Final = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*", re.ASCII)
_SIZE: Final = re.compile(r"\s*([0-9]+)(?:\s*(blocks?|tokens?))?\s*")


def _check(name: str, value: object, low: int) -> int:
    """`value` as a whole number from `low` to MAX_BLOCKS; raises PredicateError."""
    if not isinstance(value, int) or isinstance(value, bool):
        kind = type(value).__name__
        raise PredicateError(f"{name} is a {kind}, not a whole number", "give a number of blocks")
    if not low <= value <= MAX_BLOCKS:
        shown = value if abs(value) < 10**20 else "a number of over 20 digits"
        raise PredicateError(
            f"{name} is {shown}, out of range", f"give a whole number from {low} to {MAX_BLOCKS}"
        )
    return value


@dataclass(frozen=True)
class _Span:
    """The logical positions from `start` on, `blocks` of them; both in blocks."""

    start: int
    blocks: int

    def __post_init__(self) -> None:
        _check("start", self.start, 0)
        _check("blocks", self.blocks, 1)
        _check("start + blocks", self.end, 1)

    @property
    def threshold(self) -> int:
        """How many contiguous blocks have to be there."""
        return self.blocks

    @property
    def end(self) -> int:
        """The first position past those required; the least footprint, in blocks."""
        return self.start + self.blocks

    @property
    def plain(self) -> str:
        """The text of the predicate: one for all that ask for the same positions."""
        return str(LeadingPrefixAtLeast(self.blocks)) if self.start == 0 else str(self)

    def holds(self, positions: Collection[int]) -> bool:
        """Whether every required logical position is among `positions`.

        How many there are says nothing: without its first position a prefix is worth nothing.
        """
        if len(positions) < self.blocks:
            return False
        held = positions if isinstance(positions, Set | range) else frozenset(positions)
        return all(position in held for position in range(self.start, self.end))


@dataclass(frozen=True)
class LeadingPrefixAtLeast(_Span):
    """Positions 0 to blocks - 1 are all there; raises PredicateError unless blocks >= 1.

    Source: Resident KV Claims, section 3, useful resident value.
    """

    start: int = field(default=0, init=False, repr=False)

    def __str__(self) -> str:
        return f"leading_prefix_at_least({self.blocks})"


@dataclass(frozen=True)
class ContiguousRange(_Span):
    """Positions start to start + blocks - 1 are all there; raises PredicateError.

    Source: the materialization predicates of Resident KV Claims, table 2, away from position 0.
    """

    def __str__(self) -> str:
        return f"contiguous_range({self.start}, {self.blocks})"


MaterializationPredicate: TypeAlias = LeadingPrefixAtLeast | ContiguousRange


def parse_predicate(text: str, *, block_size: int | None = None) -> MaterializationPredicate:
    """The predicate that `text` states, such as `leading_prefix_at_least(40)`.

    A bare number counts blocks; `blocks` or `tokens` may follow it. Tokens need `block_size`
    (tokens per block) and have to make whole blocks. Raises PredicateError.
    """
    if not isinstance(text, str):
        raise PredicateError(f"the predicate is of type {type_name(text)}", _REMEDY)
    if len(text) > MAX_TEXT:
        raise PredicateError(
            f"the predicate is {len(text)} characters long, more than {MAX_TEXT}", _REMEDY
        )
    call = _CALL.fullmatch(text)
    if call is None:
        raise PredicateError(f"{text!r} is not a predicate", _hint(text))
    name, inside = call.groups()
    if name not in _ARITY:
        raise PredicateError(f"no predicate is called {name!r}", _hint(name))
    sizes = inside.split(",") if inside.strip() else []
    if len(sizes) != _ARITY[name]:
        raise PredicateError(f"{name} takes {_ARITY[name]} number(s), not {len(sizes)}", _REMEDY)
    blocks = _in_blocks(sizes, block_size)
    if name == "leading_prefix_at_least":
        return LeadingPrefixAtLeast(blocks[0])
    return ContiguousRange(blocks[0], blocks[1])


def _in_blocks(sizes: list[str], block_size: int | None) -> list[int]:
    """The numbers that `sizes` state, in blocks; raises PredicateError."""
    values, units = [], set()
    for size in sizes:
        match = _SIZE.fullmatch(size)
        if match is None:
            raise PredicateError(
                f"{size.strip()!r} is not a size", "write a whole number, then blocks or tokens"
            )
        values.append(int(match[1]))
        units.add("tokens" if (match[2] or "").startswith("token") else "blocks")
    if len(units) > 1:
        raise PredicateError("blocks and tokens are mixed", "give every number the same unit")
    if units == {"blocks"}:
        return values
    if block_size is None:
        raise PredicateError(
            "a size in tokens needs block_size, which is not known here",
            "give block_size (tokens per block), or write the size in blocks",
        )
    _check("block_size", block_size, 1)
    for value in values:
        if value % block_size:
            raise PredicateError(
                f"{value} tokens are not a whole number of blocks of {block_size} tokens",
                f"write a multiple of {block_size} tokens, or blocks",
            )
    return [value // block_size for value in values]


def _hint(text: str) -> str:
    """What was probably meant by `text`, or else both forms."""
    name = text.split("(")[0].strip().lower().replace("-", "_")
    return f"{did_you_mean(name, _ARITY)} {_REMEDY}".lstrip()
