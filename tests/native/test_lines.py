"""The core reads the lines that the reader in Python reads, and takes them for the same events."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from monitor.native.judge import NativeJudge
from monitor.samples import sample
from spec.events.canonical import Event
from tests.native.differential import differs, read

LINES: Final = [
    *sample("hard_protected_victim").read_bytes().splitlines(),
    *sample("offloadable_restore").read_bytes().splitlines(),
    b'{"kind":"request_refused","request_id":"r","lowest_priority":0,"priority":-1,"capacity":null,'
    b'"proof":{"resident":1,"active":2,"total":3,"usable":4,"shortfall":5},"reason":"no"}',
    b'{"kind": "block_cached", "claim_id": "c", "block_ids": [0, "x", 1000000000], "group": 0, '
    b'"positions": [0, 1, 2], "keys": [5, "k", 9223372036854775808], "from_tier": false}',
]
PARTS: Final = [
    *(bytes([byte]) for byte in b'"\\{}[]:, \t\r\n\x0b\x0c\x00\x1f\x7f\x80\xff'),
    *"é 漢 😀".encode().split(),
    *b"\xed\xa0\x80 \xc0\x80 \xe6\xbc 0 -0 00 1.0 1e3 nul null true false".split(),
    *rb'\u0061 \ud83d\ude00 \ud83d \ude00 \n \x \" "" "a" "\u0061" {} []'.split(),
    *(str(sign * 2**power + more).encode() for sign in (1, -1) for power in (31, 53, 63, 64, 127)
      for more in (-1, 0, 1)),
    *(b"9" * count for count in (9, 10, 18, 19, 20, 40, 4300, 4301)),
    *b'"kind": "stream": "claim_id": "keys": "content_keys": "other":'.split(),
    *(b"x" * count for count in (7, 8, 1023, 1024, 1025)),
    "é".encode() * 1024,
]  # fmt: skip
ENDS: Final = b',:{}[]"'


def changed(line: bytes, chance: Random) -> bytes:
    """The line with something else in some of its places."""
    for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
        places = [at for at, byte in enumerate(line) if byte in ENDS] or [0]
        start = chance.choice(places) + chance.randrange(2)
        stop = chance.choice([start, start, min([each for each in places if each > start] or [0])])
        line = line[:start] + chance.choice(PARTS) + line[max(start, stop) :]
    return line


@pytest.mark.parametrize("seed", range(12))
def test_changed_lines(seed: int) -> None:
    """Both readers take a line with other bytes in it for the same event, or both refuse it."""
    chance = Random(seed)
    text = b"\n".join(changed(chance.choice(LINES), chance) for _ in range(150))
    assert differs(text, None) is None


@pytest.mark.parametrize("seed", range(4))
def test_blocks(seed: int) -> None:
    """Of a block the lines before the first that Python must read are taken, blank ones too."""
    chance = Random(seed)
    for _ in range(60):
        lines = [changed(chance.choice([b" \t\r", *LINES]), chance) for _ in range(5)]
        lines = b"\n".join(lines).split(b"\n")
        taken = 0
        for line in lines:
            if line.strip() and not isinstance(read(line, 1), Event):
                break
            taken += 1
        size = len(b"".join(line + b"\n" for line in lines[:taken]))
        block = b"\n".join(lines) + b"\n"
        assert (size, taken) == NativeJudge().feed(block)
        assert (size, taken) == NativeJudge().feed(b"{}" + block, 1, 2)


def claim(text: bytes, *, stream: bytes = b"s") -> bytes:
    """A line about a claim, with the text of its id as it lies in the line."""
    return b'{"kind":"claim_rejected","stream":"%s","claim_id":"%s"}' % (stream, text)


TEXTS: Final = [
    b"a", b"a", rb"\u0061", b"a ", rb"a\"b", b'a"b', rb"a\"b", rb"a\\", rb"a\\", b"a\\", b"",
    b"a", "é".encode(), rb"\u00e9", "é".encode(), "é".encode()[:1], b"a\nb", rb"a\nb", rb"a\nb",
    b"ab", b"a",
]  # fmt: skip
"""Each is as the one before, nearly, or not at all."""


def test_the_same_again() -> None:
    """A text is taken for the one that the field had last only where it is that one."""
    lines = [claim(text) for text in TEXTS] + [claim(b"c", stream=text) for text in TEXTS]
    assert differs(b"\n".join(lines), None) is None


@pytest.mark.parametrize("more", range(2))
def test_names_that_are_gone(more: int) -> None:
    """So it is where the core gives the place of a name that nothing holds to another."""
    judge, line = NativeJudge(), b'{"kind":"claim_rejected","claim_id":"%s","reason":"%s"}'
    for number in range(5_000):
        text = b"%d" % number
        assert judge.feed(line % (b"c", text))[1]
        if number >= more:
            assert (0, 0) == judge.feed(line % (b'\\"' + text, b'"' + text))
