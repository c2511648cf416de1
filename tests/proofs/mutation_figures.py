"""The figures of the last campaign against mutants that was run to its end.

A campaign takes minutes, so what it came to is recorded, with what it was run on:

    python -m proofs mutate --format json | python -m tests.proofs.mutation_figures
"""

from __future__ import annotations

import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from proofs.mutation.campaign.command import Mutation
from proofs.mutation.campaign.run import EQUIVALENT, PLACES, SURVIVED, everything, key_of
from proofs.mutation.campaign.state import runs_digest

PLACE: Final = Path(__file__).parent / "goldens" / "mutation.json"


class Figures(msgspec.Struct, frozen=True):
    """The counts, by mode or part and fate; `equivalent` by the argument, `survivors` by name.

    `runs` and `mutants` are digests of what the mutants were told by, and of what they are.
    """

    runs: str
    mutants: str
    tally: dict[str, dict[str, int]]
    alone: dict[str, int]
    equivalent: dict[str, int]
    survivors: dict[str, list[str]]


def mutants_digest() -> str:
    """Which mutants there are, as SHA-256."""
    every = (each for place in PLACES for each in everything(place))
    said = (f"{' '.join(key_of(each))}: {each.says}\n" for each in every)
    return sha256("".join(said).encode()).hexdigest()


def recorded() -> Figures:
    """What is recorded."""
    return msgspec.json.decode(PLACE.read_bytes(), type=Figures)


def grouped(names: list[str]) -> list[str]:
    """Mutants by what they change, as a page lists them."""
    found: dict[str, list[str]] = {}
    for name in names:
        changed, _, how = name.rpartition(":")
        found.setdefault(changed, []).append(how)
    return [f"`{changed}`: {', '.join(ways)}" for changed, ways in found.items()]


def main() -> None:
    """Record the campaign on standard input; raises AssertionError if it is not whole."""
    told = msgspec.json.decode(sys.stdin.buffer.read(), type=Mutation)
    assert set(PLACES) == set(told.tally)
    assert (0, runs_digest()) == (told.unfinished, told.runs)
    arguments = Counter(fate.detail for fate in told.fates if fate.result == EQUIVALENT)
    left: dict[str, list[str]] = {}
    for fate in told.fates:
        if fate.result == SURVIVED:
            left.setdefault(fate.mode, []).append(fate.mutant)
    figures = Figures(told.runs, mutants_digest(), told.tally, told.alone, dict(arguments), left)
    PLACE.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=1) + b"\n")


if __name__ == "__main__":
    main()
