"""Disturbs followers for so many seconds, and exits with 1 at the first verdict that differs.

`python -m tests.soak --seconds 600 --seed 7`: episodes of a minute, each with a seed of its
own that makes the same lines, losses and kills again; what is on its way when a follower is killed
depends on the machine. The folder of an episode that failed is kept.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.soak.compare import Difference
from tests.soak.episode import Episode

__all__ = ["main"]

_EPISODE_S = 60.0
_SAYS = ("equal", "inconclusive", "before", "absent")


def main(args: Sequence[str] | None = None) -> int:
    """Soak; 1 where a verdict differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="for so long (600)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first episode")
    parser.add_argument("--bug", default="", help="plant this one: see tests/soak/follower.py")
    asked = parser.parse_args(args)
    counts, episodes, end = Counter[str](), 0, time.monotonic() + asked.seconds
    while (left := end - time.monotonic()) > 0 or not episodes:
        seed = asked.seed + episodes
        folder = Path(tempfile.mkdtemp(prefix="soak-"))
        try:
            counts += Episode(folder, seed, max(3.0, min(_EPISODE_S, left)), asked.bug).run()
        except Difference as error:
            print(f"seed {seed}, in {folder}: {error}")
            return 1
        shutil.rmtree(folder)
        episodes += 1
        print(f"seed {seed}: as it must be", flush=True)
    _show(counts, episodes)
    return 0


def _show(counts: Counter[str], episodes: int) -> None:
    claims = sum(counts[what] for what in _SAYS)
    print(
        f"{episodes} episodes, {counts['kills']} kills and {counts['stops']} stops of followers, "
        f"{counts['delivered']} clean lines"
    )
    done = ("breaks", "moved", "repeated", "late", "lost", "torn", "garbage")
    print("; ".join(f"{counts[what]} {what}" for what in done))
    print(f"{counts['lines']} lines of verdicts compared, on {claims} claims, none different:")
    for what in _SAYS:
        print(f"  {what:<13} {counts[what]:>7} {counts[what] / max(1, claims):>7.1%}")
        for kind in ("whole", "harmed", "pipe", "unix", "tcp", "ranks"):
            print(f"    {kind:<11} {counts[f'{kind} {what}']:>7}")


if __name__ == "__main__":
    raise SystemExit(main())
