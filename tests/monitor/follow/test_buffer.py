"""The buffer between readers and the judge: bounded, in order, and it counts what it drops."""

from __future__ import annotations

import threading

from monitor.follow.buffer import Batch, Break, Buffer, Drop, End, Item, WhenFull


def batch(number: int, lines: int = 1, source: str = "a") -> Batch:
    return Batch(source, [str(number).encode()] * lines, {"offset": number})


def drained(buffer: Buffer) -> list[Item]:
    found = []
    while (item := buffer.get(0)) is not None:
        found.append(item)
    return found


class TestGap:
    def test_dropped_are_counted_in_their_place(self) -> None:
        """What does not fit is dropped; how much, is reported before what comes after it."""
        buffer = Buffer(WhenFull.GAP, most=60)
        for number in range(4):
            buffer.put(batch(number, lines=2))
        first = buffer.get(0)
        buffer.put(batch(4))
        assert batch(0, 2) == first
        assert [Drop("a", 6, {"offset": 3}), batch(4)] == drained(buffer)
        assert 0 == buffer.size

    def test_dropped_last(self) -> None:
        """What was dropped is reported though nothing comes after it."""
        buffer = Buffer(WhenFull.GAP, most=1)
        for number in range(3):
            buffer.put(batch(number))
        buffer.put(End("a"))
        assert [batch(0), Drop("a", 2, {"offset": 2}), End("a")] == drained(buffer)

    def test_of_each_source(self) -> None:
        """Each source has its own count, and none is lost."""
        buffer = Buffer(WhenFull.GAP, most=1)
        for source in ("a", "a", "b", "b"):
            buffer.put(batch(1, source=source))
        position = {"offset": 1}
        assert [batch(1), Drop("a", 1, position), Drop("b", 2, position)] == drained(buffer)


class TestBlock:
    def test_waits(self) -> None:
        """Where it is full, the reader waits, and nothing is lost."""
        buffer = Buffer(WhenFull.BLOCK, most=60)
        sent = [batch(number) for number in range(50)]
        reader = threading.Thread(target=lambda: [buffer.put(each) for each in sent])
        reader.start()
        found: list[Item] = []
        while len(found) < len(sent):
            assert buffer.size <= 60 + 64 + 2
            if (item := buffer.get(5.0)) is not None:
                found.append(item)
        reader.join()
        assert sent == found

    def test_closed(self) -> None:
        """A reader that waits goes on when no more is taken in."""
        buffer = Buffer(WhenFull.BLOCK, most=1)
        buffer.put(batch(0))
        reader = threading.Thread(target=buffer.put, args=(batch(1),))
        reader.start()
        buffer.close()
        reader.join(5.0)
        assert not reader.is_alive()
        assert [batch(0)] == drained(buffer)


class TestPaused:
    def test_others_go_on(self) -> None:
        """What waits of a source that is paused stays, in order, and takes no room from others."""
        buffer = Buffer(WhenFull.GAP, most=60)
        buffer.put(batch(0))
        assert buffer.get(0, {"a"}) is None
        assert (True, False) == (buffer.has("a"), buffer.has("b"))
        for number in range(3):
            buffer.put(batch(number, source="b"))
        assert batch(0, source="b") == buffer.get(0, {"a"})
        buffer.put(End("b"))
        assert [Drop("b", 2, {"offset": 2}), End("b")] == [buffer.get(0, {"a"}) for _ in range(2)]
        assert buffer.get(0, {"a"}) is None
        assert [batch(0)] == drained(buffer)
        assert (False, 0) == (buffer.has("a"), buffer.size)

    def test_dropped(self) -> None:
        """What was dropped of it is reported when it goes on."""
        buffer = Buffer(WhenFull.GAP, most=1)
        assert buffer.get(0, {"a"}) is None
        for number in range(2):
            buffer.put(batch(number))
        assert batch(0) == buffer.get(0)
        assert buffer.get(0, {"a"}) is None
        assert buffer.has("a")
        assert Drop("a", 1, {"offset": 1}) == buffer.get(0)


def test_breaks_are_not_repeated() -> None:
    """A source that is interrupted again and again adds one mark, not one each time."""
    buffer = Buffer(WhenFull.BLOCK)
    for _ in range(9):
        buffer.put(Break("a", "lost"))
    assert [Break("a", "lost")] == drained(buffer)
