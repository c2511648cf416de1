"""The monitor inside the process: live verdicts in a file and on a socket."""

import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from monitor.__main__ import main
from monitor.live.feed import Live
from monitor.live.lines import LiveEnd, LiveLimit, LiveLine, LiveVerdict
from runtime_hooks.settings.config import Drill, SettingsError
from runtime_hooks.trace.inline import Inline
from runtime_hooks.trace.journal import Journal, Line
from runtime_hooks.trace.socket import Broadcast
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Mark, StreamMark
from spec.language.verdicts import Verdict
from tests.runtime_hooks.tiny import TinyEngine, claim

Capture = pytest.CaptureFixture[str]
MODES = (Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.EXPIRING)
UNTOLD = Drill(suppress=(Kind.REQUEST_REFUSED,))


def story(**settings: object) -> list[Line]:
    """A hard claim, and a request that does not fit beside it."""
    engine = TinyEngine(**settings)
    engine.serve("resident", 60, claim())
    engine.serve("active", 70)
    return engine.lines()


def judge(lines: list[Line]) -> LiveVerdict:
    """The last verdict on the only claim."""
    live = Live("tiny", MODES)
    for line in lines:
        live.take(line)
    (verdict,) = live.changes(final=True)
    return verdict


class TestLive:
    def test_kept(self) -> None:
        """A claim that was kept is satisfied in the end."""
        verdict = judge(story())
        assert (Verdict.SATISFIED, Mode.HARD_PROTECTED) == (verdict.verdict, verdict.mode)

    def test_violated(self) -> None:
        """One that was broken is violated, by name and place."""
        verdict = judge(story(drill=UNTOLD))
        assert Verdict.VIOLATED is verdict.verdict
        assert ("explicit_conflict_action", 10) == (verdict.heaviest, verdict.sequence)

    def test_own_mode(self) -> None:
        """A demotable claim is judged as one, though it would break hard_protected."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim(mode="demotable"))
        engine.serve("active", 70)
        verdict = judge(engine.lines())
        assert (Mode.DEMOTABLE, Verdict.SATISFIED) == (verdict.mode, verdict.verdict)

    def test_gap(self) -> None:
        """An event that is missing makes it inconclusive."""
        lines = story()
        assert Verdict.INCONCLUSIVE is judge([e for e in lines if e.sequence != 4]).verdict

    def test_cut(self) -> None:
        """So does an end that is missing."""
        assert Verdict.INCONCLUSIVE is judge(story()[:-1]).verdict

    def test_too_early(self) -> None:
        """Between two looks nothing is reported, and what has not changed is not reported twice."""
        live = Live("tiny", MODES)
        lines = story()
        for line in lines[:6]:
            live.take(line)
        assert 1 == len(live.changes())
        for line in lines[6:]:
            live.take(line)
        assert [] == live.changes()
        assert 1 == len(live.changes(final=True))

    def test_rejected(self) -> None:
        """A claim that was turned away has no verdict."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim(value=1))
        live = Live("tiny", MODES)
        for line in engine.lines():
            live.take(line)
        assert [] == live.changes(final=True)

    def test_too_many(self) -> None:
        """More claims than are judged: those that are alive are inconclusive, whatever comes."""
        engine = TinyEngine(usable=200)
        for number in range(3):
            engine.serve(f"r{number}", 10, claim(f"claim:{number}", 10))
        live = Live("tiny", MODES, most=2)
        for line in engine.lines():
            live.take(line)
        limit, *told = live.changes(final=True)
        assert isinstance(limit, LiveLimit)
        assert "live" == limit.limit
        told = [verdict for verdict in told if verdict.claim_id in ("claim:0", "claim:1")]
        assert {Verdict.INCONCLUSIVE} == {verdict.verdict for verdict in told}
        assert {"RC104"} == {verdict.code for verdict in told}


class TestInline:
    def make(self, tmp_path: Path) -> Inline:
        return Inline("tiny", str(tmp_path / "verdicts"), str(tmp_path / "socket"))

    def told(self, tmp_path: Path) -> list[LiveLine]:
        """The lines of the file of verdicts."""
        lines = (tmp_path / "verdicts").read_bytes().splitlines()
        return [msgspec.json.decode(line, type=LiveVerdict | LiveEnd) for line in lines]

    def test_file(self, tmp_path: Path) -> None:
        """Verdicts are written as they change, the last ones marked, and then the end."""
        inline = self.make(tmp_path)
        inline.take(story())
        inline.close()
        first, last, end = self.told(tmp_path)
        assert isinstance(first, LiveVerdict)
        assert isinstance(last, LiveVerdict)
        assert (False, True) == (first.final, last.final)
        assert LiveEnd("tiny") == end
        told = Counter((each.mode.value, each.verdict.value) for each in (first, last))
        assert told == inline.verdicts
        assert "" == inline.alarm
        assert not (tmp_path / "socket").exists()

    def test_alarm(self, tmp_path: Path) -> None:
        """A violation raises the alarm, and then no more claims are accepted."""
        inline = self.make(tmp_path)
        inline.take(story(drill=UNTOLD))
        assert "the monitor found claim claim:a violated" == inline.alarm
        engine = TinyEngine()
        engine.controller._admission._alarm = lambda: inline.alarm
        engine.serve("resident", 60, claim("claim:b"))
        assert inline.alarm == engine.answers[0]["claim"]
        inline.close()

    def test_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A monitor that fails raises the alarm: nobody would see a violation."""
        inline = self.make(tmp_path)
        monkeypatch.delattr(Live, "take")
        journal = Journal("tiny", [inline], 10)
        engine = TinyEngine()
        engine.controller._admission._alarm = lambda: inline.alarm
        journal.write(1, Kind.REQUEST_FINISHED, {"request_id": "r"})
        journal.close()
        engine.serve("resident", 60, claim("claim:b"))
        assert "the monitor has failed" == engine.answers[0]["claim"]
        assert not (tmp_path / "socket").exists()

    def test_missing_end(self, tmp_path: Path) -> None:
        """What was dropped at the end makes the last verdict inconclusive."""
        inline = self.make(tmp_path)
        inline.take([*story()[:-1], StreamMark(kind=Mark.STREAM_CLOSED, sequence=1_000)])
        inline.close()
        last = self.told(tmp_path)[-2]
        assert isinstance(last, LiveVerdict)
        assert Verdict.INCONCLUSIVE is last.verdict


class TestFollow:
    @pytest.mark.parametrize(("drill", "code"), [(Drill(), 0), (UNTOLD, 1)], ids=["kept", "broken"])
    def test_exit(self, tmp_path: Path, drill: Drill, code: int, capsys: Capture) -> None:
        """It prints verdicts until the process ends, and exits by the last."""
        path = str(tmp_path / "socket")
        inline = Inline("tiny", str(tmp_path / "verdicts"), path)
        lines, done = story(drill=drill), threading.Event()

        def serve() -> None:
            inline.take(lines[:8])
            while not inline._out._waiting:
                inline.idle()
            inline.take(lines[8:])
            inline.close()
            done.set()

        threading.Thread(target=serve, daemon=True).start()
        assert code == main(["follow", path])
        assert done.wait(10)
        out = capsys.readouterr().out.splitlines()
        assert out[0].startswith("claim:a  hard_protected, materialized  satisfied")
        assert out[-1].endswith("(final)")

    def test_late(self, tmp_path: Path, capsys: Capture) -> None:
        """Whoever comes late is told what stands; one that leaves early is nobody's concern."""
        path = str(tmp_path / "socket")
        inline = Inline("tiny", str(tmp_path / "verdicts"), path)
        inline.take(story())
        with socket.socket(socket.AF_UNIX) as early:
            early.connect(path)
            inline.idle()
        inline.idle()
        with socket.socket(socket.AF_UNIX) as late:
            late.connect(path)
            inline.idle()
            assert b'"claim_id":"claim:a"' in late.recv(1 << 16)
        inline.close()

    def test_nobody(self, tmp_path: Path, capsys: Capture) -> None:
        """A socket that is not there is bad input."""
        assert 2 == main(["follow", str(tmp_path / "none")])
        assert "no such file" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("sent", "said"),
        [(b"hello\n", "malformed"), (b'{"schema":"x"}\n', "$.schema")],
    )
    def test_not_a_verdict(self, tmp_path: Path, sent: bytes, said: str, capsys: Capture) -> None:
        """What is no verdict is bad input."""
        path = str(tmp_path / "socket")
        out = Broadcast(path)

        self.send(out, sent)
        assert 2 == main(["follow", path])
        assert said in capsys.readouterr().err

    @pytest.mark.parametrize("cut", [0, 20], ids=["after a line", "within one"])
    def test_broken_off(self, tmp_path: Path, cut: int, capsys: Capture) -> None:
        """Where the process breaks off that is reported, and no verdict is the last one."""
        path = str(tmp_path / "socket")
        live = Live("tiny", MODES)
        for line in story():
            live.take(line)
        line = msgspec.json.encode(live.changes(final=True)[0]) + b"\n"
        self.send(Broadcast(path), line + line[:cut])
        assert 3 == main(["follow", path])
        captured = capsys.readouterr()
        assert 1 == captured.out.count("claim:a")
        assert f"interrupted: {path} closed before the last verdicts" in captured.err

    def send(self, out: Broadcast, lines: bytes) -> None:
        """Send these to the first who comes, and end."""

        def serve() -> None:
            while not out._waiting:
                out.accept(lambda: lines)
            out.close()

        threading.Thread(target=serve, daemon=True).start()


class TestBroadcast:
    def test_last(self, tmp_path: Path) -> None:
        """Whoever came before the end gets all of it, however late it came and slowly it reads."""
        path, last = str(tmp_path / "socket"), b"x" * (1 << 20) + b"\n"
        out = Broadcast(path)
        with (
            socket.socket(socket.AF_UNIX) as early,
            socket.socket(socket.AF_UNIX) as late,
            ThreadPoolExecutor() as readers,
        ):
            early.connect(path)
            out.accept(lambda: b"hello\n")
            late.connect(path)
            got = [readers.submit(self.read_all, peer) for peer in (early, late)]
            out.close(last)
            assert [b"hello\n" + last, last] == [each.result(10) for each in got]
        assert not (tmp_path / "socket").exists()

    def read_all(self, peer: socket.socket) -> bytes:
        """What comes until the other side ends."""
        return b"".join(iter(lambda: peer.recv(1 << 16), b""))

    def test_stopped(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that reads nothing is waited for a bounded time, and then cut off."""
        monkeypatch.setattr("runtime_hooks.trace.socket._DRAIN_S", 0.1)
        path = str(tmp_path / "socket")
        out = Broadcast(path)
        with socket.socket(socket.AF_UNIX) as stopped:
            stopped.connect(path)
            out.close(b"x" * (1 << 22))
            assert len(self.read_all(stopped)) < 1 << 22

    def test_slow(self, tmp_path: Path) -> None:
        """A listener that does not read is cut off; nobody waits for it, and others get all."""
        out = Broadcast(str(tmp_path / "socket"))
        with socket.socket(socket.AF_UNIX) as slow, socket.socket(socket.AF_UNIX) as quick:
            slow.connect(str(tmp_path / "socket"))
            quick.connect(str(tmp_path / "socket"))
            out.accept(lambda: b"")
            for _ in range(300):
                out.send(b"x" * 65_535 + b"\n")
                got = 0
                while got < 65_536:
                    got += len(quick.recv(65_536 - got))
                    out.send(b"")
            assert 1 == len(out._waiting)
        out.close()

    def test_many(self, tmp_path: Path) -> None:
        """There are so many listeners and no more, and those that hung up make room."""
        path = str(tmp_path / "socket")
        out = Broadcast(path)
        peers = [socket.socket(socket.AF_UNIX) for _ in range(20)]
        for peer in peers:
            peer.connect(path)
            peer.send(b"garbage")
            out.accept(lambda: b"hello\n")
        assert [b"hello\n"] * 16 + [b""] * 4 == [self.heard(peer) for peer in peers]
        for peer in peers:
            peer.close()
        with socket.socket(socket.AF_UNIX) as late:
            late.connect(path)
            out.accept(lambda: b"hello\n")
            assert b"hello\n" == self.heard(late)
        out.close()

    def heard(self, peer: socket.socket) -> bytes:
        """What a listener got; nothing where it was turned away."""
        try:
            return peer.recv(16)
        except ConnectionResetError:
            return b""

    def test_busy(self, tmp_path: Path) -> None:
        """A socket of another that lets nobody in is not waited for, and is left alone."""
        path = str(tmp_path / "socket")
        with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as first:
            other.bind(path)
            other.listen(0)
            first.connect(path)
            with pytest.raises(SettingsError, match="cannot be made"):
                Broadcast(path)
        assert (tmp_path / "socket").is_socket()

    def test_link(self, tmp_path: Path) -> None:
        """A link that was put there is not followed."""
        (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(SettingsError, match="Address already in use"):
            Broadcast(str(tmp_path / "link"))
        assert not (tmp_path / "elsewhere").exists()

    def test_private(self, tmp_path: Path) -> None:
        """Nobody but its owner can open it."""
        out = Broadcast(str(tmp_path / "socket"))
        assert 0o600 == (tmp_path / "socket").stat().st_mode & 0o777
        out.close()

    def test_left_behind(self, tmp_path: Path) -> None:
        """The socket of a process that is gone is replaced; one that is heard is not."""
        path = str(tmp_path / "socket")
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(path)
        out = Broadcast(path)
        with pytest.raises(SettingsError, match="Address already in use"):
            Broadcast(path)
        out.close()

    def test_file(self, tmp_path: Path) -> None:
        """A file that is no socket is left alone."""
        (tmp_path / "mine").write_text("mine")
        with pytest.raises(SettingsError, match="Address already in use"):
            Broadcast(str(tmp_path / "mine"))
        assert "mine" == (tmp_path / "mine").read_text()

    def test_long(self, tmp_path: Path) -> None:
        """A path that is too long for a socket is named."""
        with pytest.raises(SettingsError, match="too long"):
            Broadcast(str(tmp_path / ("x" * 200)))
