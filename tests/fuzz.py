"""Looks for bytes that break a reader, guided by what of its code they reach: `make fuzz`.

`python -m tests.fuzz lines` reads lines of traces: each is read or refused
with an `InputError`, and the two readers of canonical lines agree. `python -m tests.fuzz snapshot`
reads the inside of snapshots, whose checksum fits: it is read or refused with a
`SpecError`. atheris guides it, an extra of its own (`[fuzz]`), for it installs on few systems. The
tests that Hypothesis makes ask the same of random bytes everywhere.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

SAMPLES: Final = Path(__file__).parents[1] / "monitor" / "samples"
_CHILD: Final = "RESIDENT_CLAIMS_FUZZ_CHILD"


def lines(data: bytes) -> None:
    """A line, or several, is read as an event by both readers, or by one of them and refused."""
    from monitor.input.dialects import LIVE, Reader
    from monitor.input.errors import InputError
    from monitor.input.plain import event_of

    for line in data.split(b"\n"):
        try:
            records: Any = Reader("fuzz", LIVE).feed(line, 1)
        except InputError:
            records = ()
        if (event := event_of(line)) is not None:
            ((read, _),) = (pair for record in records for pair in record.events)
            for name in read.__struct_fields__:
                assert getattr(read, name) == getattr(event, name), (name, line)


def snapshot(data: bytes) -> None:
    """What a snapshot holds is a state, or refused."""
    from monitor import EventMonitor
    from monitor.durable.frame import framed
    from spec.language.errors import SpecError

    try:
        EventMonitor.restore(framed("snapshot", data))
    except SpecError:
        return


def seeds(what: str) -> list[bytes]:
    """What a reader is to begin from."""
    texts = [path.read_bytes() for path in sorted(SAMPLES.glob("*.jsonl"))]
    if what == "lines":
        return [line for text in texts for line in text.splitlines()] + texts
    from monitor import EventMonitor
    from monitor.durable.frame import unframed
    from monitor.input.errors import InputError
    from monitor.input.given import record_of_line

    found = []
    for text in texts:
        monitor = EventMonitor(name="seed")
        for number, line in enumerate(text.splitlines(), 1):
            try:
                monitor.take(record_of_line(line, "seed", number))
            except InputError:  # a sample in another form
                break
            if number % 5 == 0:
                found.append(unframed("snapshot", monitor.snapshot()))
    return found


TARGETS: Final = {"lines": lines, "snapshot": snapshot}


def _fuzz(what: str, seconds: int, folder: str) -> None:
    import atheris  # type: ignore[import-not-found]

    with atheris.instrument_imports(include=["monitor", "spec"]):
        import monitor.check.snapshots
        import monitor.input.given
        import monitor.input.plain  # noqa: F401
    limits = [f"-max_total_time={seconds}", "-rss_limit_mb=4096", "-timeout=20", "-max_len=8192"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/", folder], TARGETS[what])
    atheris.Fuzz()


def main() -> int:
    """Fuzz one reader for some seconds: 0 if nothing broke it, 1 with the bytes that did."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="Example: python -m tests.fuzz lines --seconds 60"
    )
    parser.add_argument("what", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=60)
    asked = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("error: atheris is not installed\n  hint: pip install atheris", file=sys.stderr)
        return 2
    if (folder := os.environ.get(_CHILD)) is not None:
        _fuzz(asked.what, asked.seconds, folder)
    with tempfile.TemporaryDirectory() as made:
        for number, seed in enumerate(seeds(asked.what)):
            Path(made, f"seed-{number}").write_bytes(seed)
        command = [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]]
        code = subprocess.run(command, env={**os.environ, _CHILD: made}, check=False).returncode
        for path in sorted(Path(made).glob("crash-*")) + sorted(Path(made).glob("timeout-*")):
            print(f"{path.name}: {path.read_bytes()!r}")
    print("nothing broke it" if code == 0 else "this broke it", flush=True)
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main())
