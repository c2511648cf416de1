"""An indexer of NVIDIA Dynamo is asked what it believes; what it answers is not trusted.

The answers are those of `python -m dynamo.indexer` of ai-dynamo-runtime 1.6.1; `tests_dynamo` asks
the indexer itself.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from monitor.input.errors import InputError
from monitor.watch import compare, dynamo_peer, peers
from monitor.watch.compare import Compared, Comparison, Differs, Outcome
from monitor.watch.dynamo_peer import DynamoPeer
from monitor.watch.peers import View
from tests.monitor.input.kv_lines import cleared, removed, stored
from tests.monitor.watch.engine import SIZE, line, prompt
from tests.monitor.watch.watching import Session, write_registry

ENGINE = "tcp://127.0.0.1:5557"
HOT = prompt("hot", 3)
PENDING = {"0": {"endpoint": ENGINE, "status": "pending"}}


def worker(number: int = 1, **fields: Any) -> dict[str, Any]:
    """A worker as `/workers` lists it."""
    about: dict[str, Any] = {"instance_id": number, "source": "zmq", "status": "active"}
    about |= {"model_name": "ti:ny", "routing_group": "default", "block_size": SIZE}
    endpoints = fields.pop("endpoints", {"0": ENGINE})
    listeners = {rank: {"endpoint": e, "status": "active"} for rank, e in endpoints.items()}
    return about | {"endpoints": endpoints, "listeners": listeners} | fields


def routed(*hashes: Any, number: int = 1, tier: str = "device", rank: int = 0) -> dict[str, Any]:
    """An event of `/dump`."""
    blocks = [{"block_hash": e, "tokens_hash": 7, "mm_extra_info": None} for e in hashes]
    stored = {"parent_hash": None, "start_position": None, "blocks": blocks}
    event = {"event_id": 0, "data": {"stored": stored}, "dp_rank": rank}
    about = {"worker_id": number, "storage_tier": tier, "residency_domain": "worker"}
    return about | {"event": event}


def dump(*events: dict[str, Any]) -> dict[str, Any]:
    """An answer to `/dump`."""
    return {"ti:ny:default": {"block_size": SIZE, "events": [*events]}}


class Indexer:
    """What a server answers, and what it was asked."""

    def __init__(self) -> None:
        self.workers: Any = [worker()]
        self.dump: Any = dump()
        self.code, self.drip_s = 200, 0.0
        self.asked: list[tuple[str, str, bytes]] = []
        self.headers: dict[str, str] = {}

    def body(self, path: str) -> bytes:
        """The answer to a question."""
        found = {"/workers": self.workers, "/dump": self.dump}[path]
        return found if isinstance(found, bytes) else json.dumps(found).encode()


@pytest.fixture
def indexer() -> Iterator[tuple[Indexer, str]]:
    """An indexer, and its address."""
    with answering() as found:
        yield found


@contextmanager
def answering() -> Iterator[tuple[Indexer, str]]:
    """The same within a block."""
    says = Indexer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            says.asked.append((self.command, self.path, self.rfile.read(length)))
            body = says.body(self.path)
            self.send_response(says.code)
            for header in says.headers.items():
                self.send_header(*header)
            self.end_headers()
            for at in range(0, len(body), 1 << 16 if not says.drip_s else 1):
                time.sleep(says.drip_s)
                self.wfile.write(body[at : at + (1 << 16 if not says.drip_s else 1)])

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Log no request."""

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    made.block_on_close = False
    made.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield says, f"dynamo:http://127.0.0.1:{made.server_port}"
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked often."""
    monkeypatch.setattr(dynamo_peer, "_ASK_S", 0.05)


def viewed(address: str, *, alone: bool = True, stream: str = ENGINE) -> View | str:
    """The first view after an answer."""
    peer, until = DynamoPeer(address), time.monotonic() + 60
    try:
        while time.monotonic() < until:
            found = peer.view(stream, SIZE, alone=alone)
            if found != "it has not answered yet":
                return found
            time.sleep(0.01)
        return "it has not answered yet"
    finally:
        peer.close()


class TestView:
    def test_blocks(self, indexer: tuple[Indexer, str]) -> None:
        """Blocks are those of the worker, by tier; a tier that it never stated is not there."""
        says, address = indexer
        other = routed(8, number=2)
        says.dump = dump(routed(1, 2), routed(2**64 - 1, tier="host_pinned"), other)
        view = viewed(address)
        assert not isinstance(view, str)
        assert {*view.tiers} == {"gpu", "cpu"}
        known = [view.has(*each) for each in (("gpu", 1), ("gpu", 8), ("cpu", 2**64 - 1))]
        assert known == [True, False, True]

    def test_private(self, indexer: tuple[Indexer, str]) -> None:
        """It is asked for all that it knows: no token, hash or claim is sent to it."""
        says, address = indexer
        viewed(address)
        assert {*says.asked} == {("GET", "/workers", b""), ("GET", "/dump", b"")}

    def test_workers(self, indexer: tuple[Indexer, str]) -> None:
        """Of several workers the one that reads the same socket is compared, by its rank."""
        says, address = indexer
        ranks = {"0": ENGINE, "1": "tcp://127.0.0.1:5558"}
        says.workers = [worker(7, endpoints={"0": "tcp://10.0.0.1:5557"}), worker(endpoints=ranks)]
        says.dump = dump(routed(1), routed(2, rank=1), routed(3, number=7))
        view = viewed(address, stream="tcp://127.0.0.1:5558 rank 1", alone=False)
        assert not isinstance(view, str)
        assert [view.has("gpu", key) for key in (1, 2, 3)] == [False, True, False]

    @pytest.mark.parametrize(
        ("workers", "alone", "said"),
        [
            ([], True, "none of its 0 workers reads"),
            ([worker(endpoints={"0": "tcp://engine:5557"})], False, "none of its 1 worker reads"),
            ([worker(1), worker(2)], True, "2 of its 2 workers reads"),
            ([worker(block_size=16)], True, "its blocks have 16 tokens"),
            ([worker(model_name="other")], True, "it has no index of the worker's model"),
            ([worker(status="initializing")], True, "its worker is initializing, and not active"),
            ([worker(listeners=PENDING)], True, "its worker is pending, and not active"),
        ],
    )
    def test_other_worker(
        self, workers: Any, alone: bool, said: str, indexer: tuple[Indexer, str]
    ) -> None:
        """Where it is not clear which worker is the engine, none is compared."""
        says, address = indexer
        says.workers = workers
        assert str(viewed(address, alone=alone)).startswith(said)

    def test_other_address(self, indexer: tuple[Indexer, str]) -> None:
        """Its only worker is the only engine, also under another name of the host."""
        says, address = indexer
        says.workers = [worker(endpoints={"0": "tcp://engine:5557"})]
        assert not isinstance(viewed(address), str)


class TestHostile:
    @pytest.mark.parametrize(
        "answer",
        [
            b"no JSON",
            b"\xff\xfe",
            b"[" * 100_000,
            b"{}" * 2,
            [],
            {"ti:ny:default": {"events": {}}},
            dump({**routed(1), "worker_id": "1"}),
            dump({**routed(1), "worker_id": -1}),
            dump({**routed(1), "storage_tier": "moon"}),
            dump({**routed(1), "event": {"data": {"removed": {"block_hashes": [1]}}}}),
            dump(routed(1.5)),
            dump(routed(True)),
            dump(routed(2**64)),
            dump(routed("x" * 300)),
            dump(routed(None)),
        ],
        ids=range(15),
    )
    def test_not_understood(self, answer: Any, indexer: tuple[Indexer, str]) -> None:
        """An answer that is not as expected states no blocks."""
        says, address = indexer
        says.dump = answer
        assert str(viewed(address)).startswith("its answer is not understood: ")

    @pytest.mark.parametrize("workers", [{}, [{}], [worker(endpoints={"x": ENGINE})], [[]], b"["])
    def test_workers(self, workers: Any, indexer: tuple[Indexer, str]) -> None:
        """Neither does a list of workers that is none."""
        says, address = indexer
        says.workers = workers
        assert str(viewed(address)).startswith("its answer is not understood: ")

    def test_huge(self, indexer: tuple[Indexer, str], monkeypatch: pytest.MonkeyPatch) -> None:
        """An answer that is too long is not read to its end."""
        monkeypatch.setattr(dynamo_peer, "_MOST_BYTES", 1 << 16)
        says, address = indexer
        says.dump = b" " * (8 << 20)
        assert viewed(address) == "it does not answer: the answer has over 65536 bytes"

    def test_slow(self, indexer: tuple[Indexer, str], monkeypatch: pytest.MonkeyPatch) -> None:
        """An answer that comes byte by byte is given up."""
        monkeypatch.setattr(dynamo_peer, "_ANSWER_S", 0.5)
        says, address = indexer
        says.drip_s = 0.1
        assert str(viewed(address)).startswith("it does not answer: no answer within")

    def test_redirected(self, indexer: tuple[Indexer, str]) -> None:
        """No redirection to another server is followed."""
        says, address = indexer
        with answering() as (other, elsewhere):
            says.code = 302
            says.headers = {"Location": f"{elsewhere.removeprefix('dynamo:')}/workers"}
            assert viewed(address) == "it does not answer: HTTP 302"
            assert other.asked == []

    def test_errors(self, indexer: tuple[Indexer, str]) -> None:
        """Neither an error nor silence states a block."""
        says, address = indexer
        says.code = 500
        assert viewed(address) == "it does not answer: HTTP 500"
        assert str(viewed("dynamo:http://127.0.0.1:9")).startswith("it does not answer: ")

    def test_silent(self, indexer: tuple[Indexer, str], monkeypatch: pytest.MonkeyPatch) -> None:
        """What it said long ago is not what it says now."""
        _, address = indexer
        peer, until = DynamoPeer(address), time.monotonic() + 10
        while isinstance(peer.view(ENGINE, SIZE, alone=True), str):
            assert time.monotonic() < until
            time.sleep(0.01)
        peer.close()
        monkeypatch.setattr(dynamo_peer, "_STALE_S", 0.2)
        time.sleep(0.5)
        peer.view(ENGINE, SIZE, alone=True)
        time.sleep(0.5)
        assert str(peer.view(ENGINE, SIZE, alone=True)).startswith("it has not answered for")

    @pytest.mark.parametrize(
        "address",
        [
            *("dynamo:", "dynamo:http://", "dynamo:ftp://x", "dynamo:http://x:0"),
            *("dynamo:http://x:y", "dynamo:http://user:word@x", "dynamo:http://x/path"),
            "dynamo:http://x?q",
        ],
    )
    def test_address(self, address: str) -> None:
        """Other addresses are refused; a password is not repeated."""
        with pytest.raises(InputError, match="no address of an indexer") as caught:
            DynamoPeer(address)
        assert "word" not in str(caught.value)


class Story:
    """An engine, and an indexer of it, which are compared again and again."""

    def __init__(self, folder: Path, says: Indexer, address: str) -> None:
        claims = [{"id": "hot", "tokens": HOT}]
        self.session, self._says = Session(write_registry(folder, claims)), says
        self._peer = DynamoPeer(address)
        self.changes: list[Any] = []
        self._comparison = Comparison([self._peer], SIZE, lambda *each: self.changes.append(each))
        self._number = 0

    def engine(self, *events: dict[str, Any], time_s: float | None = None) -> None:
        """The engine publishes a batch now."""
        text = line(self._number, [*events], time.time() if time_s is None else time_s)
        self.session.take(text)
        self._number += 1

    def index(self, *hashes: Any, tier: str = "device") -> None:
        """The indexer believes in these blocks, and was asked again since."""
        self._says.dump = dump(routed(*hashes, tier=tier)) if hashes else dump()
        before = len(self._says.asked)
        until = time.monotonic() + 10
        while len(self._says.asked) < before + 5 and time.monotonic() < until:
            time.sleep(0.01)

    def fail(self, code: int) -> None:
        """It answers with this from now on."""
        self._says.code = code

    def compare(self) -> Compared:
        """Compare now."""
        self._comparison.compare([(join, True) for join in self.session.joins.values()])
        (found,) = self._comparison.results()
        return found

    def close(self) -> None:
        """Ask no more."""
        self._peer.close()


@pytest.fixture
def story(
    tmp_path: Path, indexer: tuple[Indexer, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Story]:
    """The story, in which no difference is taken for lag, and silent engines have said all."""
    monkeypatch.setattr(compare, "_LAG_NS", 0)
    monkeypatch.setattr(peers, "_QUIET_S", -1.0)
    made = Story(tmp_path, *indexer)
    yield made
    made.close()


def hot(**fields: Any) -> dict[str, Any]:
    """The prefix is stored, with the hashes 1 to 3."""
    return stored(1, 2, 3, token_ids=HOT, block_size=SIZE, extra_keys=[None] * 3, **fields)


class TestCompared:
    def test_dropped(self, story: Story) -> None:
        """It believes in a block that the engine dropped, since the batch that dropped it."""
        story.engine(hot())
        story.index(1, 2, 3)
        assert story.compare().outcome is Outcome.AGREE
        story.engine(removed(3))
        story.index(1, 2, 3)
        (found,) = story.compare().disagreements
        dropped_ns = story.session.join.now_ns
        assert (found.kind, found.positions, found.batch) == (Differs.PEER_ONLY, "2", 1)
        assert found.since_ns == found.changed_ns == dropped_ns
        story.index(1, 2)
        assert story.compare().outcome is Outcome.AGREE

    def test_fault(self, story: Story) -> None:
        """While it does not answer, it is not compared; then a disagreement is as old as before."""
        story.engine(hot())
        story.index(1, 2, 3)
        story.compare()
        story.engine(removed(3))
        story.index(1, 2, 3)
        (before,) = story.compare().disagreements
        story.fail(500)
        story.index(1, 2, 3)
        result = story.compare()
        assert (result.outcome, result.why) == (
            Outcome.INCONCLUSIVE,
            "it does not answer: HTTP 500",
        )
        story.fail(200)
        story.index(1, 2, 3)
        assert story.compare().disagreements == [before]
        assert [each[3] for each in story.changes] == ["", "it does not answer: HTTP 500", ""]

    def test_forgotten(self, story: Story) -> None:
        """It does not know what the engine holds: since it was asked, if it knew it before."""
        story.engine(hot())
        story.index(1, 2, 3)
        assert story.compare().outcome is Outcome.AGREE
        before = time.time_ns()
        story.index(1)
        (found,) = story.compare().disagreements
        assert (found.kind, found.positions, found.batch) == (Differs.FIRST_ONLY, "1-2", 0)
        assert before <= found.since_ns <= time.time_ns()

    def test_tier(self, story: Story) -> None:
        """It states no tier but the GPU, so copies in host memory are not compared: not until it
        states one there.
        """
        story.engine(hot(), stored(1, 2, medium="CPU", token_ids=[], block_size=0))
        story.index(1, 2, 3)
        result = story.compare()
        assert (result.outcome, result.compared) == (Outcome.AGREE, {"gpu": 3})
        assert result.not_compared == {"cpu": "the peer states no blocks in it"}
        story.index(3, tier="host_pinned")
        found = {(e.tier, e.kind, e.positions) for e in story.compare().disagreements}
        assert found == {
            ("cpu", Differs.FIRST_ONLY, "0-1"),
            ("cpu", Differs.PEER_ONLY, "2"),
            ("gpu", Differs.FIRST_ONLY, "0-2"),
        }

    def test_cleared(self, story: Story) -> None:
        """An engine that cleared its cache holds none of the blocks that it still believes in."""
        story.engine(hot())
        story.engine(cleared())
        story.index(1, 2, 3)
        (found,) = story.compare().disagreements
        assert (found.kind, found.blocks) == (Differs.PEER_ONLY, 3)

    @pytest.mark.parametrize(
        "hashes", [(), (101, 102), ("1", "2", "3"), (2**64 - 1,)], ids=range(4)
    )
    def test_unrelated(self, hashes: tuple[Any, ...], story: Story) -> None:
        """An indexer that states no hash of a registered prefix is not compared: it may name blocks
        by others, read another engine, or have come late.
        """
        story.engine(hot())
        story.index(*hashes)
        result = story.compare()
        assert (result.outcome, result.disagreements) == (Outcome.INCONCLUSIVE, [])
        assert result.why == "no hash that it states is known of a registered prefix"

    def test_lost_all(self, story: Story) -> None:
        """An indexer that stated a block of the engine and states none any more is compared."""
        story.engine(hot())
        story.index(1)
        story.compare()
        story.index()
        (found,) = story.compare().disagreements
        assert (found.kind, found.positions) == (Differs.FIRST_ONLY, "0-2")

    def test_paused(self, story: Story) -> None:
        """Where batches of the engine may be missing, none is compared, and that is said."""
        story.engine(hot())
        story.index(1)
        assert story.compare().outcome is Outcome.DISAGREE
        story.session.join.pause("the connection was lost")
        result = story.compare()
        assert (result.outcome, result.disagreements) == (Outcome.INCONCLUSIVE, [])
        assert story.changes[-1][3] == (
            "batches of the first observer may be missing: the connection was lost"
        )


def test_behind(
    tmp_path: Path, indexer: tuple[Indexer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine whose old batches are still being read is not compared with what is known now."""
    monkeypatch.setattr(compare, "_LAG_NS", 0)
    story = Story(tmp_path, *indexer)
    try:
        story.engine(hot(), time_s=100)
        story.engine(removed(1, 2, 3), time_s=200)
        story.index(1, 2, 3)  # stored again since
        for number in range(5):
            story.engine(time_s=300 + number)
            result = story.compare()
            assert (result.outcome, result.disagreements) == (Outcome.INCONCLUSIVE, [])
        story.engine(hot())
        assert story.compare().outcome is Outcome.AGREE
    finally:
        story.close()
