"""Seconds and MiB to replay a million requests with lru: `python -m tests.bench_simulation`."""

from __future__ import annotations

import argparse
import random
import resource
import time

from models.simulation.command import compare
from models.simulation.policies import chosen
from models.simulation.request import Request, Workload

__all__ = ["agents", "main"]

BLOCK = 16
BLOCKS = 20_000
SYSTEMS = 100
SYSTEM = 8
OWN = (10, 16)


def agents(count: int, seed: int = 0) -> Workload:
    """Requests that begin with one of 100 system prompts, 20 a second; 18 to 24 blocks a prompt."""
    source, now, unused = random.Random(seed), 0.0, SYSTEMS * SYSTEM
    made = []
    for number in range(count):
        now += source.expovariate(20)
        system, own = source.randrange(SYSTEMS), source.randint(*OWN)
        keys = (*range(system * SYSTEM, (system + 1) * SYSTEM), *range(unused, unused + own))
        unused += own
        tokens = len(keys) * BLOCK + source.randrange(BLOCK)
        made.append(Request(str(number), now, tokens, source.randrange(16, 96), keys))
    return Workload("agents", BLOCK, tuple(made))


def main() -> None:
    """Print the figures of each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policies", nargs="*", default=["lru"])
    parser.add_argument("--requests", type=int, default=1_000_000)
    given = parser.parse_args()
    workload = agents(given.requests)
    for text in given.policies:
        started = time.process_time()
        (found,) = compare(workload, [chosen(text)], BLOCKS)
        seconds = time.process_time() - started
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{text}: {given.requests} requests in {seconds:.1f} s of the processor, "
            f"{most} MiB with the workload, {found.saved:.1%} saved"
        )


if __name__ == "__main__":
    main()
