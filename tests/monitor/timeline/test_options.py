"""The options by which `check`, `follow` and `watch` write timelines, and what may go wrong."""

from __future__ import annotations

import json
import socket
import sys
import threading
from pathlib import Path

import pytest

import monitor.cli.timelines as timelines
import monitor.timeline.perfetto as perfetto
from monitor.__main__ import main
from monitor.samples import sample
from tests.monitor.follow.receiver import receiving

Capture = pytest.CaptureFixture[str]
VICTIM, REFUSAL = str(sample("hard_protected_victim")), str(sample("hard_protected_refusal"))
WATCH = Path(VICTIM).parent / "watch"
START = ("--start", "2026-01-31T12:00:00Z")


@pytest.fixture(autouse=True)
def _needs_perfetto(request: pytest.FixtureRequest) -> None:
    if "perfetto" in request.node.name:
        pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


def tracks(file: Path) -> set[str]:
    """The names of the tracks of a trace."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    packets = Trace.FromString(file.read_bytes()).packet
    return {p.track_descriptor.name for p in packets if p.HasField("track_descriptor")}


def span_names(content: bytes) -> list[str]:
    """The names of the spans of a file."""
    return [
        span["name"]
        for line in content.splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


class TestCheck:
    @pytest.mark.parametrize(("trace", "code"), [(VICTIM, 1), (REFUSAL, 0)])
    def test_perfetto_beside_the_report(
        self, trace: str, code: int, tmp_path: Path, capsys: Capture
    ) -> None:
        """Both files are written, in folders that are made, and the report is what it is alone."""
        assert code == main(["check", trace])
        alone = capsys.readouterr()
        pftrace, spans = tmp_path / "a" / "run.pftrace", tmp_path / "b" / "spans.json"
        options = ["--perfetto", str(pftrace), "--otlp-spans", str(spans), *START]
        assert code == main(["check", trace, *options])
        assert alone == capsys.readouterr()
        assert "claim:system-prompt" in tracks(pftrace)
        assert "claim claim:system-prompt" in span_names(spans.read_bytes())

    def test_posted(self, capsys: Capture) -> None:
        """Spans are posted to the usual path of a collector."""
        with receiving(lambda path, headers, body: (path, headers, body), (200,), b"{}") as found:
            url, posted = found
            assert 1 == main(["check", VICTIM, "--otlp-spans", url, *START])
        ((path, headers, body),) = posted
        assert ("/v1/traces", "application/json") == (path, headers["Content-Type"])
        assert {"stream", "claim", "request"} == {name.split()[0] for name in span_names(body)}

    @pytest.mark.parametrize(
        ("codes", "answer", "says"),
        [
            ((503,), b"", "HTTP 503"),
            ((302,), b"", "HTTP 302"),
            ((200,), b'{"partialSuccess":{"rejectedSpans":"3"}}', "3 spans were rejected"),
        ],
    )
    def test_refused(
        self, codes: tuple[int, ...], answer: bytes, says: str, capsys: Capture
    ) -> None:
        """Spans that a collector does not take end in exit 2, below the verdict."""
        with receiving(lambda path, headers, body: path, codes, answer) as (url, posted):
            assert 2 == main(["check", VICTIM, "--otlp-spans", f"{url}/in", *START])
        assert posted == ["/in"]
        out, err = capsys.readouterr()
        assert out.startswith("violated:")
        assert (says in err, err.count("\n")) == (True, 1)

    def test_slow(self, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        """A collector that sends a byte now and then is left after a while."""
        monkeypatch.setattr(timelines, "_WITHIN_S", 0.5)
        over = threading.Event()

        def trickle(listener: socket.socket) -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 65000\r\n\r\n")
                while not over.wait(0.1):
                    connection.sendall(b" ")

        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=trickle, args=(listener,))
            thread.start()
            url = f"HTTP://127.0.0.1:{listener.getsockname()[1]}"
            try:
                assert 2 == main(["check", REFUSAL, "--otlp-spans", url, *START])
            finally:
                over.set()
                thread.join()
        out, err = capsys.readouterr()
        assert out.startswith("kept:")
        assert "no answer within" in err

    @pytest.mark.parametrize("option", ["--perfetto", "--otlp-spans"])
    def test_no_input_perfetto(self, option: str, tmp_path: Path, capsys: Capture) -> None:
        """Where no input can be read, a file of an earlier run stays as it was."""
        keep = tmp_path / "keep"
        keep.write_text("mine")
        assert 2 == main(["check", str(tmp_path / "nofile"), option, str(keep)])
        assert ("", "mine") == (capsys.readouterr().out, keep.read_text())

    def test_nobody_listens(self, capsys: Capture) -> None:
        """So does an address at which nobody listens."""
        assert 2 == main(["check", REFUSAL, "--otlp-spans", "http://127.0.0.1:9/", *START])
        out, err = capsys.readouterr()
        assert out.startswith("kept:")
        assert "refused" in err

    def test_no_wall_time(self, tmp_path: Path, capsys: Capture) -> None:
        """Times that count from no date are exit 2, below the verdict, and say what to give."""
        assert 2 == main(["check", VICTIM, "--otlp-spans", str(tmp_path / "spans.json")])
        out, err = capsys.readouterr()
        assert out.startswith("violated:")
        assert "give --start" in err

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
    @pytest.mark.parametrize("option", ["--perfetto", "--otlp-spans"])
    def test_full_disk_perfetto(self, option: str, capsys: Capture) -> None:
        """A disk that is full is exit 2, below the verdict."""
        start = START if option == "--otlp-spans" else ()
        assert 2 == main(["check", VICTIM, option, "/dev/full", *start])
        out, err = capsys.readouterr()
        assert out.startswith("violated:")
        assert "No space left on device" in err

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (["--perfetto", "."], "is a folder"),
            (["--perfetto", "TRACE"], "it is also an input"),
            (["--perfetto", "-"], "it is -"),
            (["--perfetto", "TRACE/x"], "is not a folder"),
            (["--otlp-spans", "TRACE"], "it is also an input"),
            (["--otlp-spans", "http://"], "no web address"),
            (["--otlp-spans", "HTTPS://"], "no web address"),
            (["--otlp-spans", "ftp://127.0.0.1/x"], "give http:// or https://"),
            (["--otlp-spans", "-"], "it is no file here"),
            (["--otlp-spans", ""], "it is empty"),
            (["--perfetto", "x", "--otlp-spans", "x"], "both write x"),
            (["--otlp-spans", "x", "--start", "noon"], "--start noon: no time"),
            (["--otlp-spans", "x", "--start", "1066-10-14"], "no time"),
            (["--start", "2026-01-31"], "--start without --otlp-spans"),
        ],
    )
    def test_mistyped_perfetto(
        self,
        options: list[str],
        says: str,
        tmp_path: Path,
        capsys: Capture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """What cannot be written is refused before anything is judged, and no file is changed."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "TRACE").write_bytes(Path(VICTIM).read_bytes())
        assert 2 == main(["check", "TRACE", *options])
        out, err = capsys.readouterr()
        assert ("", True) == (out, says in " ".join(err.split()))
        assert [tmp_path / "TRACE"] == [*tmp_path.iterdir()]
        assert (tmp_path / "TRACE").read_bytes() == Path(VICTIM).read_bytes()

    def test_without_the_extra(
        self, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without the extra the error names it, and no file is made."""
        name = "perfetto.protos.perfetto.trace.perfetto_trace_pb2"
        monkeypatch.setitem(sys.modules, name, None)
        assert 2 == main(["check", VICTIM, "--perfetto", str(tmp_path / "run.pftrace")])
        out, err = capsys.readouterr()
        assert ("", True) == (out, "pip install '.[perfetto]'" in err)
        assert [] == [*tmp_path.iterdir()]


class TestLive:
    def test_follow_perfetto(self, tmp_path: Path, capsys: Capture) -> None:
        """`follow` writes the lanes of all its sources, beside the verdicts."""
        file = tmp_path / "run.pftrace"
        sources = [VICTIM, REFUSAL]
        assert 1 == main(["follow", *sources, "--until-eof", "--perfetto", str(file)])
        assert {"claim:system-prompt", "active-1"} <= tracks(file)
        assert "violated" in capsys.readouterr().out

    def test_follow_perfetto_is_capped(
        self, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file that is as large as it may be is said on standard error; judging goes on."""
        monkeypatch.setattr(perfetto, "FOLLOWED", 1_500)
        file = tmp_path / "run.pftrace"
        assert 1 == main(["follow", VICTIM, "--until-eof", "--perfetto", str(file)])
        assert "as large as it may be" in capsys.readouterr().err
        assert file.stat().st_size < 1_700
        assert tracks(file)

    def test_follow_perfetto_with_a_checkpoint(self, tmp_path: Path, capsys: Capture) -> None:
        """A timeline that would not go on after a restart is refused."""
        options = ["--perfetto", str(tmp_path / "x"), "--checkpoint", str(tmp_path / "c")]
        assert 2 == main(["follow", VICTIM, "--until-eof", *options])
        assert "--perfetto with --checkpoint" in capsys.readouterr().err

    def test_perfetto_over_another_file(self, tmp_path: Path, capsys: Capture) -> None:
        """Neither the registry of `watch` nor the verdicts of `follow` are written over."""
        registry = tmp_path / "registry.yaml"
        registry.write_bytes((WATCH / "registry.yaml").read_bytes())
        args = ["watch", str(registry), str(WATCH / "capture.jsonl"), "--until-eof"]
        assert 2 == main([*args, "--perfetto", str(registry)])
        assert registry.read_bytes() == (WATCH / "registry.yaml").read_bytes()
        both = ["--perfetto", str(tmp_path / "x"), "--verdicts", str(tmp_path / "x")]
        assert 2 == main(["follow", VICTIM, "--until-eof", *both])
        err = capsys.readouterr().err
        assert "it is also an input" in err
        assert "--perfetto and --verdicts both write" in err

    def test_watch_perfetto(self, tmp_path: Path) -> None:
        """`watch` writes the lanes of its registry."""
        file = tmp_path / "run.pftrace"
        args = [str(WATCH / "registry.yaml"), str(WATCH / "capture.jsonl"), "--until-eof"]
        assert main(["watch", *args, "--perfetto", str(file)]) in (0, 3)
        assert {"system-prompt", "tool-manual"} <= tracks(file)
