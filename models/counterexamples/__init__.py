"""Reads the recorded runs that refute inferences, which `make suite` writes beside this file."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["RECORDED", "Shortest", "file_name", "shortest"]

RECORDED: Final = Path(__file__).parent / "recorded"
"""The suite of this version: an index, and each run as JSONL and ITF."""


class Shortest(msgspec.Struct, frozen=True):
    """A shortest run of a model that refutes an inference.

    `obligation` is broken in the last of the `actions`, which are as the model names them.
    """

    obligation: str
    actions: tuple[str, ...]


class _Meta(msgspec.Struct):
    clauses: tuple[str]


class _State(msgspec.Struct):
    action: str


class _Document(msgspec.Struct, rename={"meta": "#meta"}):
    meta: _Meta
    states: tuple[_State, ...]


def file_name(inference: str) -> str:
    """The name of an inference as the name of its files, without a suffix."""
    return re.sub(r"[^a-z0-9]+", "-", inference.lower()).strip("-")


@cache
def shortest(inference: str) -> Shortest | None:
    """The recorded run that refutes an inference; None where no run of its model does."""
    path = RECORDED / f"{file_name(inference)}.itf.json"
    if not path.exists():
        return None
    found = msgspec.json.decode(path.read_bytes(), type=_Document)
    (obligation,) = found.meta.clauses
    return Shortest(obligation, tuple(state.action for state in found.states[1:]))
