"""Verdicts are posted to a collector as log records, and what it keeps reads as what it got."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from monitor.__main__ import main
from monitor.check.files import check_files
from monitor.follow import poster as module
from monitor.follow.addresses import check_endpoint
from monitor.follow.poster import OtlpLogs, log_record
from monitor.follow.verdict_line import ClaimLine, LimitLine, VerdictLine, ViolationLine
from monitor.report.verdict import Place
from spec.claims.states import Mode
from spec.language.errors import SpecError
from spec.stream.outcome import ModeVerdict
from tests.monitor.follow.receiver import receiving
from tests.monitor.follow.test_verdicts_file import LINES
from tests.monitor.follow.traces import trace
from tests.monitor.input.otlp_lines import FORMS, exported

TOKEN = "0123456789abcdef"
VERDICT = msgspec.json.Decoder(VerdictLine)
CLAIM = ClaimLine(
    "id", "s", "run", "a", Mode.EXPIRING, "expired", ModeVerdict.KEPT, "why", Place("s", 1, 1)
)


class Post(NamedTuple):
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def records(self) -> list[Any]:
        (logs,) = self.body["resourceLogs"]
        (scope,) = logs["scopeLogs"]
        assert [{"key": "service.name", "value": {"stringValue": "resident-claims"}}] == (
            logs["resource"]["attributes"]
        )
        assert "resident-claims" == scope["scope"]["name"]
        found: list[Any] = scope["logRecords"]
        return found


@contextmanager
def collector(*codes: int, answer: bytes = b"{}") -> Iterator[tuple[str, list[Post]]]:
    """One that answers with these codes, the last one again and again; and what was posted."""

    def keep(path: str, headers: Message, body: bytes) -> Post:
        return Post(path, dict(headers), json.loads(body))

    with receiving(keep, codes or (200,), answer) as found:
        yield found


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_WAIT_S", 0.01)


def lines_of(posts: list[Post]) -> list[VerdictLine]:
    """The lines that are the bodies of log records."""
    return [VERDICT.decode(r["body"]["stringValue"]) for post in posts for r in post.records]


def attributes(record: Any) -> dict[str, str]:
    return {each["key"]: each["value"]["stringValue"] for each in record["attributes"]}


class TestPosted:
    def test_limit(self) -> None:
        """A limit that was reached is a warning, and has no verdict."""
        line = LimitLine("id", "s", "run", "ids", Place("s", 1, 1), "why")
        record = log_record(line, 7)
        assert (13, "resident_claims.limit") == (record["severityNumber"], record["eventName"])
        said = attributes(record)
        assert ("ids", "run") == (said["resident_claims.limit"], said["resident_claims.stream"])
        assert "resident_claims.verdict" not in said
        assert line == VERDICT.decode(record["body"]["stringValue"])

    def test_form(self) -> None:
        """A log record has the line as its body, what it is about as attributes, a severity, and
        the time at which it was written."""
        violation = log_record(LINES[0], 7)
        assert ("7", 17, "resident_claims.violation") == tuple(
            violation[key] for key in ("observedTimeUnixNano", "severityNumber", "eventName")
        )
        assert "timeUnixNano" not in violation
        said = attributes(violation)
        assert (LINES[0].id, "a", "x", "violated") == tuple(
            said[f"resident_claims.{key}"] for key in ("id", "claim_id", "obligation", "verdict")
        )
        for verdict, entered, severity in (
            (ModeVerdict.KEPT, True, 9),
            (ModeVerdict.INCONCLUSIVE, True, 13),
            (ModeVerdict.INCONCLUSIVE, False, 9),
            (ModeVerdict.VIOLATED, True, 17),
        ):
            claim = msgspec.structs.replace(CLAIM, verdict=verdict, entered=entered)
            record = log_record(claim, 7)
            assert (severity, "resident_claims.claim") == (
                record["severityNumber"],
                record["eventName"],
            )
            assert claim == VERDICT.decode(record["body"]["stringValue"])

    def test_all(self) -> None:
        """Every line is posted once, in order, many in a post; there is no more than it says."""
        many = [msgspec.structs.replace(CLAIM, id=str(number)) for number in range(250)]
        with collector() as (url, posts):
            otlp = OtlpLogs(check_endpoint(url, None), None, pytest.fail)
            otlp.tell([*LINES, *many])
            otlp.close(30.0)
        assert [*LINES, *many] == lines_of(posts)
        assert max(len(post.records) for post in posts) <= 100
        assert {"/v1/logs"} == {post.path for post in posts}
        assert len(posts) < 30
        assert {"application/json"} == {post.headers["Content-Type"] for post in posts}
        assert all("Authorization" not in post.headers for post in posts)
        assert (len(LINES) + 250, 0, 0) == (otlp.posted, otlp.failed, otlp.dropped)

    def test_token(self) -> None:
        """A token is sent as it is asked for."""
        with collector() as (url, posts):
            otlp = OtlpLogs(f"{url}/logs", TOKEN, pytest.fail)
            otlp.tell(LINES[:1])
            otlp.close(30.0)
        assert [("/logs", f"Bearer {TOKEN}")] == [
            (post.path, post.headers["Authorization"]) for post in posts
        ]

    @pytest.mark.parametrize(
        ("codes", "tries", "outcome"),
        [
            ((503, 429, 200), 3, (1, 0)),
            ((504,), 4, (0, 1)),
            ((500, 200), 1, (0, 1)),
            ((404, 200), 1, (0, 1)),
            ((307, 200), 1, (0, 1)),
        ],
    )
    def test_tries(self, codes: tuple[int, ...], tries: int, outcome: tuple[int, int]) -> None:
        """It is tried again after the codes for which OTLP says so, and after no others."""
        told: list[str] = []
        with collector(*codes) as (url, posts):
            otlp = OtlpLogs(url, None, told.append)
            otlp.tell(LINES[:1])
            otlp.close(30.0)
        assert (tries, outcome) == (len(posts), (otlp.posted, otlp.failed))
        assert outcome[1] == len(told)

    @pytest.mark.parametrize(
        ("answer", "failed"),
        [
            (b'{"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "no"}}', 2),
            (b'{"partialSuccess": {"rejectedLogRecords": 99}}', 3),
            (b'{"partialSuccess": {"rejectedLogRecords": -1}}', 0),
            (b'{"partialSuccess": {}}', 0),
            (b"[" * 60_000, 0),
            (b"\xff", 0),
            (b"", 0),
        ],
    )
    def test_partial(self, answer: bytes, failed: int) -> None:
        """What a collector says that it rejected is counted, and not posted again; whatever else
        it says changes nothing."""
        told: list[str] = []
        with collector(answer=answer) as (url, posts):
            otlp = OtlpLogs(url, None, told.append)
            with otlp._queue.mutex:  # so that they are posted at once
                otlp._queue.queue.extend(LINES[:3])
                otlp._queue.unfinished_tasks += 3
                otlp._queue.not_empty.notify()
            otlp.close(30.0)
        assert [3] == [len(post.records) for post in posts]
        assert (3 - failed, failed, bool(failed)) == (otlp.posted, otlp.failed, bool(told))

    def test_never_in_the_way(self) -> None:
        """Where nobody answers nothing waits for it."""
        otlp = OtlpLogs("http://127.0.0.1:9/", None, lambda text: None)
        began = time.monotonic()
        otlp.tell([CLAIM] * 5_000)
        assert time.monotonic() - began < 5.0
        otlp.close(0.0)
        assert 5_000 == otlp.posted + otlp.failed + otlp.dropped


class TestEndpoint:
    @pytest.mark.parametrize(
        ("url", "posts_to"),
        [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/logs"),
            ("http://localhost:4318/", "http://localhost:4318/v1/logs"),
            ("http://[::1]:4318/otlp/logs", "http://[::1]:4318/otlp/logs"),
            ("https://collector.example?a=b", "https://collector.example/v1/logs?a=b"),
        ],
    )
    def test_path(self, url: str, posts_to: str) -> None:
        """Without a path it is the one of the specification."""
        assert posts_to == check_endpoint(url, TOKEN)

    @pytest.mark.parametrize("url", ["http://collector.example", "http://192.0.2.1:4318/v1/logs"])
    def test_clear(self, url: str) -> None:
        """No token goes to another machine in the clear; without one, that is the person's say."""
        with pytest.raises(SpecError, match="in the clear"):
            check_endpoint(url, TOKEN)
        assert check_endpoint(url, None).startswith(url)

    @pytest.mark.parametrize(
        ("args", "says"),
        [
            (["--otlp", "collector"], "--otlp collector: no web address"),
            (["--otlp-token", "t"], "--otlp-token without --otlp"),
            (["--otlp", "https://a.example", "--otlp-token", "none"], "--otlp-token none: no such"),
            (["--otlp", "http://a.example", "--otlp-token", "t"], "in the clear"),
        ],
    )
    def test_command(
        self,
        args: list[str],
        says: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """What a person may mistype is refused before anything is followed."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "t").write_text(TOKEN)
        (tmp_path / "a.jsonl").touch()
        assert 2 == main(["follow", "a.jsonl", "--until-eof", *args])
        assert says in capsys.readouterr().err.lower().replace("no such file", "no such")


def test_round_trip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Events come in as log records, verdicts go out as log records, each as it is in the file of
    verdicts. A file that has both reads as the events alone: the same verdicts."""
    events = [json.loads(line) for line in trace(12)]
    inside, verdicts = tmp_path / "in.jsonl", tmp_path / "verdicts.jsonl"
    lines = [exported(map(FORMS["text"], events[at : at + 9])) for at in range(0, len(events), 9)]
    inside.write_bytes(b"\n".join(lines) + b"\n")
    args = ["follow", str(inside), "--until-eof", "--verdicts", str(verdicts)]
    with collector() as (url, posts):
        assert 1 == main([*args, "--otlp", url])
    capsys.readouterr()
    written = [VERDICT.decode(line) for line in verdicts.read_bytes().splitlines()]
    assert written == lines_of(posts)
    assert any(isinstance(line, ViolationLine) for line in written)

    plain, both = tmp_path / "plain.jsonl", tmp_path / "both.jsonl"
    plain.write_bytes(b"".join(trace(12)))
    kept = [json.dumps(post.body).encode() for post in posts]
    both.write_bytes(b"\n".join([*kept[:1], *lines, *kept[1:]]) + b"\n")
    found, due = check_files(both), check_files(plain)
    assert due.verdict == found.verdict
    assert [(c.claim_id, c.verdict) for c in due.claims] == [
        (c.claim_id, c.verdict) for c in found.claims
    ]
    assert due.obligations == found.obligations
    stated = {line.claim_id: line.verdict for line in written if isinstance(line, ClaimLine)}
    assert stated == {claim.claim_id: claim.verdict for claim in due.claims}
