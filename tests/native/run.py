"""Compares both judges on random streams: `python -m tests.native.run N [FIRST]`."""

from __future__ import annotations

import sys
import time
from collections import Counter

from spec.claims.states import Mode
from spec.stream.breaks import Limits
from tests.native.differential import Difference, differs
from tests.native.mutated import HONEST, mutated

__all__ = ["compared", "run"]

_TIGHT = Limits(live=3, ended=2, ids=2, requests=2, objects=2, blocks=20, tiers=1)


def compared(seed: int) -> tuple[str, Mode | None, Difference | None]:
    """The stream of a seed, and the first difference on it; every tenth is judged in little room,
    and every fourth line by line as Python read it.
    """
    name, lines, mode = mutated(seed)
    limits = _TIGHT if seed % 10 == 9 else Limits()
    differ = differs(lines, mode, limits, packed=seed % 4 == 3, honest=name == HONEST)
    return name, mode, differ


def run(count: int, first: int = 0, *, shown: int = 10) -> Counter[str]:
    """Compare so many streams, and print differences; return how many agree, how many differ, and
    how many are honest.
    """
    found: Counter[str] = Counter()
    for seed in range(first, first + count):
        try:
            name, mode, difference = compared(seed)
        except Exception as error:  # the reference itself may fail
            kind = f"{type(error).__name__}: {error}"[:100]
            if not found[kind] and shown:
                sys.stdout.write(f"seed {seed}: {kind}\n")
            found[kind] += 1
            continue
        found["agree" if difference is None else "differ"] += 1
        found[HONEST] += name == HONEST
        if difference is not None and found["differ"] <= shown:
            sys.stdout.write(f"seed {seed}: {name}, judged by {mode}: {difference}\n")
    return found


def main() -> int:
    """Compare as many streams as the first argument says."""
    count, first = (*map(int, sys.argv[1:]), 0)[:2] if len(sys.argv) > 2 else (int(sys.argv[1]), 0)
    started = time.monotonic()
    found = run(count, first)
    sys.stdout.write(f"{dict(found)} in {time.monotonic() - started:.0f} s\n")
    return found["agree"] != count


if __name__ == "__main__":
    sys.exit(main())
