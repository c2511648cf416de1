"""Writes values as the native core stores them (`store.rs`), and what a judge is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.stream.breaks import Limits

__all__ = ["i64", "kinds_of", "many", "maybe", "options", "text", "u8", "u16", "u32", "u64"]


def options(
    mode: Mode | None,
    limits: Limits,
    only: str | None,
    unnamed: str,
    *,
    watched: bool,
) -> bytes:
    """What a judge is asked for (`Asked` of `state.rs`)."""
    place = 0 if mode is None else 1 + [*Mode].index(mode)
    return b"".join(map(u64, (place, *limits))) + text(only or "") + text(unnamed) + u8(watched)


def kinds_of(names: Mapping[str, Sequence[str]]) -> list[Kind]:
    """The kinds of events in the order in which the core numbers them: those that it knows by name,
    and then the others.
    """
    known = [Kind(name) for name in names["kinds"]]
    return known + [kind for kind in Kind if kind not in known]


def u8(value: int) -> bytes:
    """A byte."""
    return value.to_bytes(1, "little")


def u16(value: int) -> bytes:
    """A number of two bytes."""
    return value.to_bytes(2, "little")


def u32(value: int) -> bytes:
    """A number of four bytes."""
    return value.to_bytes(4, "little")


def u64(value: int) -> bytes:
    """A number of eight bytes."""
    return value.to_bytes(8, "little")


def i64(value: int) -> bytes:
    """A number of eight bytes, perhaps below 0."""
    return value.to_bytes(8, "little", signed=True)


def text(value: str) -> bytes:
    """A text, after its length."""
    encoded = value.encode()
    return u64(len(encoded)) + encoded


def many(items: Iterable[bytes]) -> bytes:
    """Items, after how many they are."""
    listed = [*items]
    return u64(len(listed)) + b"".join(listed)


def maybe(item: bytes | None) -> bytes:
    """An item, or none."""
    return b"\0" if item is None else b"\1" + item
