"""Reads and writes recorded runs: the events of one claim and one request.

A run is one line: the blocks that the claim's predicate asks for, and then the events, each a kind
with the fields (`spec.contract.vocabulary.EVENT_FIELDS`) that are not as usual:
`block_cached:lead=3`. As usual an event is about the claim, by its name and by its object, and
belongs to the request, where its kind can; every other field has its plain value. Truth is written
1, and 0 where it fails.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.events.fields import REQUEST_KINDS
from spec.language.terms import Sort
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "RUNS",
    "Run",
    "compared",
    "had",
    "pinned",
    "read_run",
    "runs",
    "trail",
    "usual",
    "write_run",
]

RUNS: Final = files("proofs.checks.recorded") / "runs.txt"

_OF_NO_CLAIM: Final = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}


Fields: TypeAlias = "Mapping[str, Any]"
"""The kind and the fields of an event, by their names."""


class Run(NamedTuple):
    """The events of a run, as its claim sees them."""

    threshold: int
    events: tuple[Fields, ...]


@cache
def read_run(line: str) -> Run:
    """Read a run from a line.

    Raises:
        ValueError: a word is not a kind, or names an unknown field.
    """
    threshold, *words = line.split()
    return Run(int(threshold), tuple(map(_event, words)))


def write_run(threshold: int, events: Iterable[tuple[Kind, Mapping[str, Any]]]) -> str:
    """The line of a run; fields that an event does not have are plain."""
    return " ".join((str(threshold), *(_word(kind, fields) for kind, fields in events)))


@cache
def _event(word: str) -> Fields:
    name, *stated = word.split(":")
    fields = usual(Kind(name))
    for field in stated:
        key, _, value = field.partition("=")
        if key not in EVENT_FIELDS:
            raise ValueError(f"not a field of an event: {key}")
        fields[key] = int(value) if EVENT_FIELDS[key][0] is Sort.INT else value == "1"
    return {"kind": Kind(name), **fields}


def _word(kind: Kind, fields: Mapping[str, Any]) -> str:
    fixed = usual(kind)
    values = ((name, int(fields.get(name, plain)), plain) for name, plain in fixed.items())
    return str(kind) + "".join(
        f":{name}={value}" for name, value, plain in values if value != plain
    )


def usual(kind: Kind) -> dict[str, Any]:
    """The fields of an event of a kind, as they are where a word does not say otherwise."""
    plain: dict[str, Any] = {
        name: name == "authorised" if sort is Sort.BOOL else 0
        for name, (sort, _) in EVENT_FIELDS.items()
    }
    about = kind not in _OF_NO_CLAIM
    return plain | {"mine": about, "named": about, "here": kind in REQUEST_KINDS}


@cache
def runs() -> dict[str, dict[str, str]]:
    """Every run, by its line, with what is pinned of it."""
    return pinned(RUNS.read_text(encoding="utf-8"))


def pinned(text: str) -> dict[str, dict[str, str]]:
    """The runs of a file, each with what is pinned of it."""
    found: dict[str, dict[str, str]] = {}
    run = ""
    for line in text.splitlines():
        if line.startswith(" "):
            found[run] = dict(pin.split(": ") for pin in line.strip().split("; "))
        elif not line.startswith(("#", "=")):
            found[run := line] = {}
    return found


@cache
def compared() -> Counter[str]:
    """How often each clause is compared in each situation, and events written, in all runs."""
    parts = (text.rpartition(" ") for text in _stated() if text[-1].isdigit())
    return Counter({name: int(count) for name, _, count in parts})


@cache
def had() -> dict[str, frozenset[str]]:
    """The obligations of each mode, by their codes."""
    parts = (text.partition(": ") for text in _stated() if not text[-1].isdigit())
    return {mode: frozenset(codes.split()) for mode, _, codes in parts}


def _stated() -> Iterator[str]:
    lines = RUNS.read_text(encoding="utf-8").splitlines()
    return (line[2:] for line in lines if line.startswith("= "))


def trail(found: Iterable[Verdict]) -> str:
    """Verdicts as their changes, each by its initial: `3p 5v` is unexercised up to the second
    event, pending from the third and violated from the fifth on.
    """
    last, changes = Verdict.UNEXERCISED, []
    for number, verdict in enumerate(found, start=1):
        if verdict is not last:
            changes.append(f"{number}{verdict[0]}")
            last = verdict
    return " ".join(changes)
