"""Engines whose ranks are followed, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

import msgspec

from monitor.follow.engines import Engines
from monitor.follow.judge import Judge
from monitor.follow.verdict_line import Counts, VerdictLine, ViolationLine
from monitor.input.reorder_window import Window
from spec.claims.states import Mode
from tests.monitor.input.test_merged import Line, told

__all__ = ["WAIT", "Ranks", "alone", "apart", "by_rank", "engines", "half", "lines_of", "said"]

WAIT = Window(100_000, 10_000_000_000)


def engines(
    counts: Counts | None = None,
    *,
    mode: Mode | None = None,
    wait: Window = WAIT,
    report: Callable[[str], None] = lambda text: None,
    clock: Callable[[], float] = time.monotonic,
) -> Engines:
    """Engines, each judged by judges that count there."""
    counts = counts or Counts()
    return Engines(wait, lambda name: Judge(name, mode, counts), report, clock)


class Ranks:
    """Judges of some sources that share engines, without threads; and what each line decided.

    Attributes:
        notes: what was reported to people.
        rejected: errors of lines that were rejected.
        quiet: for how many seconds nothing came of each source.
        now: the time in seconds.
    """

    def __init__(self, *sources: str, mode: Mode | None = None, wait: Window = WAIT) -> None:
        self.counts, self.notes, self.rejected = Counts(), list[str](), list[str]()
        self.quiet: dict[str, float] = {}
        self.now = 0.0
        self.engines = engines(
            self.counts, mode=mode, wait=wait, report=self.notes.append, clock=lambda: self.now
        )
        self.judges = {
            name: Judge(
                name,
                mode,
                self.counts,
                on_reject=lambda error: self.rejected.append(str(error)),
                engines=self.engines,
            )
            for name in sources
        }
        self.lines: list[VerdictLine] = []

    def silent(self, source: str) -> float:
        """As a follower says it."""
        return self.quiet.get(source, 0.0)

    def all_heard(self, since: float) -> bool:
        """As a follower says it."""
        return since < self.now

    def take(self, source: str, *lines: bytes) -> None:
        """Lines of a source come."""
        for line in lines:
            self.lines += self.judges[source].take(line)

    def look(self) -> None:
        """A follower looks whether ranks are silent."""
        self.lines += self.engines.look(self)

    def finish(self) -> dict[str, str]:
        """The last verdict on each claim, all sources being at their end."""
        for name in self.judges:
            self.lines += self.engines.end(name)
        for last, _ in self.engines.finish():
            self.lines += last
        for judge in self.judges.values():
            self.lines += judge.finish()[0]
        return {line.claim_id: str(line.verdict) for line in self.lines if hasattr(line, "verdict")}


def said(lines: Sequence[VerdictLine]) -> list[tuple[object, ...]]:
    """What lines state, but for where it was read, in the order of claims."""
    return sorted(
        ("violated", line.claim_id, line.obligation, line.why)
        if isinstance(line, ViolationLine)
        else ("", line.claim_id, str(line.verdict), line.state, line.why, str(line.obligations))
        for line in lines
        if hasattr(line, "claim_id")
    )


def apart(content: bytes, **fields: object) -> list[bytes]:
    """The lines, changed so that the stream of the rank has another name than its engine.

    Args:
        fields: what is changed on each line; on its mark `engine` is stated, too.
    """
    found = []
    for line in content.splitlines():
        changed: Mapping[str, object] = msgspec.json.decode(line) | fields
        if "rank" in changed:
            changed = {**changed, "engine": msgspec.json.decode(line)["stream"]}
        found.append(msgspec.json.encode(changed))
    return found


def lines_of(path: Path) -> list[VerdictLine]:
    decoder = msgspec.json.Decoder(VerdictLine)
    return [decoder.decode(line) for line in path.read_bytes().splitlines()]


def alone(lines: list[Line]) -> list[tuple[object, ...]]:
    """What is stated of the lines where they are one stream."""
    ranks = Ranks("one")
    ranks.take("one", *told(lines).splitlines())
    ranks.finish()
    return said(ranks.lines)


def by_rank(lines: list[Line], owners: list[int], ranks: int = 2) -> list[list[bytes]]:
    """The lines as those of ranks."""
    own: list[list[Line]] = [[] for _ in range(ranks)]
    for line, owner in zip(lines, owners, strict=True):
        own[owner].append(line)
    return [told(each, rank, ranks).splitlines() for rank, each in enumerate(own)]


def half(lines: list[Line], seed: int = 5, ranks: int = 2) -> list[list[bytes]]:
    chance = Random(seed)
    return by_rank(lines, [chance.randrange(ranks) for _ in lines], ranks)
