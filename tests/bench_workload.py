"""How long a million requests of Mooncake's form take to read, and how much memory.

Run: .venv/bin/python -m tests.bench_workload [REQUESTS]
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import process_time

from models.simulation.workload import read_workload


def write(path: Path, requests: int) -> int:
    """Write a trace of prompts of 4 to 39 blocks, half of them shared; return its blocks."""
    chance, blocks = Random(1), 0
    with path.open("w", encoding="utf-8") as file:
        for number in range(requests):
            size = chance.randrange(4, 40)
            shared, own = chance.randrange(2_000) * 50, 1_000_000 + number * 40
            ids = [*range(shared, shared + size // 2), *range(own, own + size - size // 2)]
            tokens = size * 512 - chance.randrange(512)
            file.write(
                f'{{"timestamp": {number * 150}, "input_length": {tokens}, '
                f'"output_length": {chance.randrange(1, 500)}, "hash_ids": {ids}}}\n'
            )
            blocks += size
    return blocks


def memory() -> float:
    """The most MiB that this process held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the times and the memory."""
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        blocks = write(path, requests)
        print(f"{requests} requests, {blocks / requests:.1f} blocks each")
        print(f"file {path.stat().st_size / 2**20:.0f} MiB; memory before {memory():.0f} MiB")
        start = process_time()
        found = read_workload(str(path))
        print(f"read: {process_time() - start:.1f} s of CPU, {memory():.0f} MiB")
        start = process_time()
        tokens = sum(each.prompt for each in found)
        print(f"read again: {process_time() - start:.1f} s of CPU, {memory():.0f} MiB, {tokens}")


if __name__ == "__main__":
    main()
