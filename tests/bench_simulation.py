"""Seconds and MiB to replay a file of a million requests: `python -m tests.bench_simulation`."""

from __future__ import annotations

import argparse
import random
import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from models.simulation.command import compare
from models.simulation.policies import chosen
from models.simulation.request import Request, Workload
from models.simulation.workload import read_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["agents", "main"]

BLOCK = 16
BLOCKS = 20_000
SYSTEMS = 100
SYSTEM = 8
OWN = (10, 16)


def agents(count: int, seed: int = 0) -> Iterator[Request]:
    """Requests that begin with one of 100 system prompts, 20 a second; 18 to 24 blocks a prompt."""
    source, now, unused = random.Random(seed), 0.0, SYSTEMS * SYSTEM
    for number in range(count):
        now += source.expovariate(20)
        system, own = source.randrange(SYSTEMS), source.randint(*OWN)
        keys = (*range(system * SYSTEM, (system + 1) * SYSTEM), *range(unused, unused + own))
        unused += own
        tokens = len(keys) * BLOCK + source.randrange(BLOCK)
        yield Request(str(number), now, tokens, source.randrange(16, 96), keys)


def write(path: Path, count: int) -> None:
    """Write the requests in Mooncake's form."""
    with path.open("w", encoding="utf-8") as file:
        for each in agents(count):
            # A prompt of whole blocks has an id for each of them.
            ids = [*each.keys, *([each.keys[-1] + 2**40] if each.prompt % BLOCK else [])]
            file.write(
                f'{{"timestamp": {each.arrives * 1000:.3f}, "input_length": {each.prompt}, '
                f'"output_length": {each.output}, "hash_ids": {ids}}}\n'
            )


def memory() -> int:
    """The most MiB that this process held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Print the figures of each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policies", nargs="*", default=["lru"])
    parser.add_argument("--requests", type=int, default=1_000_000)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "agents.jsonl"
        write(path, given.requests)
        print(f"{given.requests} requests, {memory()} MiB before they are read")
        workload: Workload = read_workload(str(path), block=BLOCK)
        print(f"{memory()} MiB when they are read")
        for text in given.policies:
            started = time.process_time()
            (found,) = compare(workload, [chosen(text)], BLOCKS)
            seconds = time.process_time() - started
            print(
                f"{text}: {seconds:.1f} s of the processor, {memory()} MiB, {found.saved:.1%} saved"
            )


if __name__ == "__main__":
    main()
