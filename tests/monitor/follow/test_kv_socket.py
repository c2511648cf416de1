"""Sockets of KV events are read, and what is missing is asked of the socket that replays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64decode
from pathlib import Path

import pytest

pytest.importorskip("zmq")

from monitor.follow import kv_socket
from monitor.follow.kv_socket import KvSocket
from monitor.follow.streams import Zmq
from monitor.input.dialects import LIVE, Reader
from monitor.input.errors import InputError
from tests.monitor.follow.processes import wait_for
from tests.monitor.follow.publisher import Publisher, publishing
from tests.monitor.follow.reading import Read, reading
from tests.monitor.input.kv_lines import stored


def numbers(read: Read) -> list[tuple[int, int]]:
    """The runs and the numbers of the messages."""
    lines = [json.loads(line) for line in read.lines if line is not None]
    return [
        (each.get("run", 0), int.from_bytes(b64decode(each["frames"][1]), "big")) for each in lines
    ]


def wait(read: Read, *expected: int, run: int = 0, before: int = 0) -> None:
    """Wait until these numbers of a run were read, after so many messages, and no others."""
    wait_for(lambda: len(numbers(read)) >= before + len(expected))
    assert [(run, number) for number in expected] == numbers(read)[before:]


class TestGaps:
    def test_healed(self) -> None:
        """Batches that were dropped on their way are asked for, in their places."""
        with publishing() as engine, reading(KvSocket(engine.address, engine.replay)) as read:
            engine.wait_for_reader()
            for number in range(6):
                engine.publish(stored(number), dropped=number in (2, 3))
            wait(read, 0, 1, 2, 3, 4, 5)

    def test_not_healed(self) -> None:
        """Without such a socket the numbers show what is missing."""
        with publishing() as engine, reading(KvSocket(engine.address)) as read:
            engine.wait_for_reader()
            for number in range(4):
                engine.publish(stored(number), dropped=number == 2)
            wait(read, 0, 1, 3)

    def test_not_kept(self) -> None:
        """So they do where the batches are kept no more."""
        with publishing(kept=2) as engine, reading(KvSocket(engine.address, engine.replay)) as read:
            engine.wait_for_reader()
            engine.publish(stored(0))
            wait(read, 0)
            for number in range(1, 6):
                engine.publish(stored(number), dropped=number < 5)
            wait(read, 0, 4, 5)

    def test_late(self) -> None:
        """Who comes late reads what is kept first, each batch once."""
        with publishing() as engine:
            for number in range(3):
                engine.publish(stored(number))
            with reading(KvSocket(engine.address, engine.replay)) as read:
                engine.wait_for_reader()
                wait_for(lambda: len(numbers(read)) == 3)
                engine.publish(stored(3))
                wait(read, 0, 1, 2, 3)

    def test_last(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The last batch is asked for after some silence: nothing shows that it is missing."""
        monkeypatch.setattr(kv_socket, "TAIL_S", 0.2)
        with publishing() as engine, reading(KvSocket(engine.address, engine.replay)) as read:
            engine.wait_for_reader()
            engine.publish(stored(0))
            engine.publish(stored(1), dropped=True)
            wait(read, 0, 1)


def ran(engine: Publisher, read: Read, count: int) -> None:
    """A run of so many batches was read."""
    engine.wait_for_reader()
    for number in range(count):
        engine.publish(stored(number))
    wait(read, *range(count))


class TestRuns:
    def test_from_the_first(self) -> None:
        """Numbers from 0 on are another run."""
        with publishing() as engine, reading(KvSocket(engine.address, engine.replay)) as read:
            ran(engine, read, 3)
            engine.restart()
            engine.publish(stored(7))
            engine.publish(stored(8))
            wait(read, 0, 1, run=1, before=3)

    def test_further_on(self) -> None:
        """The engine was started again while we were away, and its numbers are past ours: the
        replay has other bytes under our last number, and is read from its beginning.
        """
        with publishing() as engine, reading(KvSocket(engine.address, engine.replay)) as read:
            ran(engine, read, 2)
            engine.restart()
            for number in range(5):
                engine.publish(stored(100 + number), dropped=number < 4)
            wait(read, 0, 1, 2, 3, 4, run=1, before=2)

    def test_silent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same is found after some silence, also where its numbers are below ours."""
        monkeypatch.setattr(kv_socket, "TAIL_S", 0.2)
        with publishing() as engine, reading(KvSocket(engine.address, engine.replay)) as read:
            ran(engine, read, 4)
            engine.restart()
            engine.publish(stored(100), dropped=True)
            wait(read, 0, run=1, before=4)

    def test_beginning_lost(self) -> None:
        """Of another run whose first batches are kept no more, what is kept is read."""
        with publishing() as engine, reading(KvSocket(engine.address, engine.replay)) as read:
            ran(engine, read, 5)
            engine.restart(3)
            engine.publish(stored(100))
            wait(read, 3, run=1, before=5)

    def test_first_lost(self) -> None:
        """The engine was started again, and its first batches came before we were connected: the
        next one would follow ours by its number.
        """
        with publishing() as engine, reading(KvSocket(engine.address, engine.replay)) as read:
            ran(engine, read, 1)
            engine.reopen()
            engine.restart()
            engine.publish(stored(100))  # no reader is there
            engine.wait_for_reader()
            engine.publish(stored(101))
            wait(read, 0, 1, run=1, before=1)

    def test_no_replay(self) -> None:
        """Without a replay socket that cannot be known, so that another run begins."""
        with publishing() as engine, reading(KvSocket(engine.address)) as read:
            ran(engine, read, 1)
            engine.reopen()
            engine.publish(stored(1))
            engine.wait_for_reader()
            engine.publish(stored(2))
            wait(read, 2, run=1, before=1)
            assert [
                "the connection was lost",
                "batches 0 to 1 did not come; --replay asks for what is missing",
            ] == read.breaks

    def test_same_engine(self) -> None:
        """With one, what was missed while the connection was lost is asked for."""
        with publishing() as engine, reading(KvSocket(engine.address, engine.replay)) as read:
            ran(engine, read, 1)
            engine.reopen()
            engine.publish(stored(1))
            engine.wait_for_reader()
            engine.publish(stored(2))
            wait(read, 0, 1, 2)

    def test_keeps_little(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A publisher that keeps no batch, or not the last ones, was not started again."""
        monkeypatch.setattr(kv_socket, "TAIL_S", 0.1)
        for kept in (0, 2):
            with (
                publishing(kept=kept) as engine,
                reading(KvSocket(engine.address, engine.replay)) as read,
            ):
                ran(engine, read, 3)
                engine.forget(1)
                time.sleep(0.5)
                engine.publish(stored(3))
                wait(read, 0, 1, 2, 3)
                assert [] == read.breaks


class TestOthers:
    @pytest.mark.parametrize(("groups", "size"), [(1, 737), (8, 5_900)])
    def test_long_prompts(self, groups: int, size: int) -> None:
        """A step that stores 131,072 tokens in each of eight groups of caches is one line."""
        tokens, hashes = [*range(65_536, 196_608)], range(2**63, 2**63 + 8_192)
        more = {"extra_keys": [None] * 8_192, "kv_cache_spec_kind": "full_attention"}
        event = stored(*hashes, token_ids=tokens, **more)
        with publishing() as engine, reading(KvSocket(engine.address)) as read:
            engine.wait_for_reader()
            engine.publish(*[event | {"group_idx": number} for number in range(groups)])
            wait_for(lambda: bool(read.lines))
            (line,) = read.lines
        assert line is not None
        assert round(len(b64decode(json.loads(line)["frames"][2])) / 1_000) == size
        (record,) = Reader("x", LIVE).feed(line, 1)
        assert sum(len(event.keys) for event, _ in record.events) == groups * 8_192

    def test_too_long(self) -> None:
        """A message that is no line is a line that is too long."""
        with publishing() as engine, reading(KvSocket(engine.address)) as read:
            engine.wait_for_reader()
            engine.publish(stored(*["x" * 200] * 40_000))
            wait_for(lambda: bool(read.lines))
            assert [None] == read.lines

    def test_too_large(self) -> None:
        """ZMQ closes a connection for a message that is too large; it is made again."""
        with publishing() as engine, reading(KvSocket(engine.address)) as read:
            engine.wait_for_reader()
            engine.publish(stored(*["x" * 200] * 90_000))
            engine.wait_for_reader()
            engine.publish(stored(1))
            wait(read, 1, run=0)

    def test_negative(self) -> None:
        """A number below 0 is no end, and is refused by who reads lines."""
        with publishing() as engine, reading(KvSocket(engine.address)) as read:
            engine.wait_for_reader()
            engine._socket.send_multipart((b"", b"\xff" * 8, b"x"))
            engine.publish(stored(0))
            wait_for(lambda: len(read.lines) == 2)
            line = read.lines[0] or b""
        with pytest.raises(InputError, match="the sequence number is negative"):
            Reader("t", LIVE).feed(line, 1)

    def test_endless(self) -> None:
        """An answer whose numbers do not rise is no answer."""
        with publishing() as engine, reading(KvSocket(engine.address, engine.replay)) as read:
            engine.answers = [0, 0, 0]
            engine.wait_for_reader()
            engine.publish(stored(0), dropped=True)
            engine.publish(stored(1))
            wait_for(lambda: 1 in [number for _, number in numbers(read)])
            assert any("does not answer" in why for why in read.breaks)

    def test_other_frames(self) -> None:
        """A message in another form is passed on, and refused by who reads lines."""
        with publishing() as engine, reading(KvSocket(engine.address)) as read:
            engine.wait_for_reader()
            engine._socket.send_multipart((b"one", b"two"))
            wait_for(lambda: bool(read.lines))
            assert 2 == len(json.loads(read.lines[0] or b"")["frames"])

    def test_as_lines(self) -> None:
        """A reader of lines names such a socket for what it is."""
        with publishing() as engine, reading(Zmq(engine.address)) as read:
            engine.wait_for_reader()
            engine.publish(stored(0))
            wait_for(lambda: read.end is not None)
            assert f"these are KV events of an engine: follow {engine.address}" == read.end


class TestFollow:
    def test_command(self, tmp_path: Path) -> None:
        """`follow` reads two sockets, says what they are, and ends with 3: there are no claims."""
        with publishing() as one, publishing() as other:
            command = [sys.executable, "-m", "monitor", "follow", one.address, other.address]
            command += ["--replay", one.replay, "--replay", other.replay]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                for number, engine in enumerate((one, other)):
                    engine.wait_for_reader()
                    for each in range(number + 2):
                        engine.publish(stored(each))
                time.sleep(3)
                os.kill(process.pid, signal.SIGTERM)
                said = process.communicate(timeout=30)[0]

        assert 3 == process.returncode
        assert said.startswith("inconclusive  5 lines read")
        assert 2 == said.count("no claim")
        for engine, count in ((one, 2), (other, 3)):
            form = f"KV events of vLLM: {count} batches, none missing, {count} BlockStored"
            assert f"{engine.address}: {form}" in said

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            (["tcp://127.0.0.1"], "no host and port; such as tcp://127.0.0.1:5557"),
            (["tcp://127.0.0.1:0"], "no host and port; such as tcp://127.0.0.1:5557"),
            (["tcp://127.0.0.1:1", "--replay", "x"], "no ZMQ address"),
            (["tcp://127.0.0.1:1", "--until-eof"], "what is published has no end"),
            (["-", "--replay", "tcp://127.0.0.1:1"], "1 --replay for 0 sockets of KV events"),
        ],
    )
    def test_refused(self, arguments: list[str], error: str) -> None:
        """An address that is none, and a replay that belongs to no socket, is bad input."""
        command = [sys.executable, "-m", "monitor", "follow", *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, input=""
        )

        assert (2, "") == (done.returncode, done.stdout)
        assert error in done.stderr

    def test_resumed(self, tmp_path: Path) -> None:
        """With a checkpoint it goes on, and what comes then is another run."""
        with publishing() as engine:
            for number in range(2):
                engine.publish(stored(number))
                command = [sys.executable, "-m", "monitor", "follow", engine.address]
                command += ["--replay", engine.replay, "--checkpoint", str(tmp_path / "c")]
                with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                    engine.wait_for_reader()
                    time.sleep(3)
                    os.kill(process.pid, signal.SIGTERM)
                    said = process.communicate(timeout=30)[0]
                assert 3 == process.returncode

        assert "KV events of vLLM: 2 batches, none missing, 2 BlockStored" in said
        assert "no claim" in said


class TestSaid:
    def test_gap(self) -> None:
        """What cannot be asked for is reported when it is found."""
        with publishing(kept=2) as engine, reading(KvSocket(engine.address, engine.replay)) as read:
            ran(engine, read, 1)
            for number in range(1, 6):
                engine.publish(stored(number), dropped=number < 5)
            wait(read, 0, 4, 5)
            assert ["batches 1 to 3 did not come; the engine keeps no more"] == read.breaks

    def test_no_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A replay socket that does not answer is reported once after each batch: whether another
        one followed is not known.
        """
        monkeypatch.setattr(kv_socket, "_NEXT_MS", 50)
        monkeypatch.setattr(kv_socket, "TAIL_S", 0.1)
        with publishing() as engine, reading(KvSocket(engine.address, "tcp://127.0.0.1:1")) as read:
            engine.wait_for_reader()
            wait_for(lambda: bool(read.breaks))
            engine.publish(stored(0))
            wait(read, 0)
            wait_for(lambda: len(read.breaks) > 1)
            time.sleep(0.5)
            why = "tcp://127.0.0.1:1 does not answer, so batches may be missing"
            assert [why, why] == read.breaks

    def test_publishers_address(self) -> None:
        """The address of an engine's configuration is none that one can connect to."""
        command = [sys.executable, "-m", "monitor", "follow", "tcp://*:5557"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

        assert 2 == done.returncode
        assert "* is for who publishes; name a host: tcp://127.0.0.1:5557" in done.stderr
