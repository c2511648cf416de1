"""On what the instructions of taking events are spent: `python -m tests.bench_profile`.

Valgrind counts the instructions of a process that takes one stream once, and of one that takes it
twice; what the second one has more is what taking it costs. The counts are the same however busy
the machine is. Run it in the folder that `make native` makes: of the interpreted monitor it says
little more than that the interpreter is at work.
"""

from __future__ import annotations

import argparse
import gc
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from monitor.engine import Monitor
from monitor.input.batches import Batch, run_of, whole
from monitor.stream.keep import Keep

from spec.claims.claim import Mode
from spec.events.canonical import EVENT_ENCODER
from tests.native import NATIVE
from tests.streams.traffic import Traffic, as_events

_ENDED: Final = 100  # claims that are kept when they are over
_COUNTED: Final = re.compile(r"\s*([\d,]+)\s*\(.*?\)\s+\S*?([^/\s]+:\S+)")
_GROUPS: Final = {
    "fields of events": (
        r"GetAttr|GenericGet|_PyType_Lookup|find_name_in_mro|PyMember|member_get|_core"
    ),
    "hashes": r"[Hh]ash",
    "dictionaries": r"dictobject|dict_ops|CPyDict",
    "making and freeing objects": (
        r"gcmodule|obmalloc|[Dd]ealloc|malloc|free|_Py_NewReference|tuple_alloc|PyTuple_New"
    ),
    "tuples": r"tuple|itemgetter",
    "comparing texts": r"unicode|memcmp|RichCompare",
    "the monitor's own code": r"CPyDef",
    "calls": r"[Cc]all|ceval|descrobject|getargs",
}
"""What a function of C belongs to, by its file and name: the first of these that is found there."""


def take(lines: int, live: int, times: int) -> None:
    """Take a stream so often."""
    made = as_events(Traffic(lines, live))
    events = whole(b"".join(EVENT_ENCODER.encode(event) + b"\n" for event in made))
    assert events is not None
    _, run = run_of(Batch("stream", range(1, len(events) + 1), events))
    assert run is not None
    gc.freeze()
    for _ in range(times):
        Monitor(Mode.OFFLOADABLE, keep=Keep(ended=_ENDED)).take_run(run)


def counted(lines: int, live: int, times: int, folder: Path) -> Counter[str]:
    """The instructions of each function of C in a process that takes a stream so often."""
    out = folder / f"{times}.out"
    asked = ("--lines", str(lines), "--live", str(live), "--take", str(times))
    command = [sys.executable, "-m", "tests.bench_profile", *asked]
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
    subprocess.run([*valgrind, *command], check=True, stderr=subprocess.DEVNULL)
    annotated = subprocess.run(
        ["callgrind_annotate", "--auto=no", "--threshold=100", str(out)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = Counter[str]()
    for line in annotated.splitlines():
        if (match := _COUNTED.match(line)) is not None:
            found[match[2]] += int(match[1].replace(",", ""))
    return found


def group(function: str) -> str:
    """What a function of C belongs to."""
    names = (name for name, pattern in _GROUPS.items() if re.search(pattern, function))
    return next(names, "all else")


def main() -> int:
    """Print the groups, and the functions that take most."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="Example: python -m tests.bench_profile --lines 12000"
    )
    parser.add_argument("--lines", type=int, default=30_000)
    parser.add_argument("--live", type=int, default=1_000, help="claims that are live")
    parser.add_argument("--take", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if min(asked.lines, asked.live) < 1:
        parser.error("--lines and --live are at least 1")
    if asked.take:
        take(asked.lines, asked.live, asked.take)
        return 0
    if shutil.which("valgrind") is None:
        print("valgrind is not installed", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        once, twice = (counted(asked.lines, asked.live, times, Path(folder)) for times in (1, 2))
    more = Counter({function: twice[function] - once[function] for function in twice})
    total, groups = sum(more.values()), Counter[str]()
    for function, number in more.items():
        groups[group(function)] += number
    built = "compiled" if NATIVE else "interpreted"
    each = total / asked.lines
    print(f"taking a line, {asked.live:,} live claims, {built}: {each:,.0f} instructions")
    for title, ranked in (("of these", groups), ("functions that have most", more)):
        print(title)
        for name, number in ranked.most_common(12):
            print(f"  {number / total:5.1%}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
