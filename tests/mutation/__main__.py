"""`make mutate`: plants mistakes one after another, and says which are not noticed.

    python -m tests.mutation [MODULE ...] [--every N] [--from K] [--add] [-v]

Each mistake of each module of `tests.mutation.killers.TARGETS`, or of those named; with `--every N`
each Nth, from the Kth on. A mistake is noticed, or no step of a mode's system differs, which Z3
proves, or it is printed as NOT NOTICED, with what differs and a run that shows it, if one is found.
`--add` adds these runs to the recorded ones; `make runs` then writes what the specification makes
of them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable

from proofs.checks.recorded.lines import RUNS
from tests.mutation.comparison import Original
from tests.mutation.killers import KILLERS, TARGETS, modes_of
from tests.mutation.mistakes import Mistake, mistakes
from tests.mutation.planting import planted

__all__ = ["fate"]


def fate(module: str, mistake: Mistake, original: Original | None) -> str:
    """What became of a mistake: what noticed it, `same`, or `NOT NOTICED`, with what differs
    from the original and a run that shows it, where there is one to compare with.
    """

    def ask() -> str:
        modes, differs = modes_of(module), ""
        for name in TARGETS[module]:
            if name in KILLERS:
                if found := KILLERS[name](modes):
                    return found
            elif name == "compared":
                return "same"
            elif original is not None:
                if not (differs := original.differs()):
                    return "same"
                modes = (differs.partition(",")[0],)
        shown = original.shown(modes[0]) if original is not None else ""
        return f"NOT NOTICED: {differs}: {shown}"

    return planted(module, mistake.source, ask)


def _campaign(modules: Iterable[str], first: int, every: int, *, verbose: bool) -> list[str]:
    """Prints what became of each; the runs that show those which are not noticed."""
    shown = []
    for module in modules:
        original = Original(modes_of(module)) if "unchanged" in TARGETS[module] else None
        count = Counter[str]()
        for mistake in mistakes(module)[first::every]:
            what = fate(module, mistake, original)
            count[what.partition(":")[0]] += 1
            if what.startswith("NOT"):
                shown.append(what.rpartition(": ")[2])
            if verbose or what.startswith("NOT"):
                print(f"{module}:{mistake.line}: {mistake.says}: {what}", flush=True)
        parts = ", ".join(f"{name} {number}" for name, number in sorted(count.items()))
        print(f"{module}: {sum(count.values())} mistakes: {parts}", flush=True)
    return shown


def main() -> None:
    """Plant them."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation",
        description="Plant mistakes, and say which are not noticed (docs/mutation.md).",
        epilog="Example: python -m tests.mutation proofs.model.environment --every 20",
    )
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="default: every target")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth mistake")
    parser.add_argument("--from", type=int, default=0, metavar="K", dest="first", help="the first")
    parser.add_argument("--add", action="store_true", help="record the runs that show mistakes")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each mistake")
    given = parser.parse_args()
    if others := {*given.modules} - {*TARGETS}:
        parser.error(f"{min(others)} is none of {', '.join(TARGETS)}")
    if given.every < 1 or given.first < 0:
        parser.error("N is at least 1, and K at least 0")
    shown = _campaign(given.modules or TARGETS, given.first, given.every, verbose=given.verbose)
    if given.add:
        with open(str(RUNS), "a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in dict.fromkeys(shown) if line)
    print(f"{len(shown)} not noticed")
    sys.exit(1 if shown else 0)


if __name__ == "__main__":
    main()
