"""Makes of clean lines what is delivered: out of order, twice, late, torn, or not at all."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import NamedTuple

__all__ = ["WINDOW", "Delivery", "delivered"]

WINDOW = 64
"""Lines of a stream for which a follower waits."""

_NEAR = 12  # so far a line is moved within the window
_FAR = 4 * WINDOW * 4  # and so far beyond it, where four streams are interleaved
_BLOCK = 80


class Delivery(NamedTuple):
    """What is written at once; before it the file is rotated, or the connection is cut."""

    content: bytes
    break_before: bool


def delivered(
    chance: Random, lines: list[bytes], counts: Counter[str], *, whole: bool, reorder: bool
) -> list[Delivery]:
    """The lines as they are delivered.

    Args:
        counts: what was done to them, by its name.
        whole: nothing is lost, so that a follower comes to the same verdicts.
        reorder: the follower puts lines into order, within `WINDOW`.
    """
    found: list[Delivery] = []
    later: list[tuple[int, bytes]] = []  # lines that come late, with the number of the block
    for number, start in enumerate(range(0, len(lines), _BLOCK)):
        block = [line + b"\n" for line in lines[start : start + _BLOCK]]
        if reorder and chance.random() < 0.5:
            _move(chance, block, counts)
        if reorder and chance.random() < 0.4:
            _repeat(chance, block, counts)
        if not whole and chance.random() < 0.25:
            block = _harmed(chance, block, later, number, counts)
        block += [line for due, line in later if due == number]
        is_break = number > 0 and chance.random() < 0.08
        counts["breaks"] += is_break
        found.append(Delivery(b"".join(block), is_break))
    if last := b"".join(line for due, line in later if due > number):
        found.append(Delivery(last, False))
    return found


def _move(chance: Random, block: list[bytes], counts: Counter[str]) -> None:
    for _ in range(chance.randint(1, 6)):
        where = chance.randrange(len(block))
        block.insert(where + chance.randint(0, _NEAR), block.pop(where))
        counts["moved"] += 1


def _repeat(chance: Random, block: list[bytes], counts: Counter[str]) -> None:
    for _ in range(chance.randint(1, 4)):
        where = chance.randrange(len(block))
        block.insert(where + chance.randint(1, _BLOCK), block[where])
        counts["repeated"] += 1


def _harmed(
    chance: Random,
    block: list[bytes],
    later: list[tuple[int, bytes]],
    number: int,
    counts: Counter[str],
) -> list[bytes]:
    """Some lines are lost, torn, or come too late.

    That a stream is closed is never lost here: without it nobody could see that its last lines are.
    """
    open_ = [at for at, line in enumerate(block) if b'"stream_closed"' not in line]
    if not open_:
        return block
    at = chance.choice(open_)
    match chance.randrange(4):
        case 0:
            size = chance.randint(1, 5)
            gone = {each for each in open_ if at <= each < at + size}
            counts["lost"] += len(gone)
            return [line for each, line in enumerate(block) if each not in gone]
        case 1:
            block[at] = block[at][: chance.randrange(1, len(block[at]) - 1)] + b"\n"
            counts["torn"] += 1
        case 2:
            later.append((number + chance.randint(1, 1 + _FAR // _BLOCK), block.pop(at)))
            counts["late"] += 1
        case _:
            block.insert(at, chance.randbytes(chance.randint(1, 200)) + b"\n")
            counts["garbage"] += 1
    return block
