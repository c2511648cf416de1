"""A follower ends by a signal with a verdict, and opens its files again by another."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.monitor.follow.processes import finish, following, wait_for
from tests.monitor.follow.traces import trace

SAMPLES = Path(__file__).parents[3] / "monitor" / "samples"
KEPT = (SAMPLES / "hard_protected_refusal.jsonl").read_bytes()
VIOLATED = (SAMPLES / "hard_protected_victim.jsonl").read_bytes()


def schemas(path: Path) -> list[str]:
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [msgspec.json.decode(line)["schema"].split("/")[1] for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_end_by_the_verdict(number: int, tmp_path: Path) -> None:
    """What was received is judged, and the exit code is that of the verdict."""
    source, verdicts = tmp_path / "a.jsonl", tmp_path / "v.jsonl"
    source.write_bytes(KEPT)
    with following(source, "--verdicts", verdicts) as process:
        wait_for(lambda: schemas(verdicts) == ["followed-claim"])
        code, out, err = finish(process, number)
    assert (0, "") == (code, err)
    assert out.startswith("kept  14 lines read\n")


def test_a_violation_is_stated_at_once(tmp_path: Path) -> None:
    """It is in the file, and printed, while the follower goes on; and so it is after a rotation."""
    source, verdicts = tmp_path / "a.jsonl", tmp_path / "v.jsonl"
    lines = VIOLATED.splitlines(keepends=True)
    source.write_bytes(b"".join(lines[:7]) + lines[7][:20])
    with following(source, "--verdicts", verdicts, "--format", "json") as process:
        wait_for(lambda: schemas(verdicts) == ["followed-violation"])
        old = verdicts.rename(tmp_path / "v.jsonl.1")
        process.send_signal(signal.SIGHUP)
        wait_for(verdicts.exists)
        with source.open("ab") as file:
            file.write(lines[7][20:] + b"".join(lines[8:]))
        wait_for(lambda: schemas(verdicts) == ["followed-violation"])
        assert ["followed-violation"] == schemas(old)
        code, out, err = finish(process)
    assert (1, "") == (code, err)
    assert ["followed-violation", "followed-claim"] == schemas(verdicts)
    assert ["followed-violation", "followed-violation", "followed-end"] == [
        msgspec.json.decode(line)["schema"].split("/")[1] for line in out.splitlines()
    ]


@pytest.mark.slow
def test_goes_on_after_a_stop(tmp_path: Path) -> None:
    """With a checkpoint, a stop states no verdict on a claim that is not over, and loses none."""
    source, verdicts = tmp_path / "a.jsonl", tmp_path / "v.jsonl"
    options = ["--verdicts", verdicts, "--checkpoint", tmp_path / "c"]
    lines = KEPT.splitlines(keepends=True)
    source.write_bytes(b"".join(lines[:8]))
    with following(source, *options, "--checkpoint-every", 0) as process:
        wait_for(lambda: any((tmp_path / "c").glob("*.bin")))
        code, _, _ = finish(process)
    assert (0, []) == (code, schemas(verdicts))
    with source.open("ab") as file:
        file.write(b"".join(lines[8:]))
    with following(source, *options, "--until-eof") as process:
        out, err = process.communicate(timeout=60)
    assert (0, "") == (process.returncode, err)
    assert out.startswith("kept  14 lines read\n")
    assert ["followed-claim"] == schemas(verdicts)


def test_standard_input(tmp_path: Path) -> None:
    """Standard input is followed to its end."""
    with following("-", "--format", "json", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        out, err = process.communicate(b"".join(trace(3)).decode(), timeout=60)
    assert "" == err
    assert 1 == process.returncode
    end = {"schema": "resident-claims/followed-end/1", "verdict": "violated"}
    assert end | {"read": len(trace(3))} == msgspec.json.decode(out.splitlines()[-1])
