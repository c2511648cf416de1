"""Memory of a bounded monitor through which very many claims pass.

`python -m tests.bench_bounded --claims 1000000 --plot docs/memory.svg` follows a stream as
`monitor follow --verdicts` does, within limits: claims of all modes come, are used and go, a
hundred of them live at a time. It states how much memory the process holds meanwhile, and draws
that. It exits with 1 where a claim left no line, or one that says that it was not kept, or where
memory still grew in the second half of the run.

Of a line two parts in three are the Python around the core that states each verdict at its line.
`--at-once 1000` gives the core so many lines at once, and asks what they decided after each such
block; the limits and what the core holds are the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from monitor.follow.judge import ENDED, Judge
from monitor.follow.verdict_line import ClaimLine, Counts, LimitLine
from monitor.streams import NativeStreams
from spec.claims.states import Mode
from spec.events.canonical import EVENT_ENCODER
from spec.stream.breaks import Limits
from spec.stream.outcome import ModeVerdict
from tests.bench_memory import resident
from tests.streams.traffic import Line, Traffic, events

LIVE: Final = 100
LIMITS: Final = Limits(live=10 * LIVE, ended=ENDED, requests=200_000, ids=1_000_000)
PARTS: Final = 200
SHOWN: Final = 10  # parts between two lines of progress
GROWTH: Final = 0.05
"""So much more than in the middle of the run memory may be at its end."""

FULL: Final = 200_000
"""After so many claims, and twice the ids, all that is bounded is full."""


class Held(NamedTuple):
    """What there is after so many claims: resident memory in bytes, processor time in seconds."""

    claims: int
    events: int
    memory: int
    seconds: float


class Found(NamedTuple):
    """What a run came to.

    `lines` counts the lines of claims by their verdict; `limits` has the claims after which each
    limit was reached.
    """

    held: list[Held]
    verdict: str
    lines: dict[str, int]
    limits: dict[str, int]

    @property
    def growth(self) -> float:
        """By how much memory grew in the second half of the run, as a part of it."""
        late = [each.memory for each in self.held if 2 * each.claims >= self.held[-1].claims]
        return max(late) / late[0] - 1


def blocks(claims: int, at_once: int, live: int = LIVE) -> Iterator[tuple[int, list[Line]]]:
    """So many lines at once of a stream of so many claims, and how many of these were registered
    by then.
    """
    entered, block = 0, list[Line]()
    for line in events(Traffic(sys.maxsize, live, tuple(Mode))):
        if line["kind"] == "claim_registered":
            if entered == claims:
                break
            entered += 1
        block.append(line)
        if len(block) == at_once:
            yield entered, block
            block = []
    yield entered, block


class _ByLine:
    """The judge of `follow`, which states each verdict at the line that decides."""

    def __init__(self, limits: Limits) -> None:
        self._judge = Judge("bench", None, Counts(), limits=limits)
        self.stated: Counter[str] = Counter()
        self.reached: set[str] = set()

    def take(self, block: list[Line]) -> None:
        for line in block:
            for said in self._judge.take(EVENT_ENCODER.encode(line)):
                if isinstance(said, LimitLine):
                    self.reached.add(said.limit)
                elif isinstance(said, ClaimLine):
                    self.stated[said.verdict] += 1

    def finish(self) -> str:
        last, report = self._judge.finish()
        self.stated.update(said.verdict for said in last if isinstance(said, ClaimLine))
        return str(report.verdict)


class _ByBlock:
    """The native core, which is asked for the claims that are gone after each block."""

    def __init__(self, limits: Limits) -> None:
        self._streams = NativeStreams("bench", limits=limits, watched=True)
        self.stated: Counter[str] = Counter()
        self.reached: set[str] = set()
        self._lines = 0

    def take(self, block: list[Line]) -> None:
        text = EVENT_ENCODER.encode_lines(block)
        size, lines = self._streams.judge.feed(text, self._lines + 1)
        assert (size, lines) == (len(text), len(block)), "the core refused a line"
        self._lines += lines
        for news in self._streams.news():
            self.stated.update(claim.verdict for claim in news.gone)
            self.reached |= news.limits.keys()

    def finish(self) -> str:
        self._streams.finish()
        self.stated.update(claim.verdict for _, claim in self._streams.in_hand())
        broken = any(stream.breaks for stream in self._streams.found())
        whole = self.stated.keys() == {ModeVerdict.KEPT} and not broken
        return str(ModeVerdict.KEPT if whole else ModeVerdict.INCONCLUSIVE)


def run(
    claims: int, limits: Limits = LIMITS, parts: int = PARTS, at_once: int = 1
) -> Iterator[Held | Found]:
    """Judge a stream: how much is held after each part, and then what was found."""
    judge = _ByLine(limits) if at_once == 1 else _ByBlock(limits)
    reached: dict[str, int] = {}
    each, read, due, held = max(1, claims // parts), 0, 0, list[Held]()
    for entered, block in blocks(claims, at_once):
        if entered > due:
            held.append(Held(due, read, resident(), time.process_time()))
            yield held[-1]
            due += each
        read += len(block)
        judge.take(block)
        for limit in judge.reached - reached.keys():
            reached[limit] = entered
    held.append(Held(claims, read, resident(), time.process_time()))
    yield held[-1]
    verdict = judge.finish()
    verdicts = {str(verdict): number for verdict, number in judge.stated.items()}
    yield Found(held, verdict, verdicts, reached)


def plot(found: Found) -> str:
    """The memory against the claims, as SVG."""
    width, height, left, top, bottom = 720, 300, 60, 30, 40
    most = found.held[-1].claims
    highest = max(each.memory for each in found.held) / 2**20
    step = next(n for n in (5, 10, 20, 50, 100, 200, 500, 1_000, 5_000) if highest < 8 * n)
    ceiling = step * (int(highest / step) + 1)

    def x(claims: float) -> float:
        return left + (width - left - 20) * claims / most

    def y(mebibytes: float) -> float:
        return height - bottom - (height - top - bottom) * mebibytes / ceiling

    line = " ".join(f"{x(each.claims):.1f},{y(each.memory / 2**20):.1f}" for each in found.held)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12" role="img" fill="#444">',
        f"<title>Resident memory while {most:,} claims come and go</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="{left}" y="18">resident memory, MiB</text>',
    ]
    for mark in range(0, ceiling + 1, step):
        at = f"{y(mark):.1f}"
        parts.append(f'<line x1="{left}" x2="{width - 20}" y1="{at}" y2="{at}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark}</text>')
    for tenth in range(0, 11, 2):
        claims, shown = most * tenth / 10, f"{most * tenth / 1e7:g}"
        at = f"{x(claims):.1f}"
        parts.append(f'<text x="{at}" y="{height - 20}" text-anchor="middle">{shown}</text>')
    for limit, claims in found.limits.items():
        at = f"{x(claims):.1f}"
        parts.append(
            f'<line x1="{at}" x2="{at}" y1="{top}" y2="{height - bottom}" stroke="#c60" '
            'stroke-dasharray="4 3"/>'
        )
        low = height - bottom - 8  # below the curve
        parts.append(f'<text x="{x(claims) + 4:.1f}" y="{low}">limit: {limit}</text>')
    middle = (width + left) // 2
    parts += [
        f'<polyline points="{line}" fill="none" stroke="#06c" stroke-width="2"/>',
        f'<text x="{middle}" y="{height - 4}" text-anchor="middle">claims, in millions</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def shown(found: Found) -> dict[str, Any]:
    """The figures of a run."""
    last, middle = found.held[-1], found.held[len(found.held) // 2]
    return {
        "claims": last.claims,
        "events": last.events,
        "live": LIVE,
        "verdict": found.verdict,
        "lines": found.lines,
        "limits": found.limits,
        "mib": {
            "start": round(found.held[0].memory / 2**20, 1),
            "middle": round(middle.memory / 2**20, 1),
            "end": round(last.memory / 2**20, 1),
            "most": round(max(each.memory for each in found.held) / 2**20, 1),
        },
        "growth_of_the_second_half": round(found.growth, 4),
        "us_an_event": round((last.seconds - found.held[0].seconds) / last.events * 1e6, 2),
    }


def main(arguments: list[str] | None = None) -> int:
    """Print the figures, and draw them."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="Example: python -m tests.bench_bounded --claims 20000"
    )
    parser.add_argument("--claims", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--ids", type=int, default=LIMITS.ids, metavar="N", help="as --max-ids")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="lines of a block")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the memory as SVG")
    asked = parser.parse_args(arguments)
    if asked.claims < 2 * LIVE or asked.ids < 1 or asked.at_once < 1:
        parser.error(f"at least {2 * LIVE} claims, 1 id, and 1 line at once")
    found, parts = None, 0
    for each in run(asked.claims, LIMITS._replace(ids=asked.ids), at_once=asked.at_once):
        if isinstance(each, Found):
            found = each
            break
        parts += 1
        if parts % SHOWN != 1:
            continue
        text = f"{each.claims:,} claims, {each.memory / 2**20:.1f} MiB, {each.seconds:.0f} s"
        print(text, file=sys.stderr, flush=True)
    assert found is not None
    figures = shown(found)
    if asked.format == "json":
        held = [each._asdict() for each in found.held]
        print(msgspec.json.format(json.dumps(figures | {"held": held}), indent=2))
    else:
        for name, value in figures.items():
            print(f"{name.replace('_', ' ')}: {value}")
    if asked.plot is not None:
        asked.plot.write_text(plot(found))
    return 0 if _is_as_wanted(found, asked.ids) else 1


def _is_as_wanted(found: Found, ids: int) -> bool:
    """Say whether each claim is kept and memory is flat, as far as the run is long enough."""
    claims = found.held[-1].claims
    if found.lines != {"kept": claims} or found.verdict != "kept":
        print(f"not all of {claims} claims were kept: {found.lines}", file=sys.stderr)
        return False
    if claims < 2 * (FULL + 2 * ids):
        print("too short a run to see whether memory is flat", file=sys.stderr)
        return True
    if found.growth > GROWTH:
        print(f"memory grew by {found.growth:.1%} in the second half", file=sys.stderr)
        return False
    print(f"in the second half memory grew by {found.growth:.2%}", file=sys.stderr)
    return True


if __name__ == "__main__":
    raise SystemExit(main())
