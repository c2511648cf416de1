"""Sets of trace files by chance: of some runs, each of which may go on in another file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.samples import sample
from spec.claims.states import Mode
from spec.events.canonical import EVENT_ENCODER, StreamMark
from tests.streams.edited import edited
from tests.streams.mixed import mixed
from tests.streams.wide import told

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from spec.events.canonical import Event
    from spec.stream.breaks import Line

__all__ = ["rotated"]

_STREAMS: Final = ("run-a", "run-b", "run-c", "")
_SAMPLES: Final = ("allocator_refusal", "offloadable_restore", "offloadable_failed_restore")
_UNREADABLE: Final = b"7\n"


def rotated(chance: Random, folder: Path) -> list[str]:
    """The paths of some files, in any order; few lines of them are missing or spoilt."""
    files: list[list[bytes]] = [[] for _ in range(chance.randint(2, 4))]
    for _ in range(chance.randint(2, 4)):
        for part in _cut(chance, _canonical(chance)):
            chance.choice(files).extend(part)
    if chance.random() < 0.2:  # a file has one form
        files += _cut(chance, _recorded(chance))
    files = [lines for lines in files if lines]
    if chance.random() < 0.1:
        _spoil(chance, chance.choice(files))
    paths = [folder / f"{number}.jsonl" for number in range(len(files))]
    for path, lines in zip(paths, files, strict=True):
        path.write_bytes(b"".join(lines))
    chance.shuffle(paths)
    return [str(path) for path in paths]


def _recorded(chance: Random) -> list[bytes]:
    return sample(chance.choice(_SAMPLES)).read_bytes().splitlines(keepends=True)


def _honest(chance: Random, mode: Mode) -> list[Line]:
    return mixed(chance, mode, 0)


def _canonical(chance: Random) -> list[bytes]:
    of, stream = chance.choice([*Mode]), chance.choice(_STREAMS)
    gaps, unstated = chance.random() < 0.1, chance.random() < 0.1
    make = chance.choice((_honest, mixed, told, edited))
    lines = []
    for number, line in enumerate(make(chance, of)):
        place: dict[str, Any] = {"stream": stream, "sequence": number, "time_ns": line.time_ns}
        if line.mark is not None:
            given: Event | StreamMark = StreamMark(kind=line.mark.kind, **place)
        else:
            (event,) = line.events
            mode = None if unstated and chance.random() < 0.5 else event.mode
            given = msgspec.structs.replace(event, mode=mode, **place)
        if not (gaps and chance.random() < 0.05):
            lines.append(EVENT_ENCODER.encode(given) + b"\n")
    return lines


def _cut(chance: Random, lines: list[bytes]) -> list[list[bytes]]:
    """The lines in up to three parts; mostly in one."""
    ends = sorted(chance.randint(0, len(lines)) for _ in range(chance.choice((0, 0, 1, 2))))
    starts = [0, *ends]
    return [lines[start:end] for start, end in zip(starts, [*ends, len(lines)], strict=True)]


def _spoil(chance: Random, lines: list[bytes]) -> None:
    """A line that cannot be read, or is of an unknown kind, or is there twice."""
    unknown = b'{"kind":"weather_changed","stream":"run-a","sequence":0}\n'
    spoilt = chance.choice([_UNREADABLE, unknown, *lines[:1]])
    lines.insert(chance.randint(0, len(lines)), spoilt)
