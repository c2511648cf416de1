"""Traces of a real engine come to what they did, and say nothing they need not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from monitor.check.events import EventMonitor
from monitor.check.files import check
from monitor.samples import sample
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import FACTS, REPORTS, Kind
from tests.recordings import FOLDER, ON_GPU, RECORDED, Recorded
from tests.recordings.redact import redacted

PLAIN = re.compile(
    r"(engine|request|identity|object|block):[1-9]\d*|claim:(resident|a|b)|tenant|runtime|refusal|"
    rf"leading_prefix_at_least\(\d+\)|\d+ s|{'|'.join(Mode)}"
)


def kinds(path: Path) -> set[str]:
    """The kinds of the lines of a trace."""
    return {json.loads(line)["kind"] for line in path.read_text().splitlines()}


def texts(path: Path) -> set[str]:
    """The texts of a trace, but for the kinds of its lines."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    values = [value for line in lines for name, value in line.items() if name != "kind"]
    each = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return {one for one in each if isinstance(one, str)}


@pytest.mark.parametrize("recorded", RECORDED + ON_GPU, ids=lambda recorded: recorded.scene)
class TestRecording:
    def test_verdict(self, recorded: Recorded) -> None:
        """The monitor of the file and the one that is fed line by line say the same."""
        path, mode = recorded.path, recorded.mode
        fed = EventMonitor(mode)
        for line in path.read_text().splitlines():
            fed.feed(json.loads(line))
        reports = (
            check([str(path)], mode, Bundle.CONTRACT),
            fed.finish(),
        )

        assert [recorded.verdict] * 2 == [report.verdict for report in reports]
        assert [reports[0].obligations] * 2 == [report.obligations for report in reports]

    def test_theorem(self, recorded: Recorded) -> None:
        """Nothing in it leaves what the theorem assumes."""
        assert check([str(recorded.path)], recorded.mode, Bundle.CONTRACT).theorem.applies

    def test_redacted(self, recorded: Recorded) -> None:
        """The redaction finds nothing more to leave out, and every text is one that may stay."""
        text = recorded.path.read_bytes()

        assert text.splitlines() == redacted(text).splitlines()
        assert set() == {each for each in texts(recorded.path) if not PLAIN.fullmatch(each)}


class TestRecordings:
    def test_files(self) -> None:
        """Each file is a scene that is listed."""
        found = [*FOLDER.glob("*.jsonl"), *FOLDER.glob("gpu/*.jsonl")]
        assert sorted(each.path for each in RECORDED + ON_GPU) == sorted(found)

    def test_what_they_meet(self) -> None:
        """Refusals, victims, harm, ends, restores and their failure all occur."""
        found = set().union(*(kinds(recorded.path) for recorded in RECORDED))
        met = {
            *(Kind.REQUEST_REFUSED, Kind.REQUEST_DEFERRED, Kind.BLOCK_EVICTED, Kind.BLOCK_LOST),
            *(Kind.CLAIM_HARMED, Kind.CLAIM_DEMOTED, Kind.CLAIM_EXPIRED, Kind.CLAIM_OFFLOADED),
            *(Kind.CLAIM_RESTORED, Kind.LOAD_FAILED, Kind.CLAIM_RESTORATION_FAILED),
        }

        assert met <= found
        assert {"stream_opened", "stream_closed"} == found - FACTS - REPORTS


class TestRedacted:
    def test_names(self) -> None:
        """Names of requests, streams and objects go, the same for the same; claims stay."""
        line = (
            b'{"kind":"request_refused","stream":"%s","sequence":%d,"time_ns":%d,'
            b'"request_id":"%s","blocking_claim_ids":["claim:a"]}\n'
        )
        trace = line % (b"host-7", 0, 90, b"x-1") + line % (b"host-7", 1, 97, b"y-2")

        assert redacted(trace) == (
            line % (b"engine:1", 0, 0, b"request:1") + line % (b"engine:1", 1, 7, b"request:2")
        )

    @pytest.mark.parametrize("name", ["hard_protected_refusal", "hard_protected_victim"])
    def test_verdict(self, name: str, tmp_path: Path) -> None:
        """No verdict changes, and where it was decided neither."""
        before, after = sample(name), tmp_path / "after.jsonl"
        after.write_bytes(redacted(before.read_bytes()))
        mode = RECORDED[0].mode
        found = [check([str(path)], mode, Bundle.CONTRACT) for path in (before, after)]
        places = [
            [(o, f.verdict, f.at and f.at.line) for c in r.claims for o, f in c.obligations.items()]
            for r in found
        ]

        assert found[0].verdict == found[1].verdict
        assert places[0] == places[1]
