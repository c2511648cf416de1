"""Runs a fleet with small batches, as a process that tests kill.

`python -m tests_fleet.driver SOURCE CHECKPOINT OUT MASTER BATCH_BYTES`
"""

from __future__ import annotations

import sys

from monitor.fleet.command import Job, run_fleet
from monitor.fleet.keyed import Asked


def main(source: str, checkpoint: str, out: str, master: str, size: str) -> None:
    """Judge all that is there."""
    job = Job(source, checkpoint, out, Asked(), master, partitions=2, batch_bytes=int(size))
    print(run_fleet(job))


if __name__ == "__main__":
    main(*sys.argv[1:])
