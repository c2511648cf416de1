"""The monitor inline, in the engine's process."""

from __future__ import annotations

import subprocess
import sys
import time

import msgspec
import pytest

from monitor.live.lines import LiveEnd, LiveVerdict
from runtime_hooks.demo.engine import claim
from runtime_hooks.settings.config import Drill
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict
from tests_vllm.conftest import LONG_S, Make

RESIDENT, ACTIVE = ("resident", 60), ("active", 70)
MATERIALIZED = "claim:resident  hard_protected, materialized  satisfied"
UNTOLD = Drill(suppress=(Kind.REQUEST_REFUSED,))


class TestObserve:
    @pytest.mark.parametrize(
        ("drill", "code", "verdict"),
        [(Drill(), 0, Verdict.SATISFIED), (UNTOLD, 1, Verdict.VIOLATED)],
        ids=["kept", "violated"],
    )
    def test_followed(self, make: Make, drill: Drill, code: int, verdict: Verdict) -> None:
        """Another process follows on the socket, and exits by the verdict when the engine ends."""
        engine = make(monitor="observe", drill=drill)
        command = [sys.executable, "-m", "monitor", "follow", f"{engine.trace}.sock"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
            engine.serve((*RESIDENT, claim()))
            assert reader.stdout is not None
            line = ""
            while MATERIALIZED not in line:  # it may have looked before
                line = reader.stdout.readline()
                assert line
            engine.serve(ACTIVE)
            engine.close()
            rest = reader.stdout.read()
        assert f" {verdict}" in rest.splitlines()[-1]
        assert code == reader.returncode

        lines = engine.trace.with_name("trace.jsonl.verdicts.jsonl").read_bytes().splitlines()
        last = msgspec.json.decode(lines[-2], type=LiveVerdict)
        assert (verdict, True) == (last.verdict, last.final)
        msgspec.json.decode(lines[-1], type=LiveEnd)

    def test_check(self, make: Make) -> None:
        """`python -m monitor check` over the trace exits 0, and 1 for the other mode's promise."""
        engine = make()
        engine.serve((*RESIDENT, claim()))
        engine.serve(ACTIVE)
        engine.close()
        command = [sys.executable, "-m", "monitor", "check", str(engine.trace), "--mode"]
        done = subprocess.run([*command, "hard_protected"], capture_output=True, text=True)
        assert 0 == done.returncode, done.stdout + done.stderr


class TestEnforce:
    def test_no_more(self, make: Make) -> None:
        """Once a claim is violated no more claims are accepted, and requests are served."""
        engine = make(monitor="enforce", drill=UNTOLD)
        engine.serve((*RESIDENT, claim()))
        engine.serve(ACTIVE)
        controller, until = engine.armed.attachments[0].controller, time.monotonic() + LONG_S
        while not controller._admission._alarm() and time.monotonic() < until:
            time.sleep(0.01)
        (answer,) = engine.serve(("next", 5, claim("claim:next", 5)))
        assert "length" == answer.finish_reason
        assert (
            "the monitor found claim claim:resident violated"
            == (answer.metadata["claim"]["reason"])
        )
