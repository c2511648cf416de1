"""What files have of a stream decides whether its claims can be judged file by file."""

from __future__ import annotations

from monitor.pool.bloom_filter import digest
from monitor.pool.seen import Recent
from monitor.stream.retired_record import LostIds
from monitor.stream.span import Span
from monitor.stream.stream_part import StreamPart, torn

SPAN = Span("canonical", 0, 9)
A, NONE = frozenset({"claim:a"}), frozenset[str]()
WHOLE = StreamPart("run", A, NONE, True, False, SPAN, None)
TURNED_AWAY = "run run continues in a file in which its claims are not accepted"
ALIVE = "stream run continues in another file, and claims are alive where one file ends"


def without_record(claim_id: str, *recorded: str) -> LostIds:
    """The ids of a stream in which a claim ended of which there is no record."""
    ids = Recent(4)
    ids.add(digest("claim_id", claim_id))
    return LostIds(frozenset(recorded), ids)


class TestTorn:
    def test_whole(self) -> None:
        """Two files of one name may each be whole."""
        assert not torn([WHOLE, WHOLE], "accepted")

    def test_one_file(self) -> None:
        """A stream of one file is not torn, though a claim is alive, and others did not enter."""
        assert not torn([WHOLE._replace(outside=A, open=True)], "accepted")
        assert not torn([WHOLE, WHOLE._replace(name="other", open=True)], "accepted")

    def test_none_entered(self) -> None:
        """A file that goes on with a run has claims that entered elsewhere."""
        rest = WHOLE._replace(inside=NONE, entered=False)
        assert torn([WHOLE, rest], "accepted") == TURNED_AWAY
        assert not torn([rest, rest], "accepted")

    def test_entered_elsewhere(self) -> None:
        """A claim entered in one file, and is in another in which it did not."""
        rest = WHOLE._replace(inside=frozenset({"claim:b"}), outside=A)
        assert torn([WHOLE, rest], "accepted") == TURNED_AWAY
        assert not torn([WHOLE, rest._replace(outside=frozenset({"claim:c"}))], "accepted")

    def test_without_record(self) -> None:
        """It may have entered where no record of it is left."""
        rest = WHOLE._replace(outside=frozenset({"claim:b"}))
        lost = without_record("claim:b")
        assert torn([WHOLE._replace(lost=lost), rest], "accepted") == TURNED_AWAY
        assert not torn([WHOLE, rest._replace(lost=lost)], "accepted")
        known = without_record("claim:b", "claim:b")
        assert not torn([WHOLE._replace(lost=known), rest], "accepted")

    def test_goes_on(self) -> None:
        """A claim is alive where a file ends, and another one may have what follows."""
        rest = WHOLE._replace(inside=frozenset({"claim:b"}))
        assert torn([WHOLE._replace(open=True), rest], "accepted") == ALIVE
        recorded = WHOLE._replace(open=True, span=Span("connector", 0, 9))
        later = rest._replace(span=Span("connector", 10, 19))
        assert torn([recorded, later], "accepted") == ALIVE
        assert not torn([recorded, later._replace(span=Span("connector", 3, 19))], "accepted")
        assert not torn([recorded, rest], "accepted")
