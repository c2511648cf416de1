"""An operator asks a running engine over its socket: an idle server, and an engine in a process."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from monitor.check.files import check
from runtime_hooks.__main__ import main
from runtime_hooks.control.folder import sockets
from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import tokens
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Keep, Make
from tests_vllm.serve import Server


def asked(folder: Path, *words: str) -> tuple[int, Any, str]:
    """The exit code of a command in a process of its own, what it prints, and its complaint."""
    command = [sys.executable, "-m", "runtime_hooks", "claims", *words]
    command += ["--socket", str(folder), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, json.loads(done.stdout or "null"), done.stderr


def test_server(tmp_path: Path, keep: Keep) -> None:
    """An idle server answers at once: claims are listed, demoted and drained on the engine's own
    thread, what only the owner may end is not ended, and the trace is kept in every mode."""
    control = tmp_path / "control"
    server = Server(tmp_path, control=str(control), quotas={"floor": 8})
    extra = {"extra_body": {"kv_transfer_params": claim("claim:a", 20, "demotable")}}
    hard = {"extra_body": {"kv_transfer_params": claim("claim:b", 30)}}
    try:
        server.wait()
        server.complete(tokens("a", 20), **extra)
        server.complete(tokens("b", 30), **hard)
        (path,) = sockets(control)
        assert (0o600, 0o700) == tuple(stat.S_IMODE(p.stat().st_mode) for p in (path, control))

        code, page, _ = asked(control, "list")
        assert 0 == code
        assert (8, 50, 80) == tuple(page["engine"][k] for k in ("floor", "claimed", "usable"))
        assert ["claim:a", "claim:b"] == [each["claim_id"] for each in page["claims"]]
        assert [20, 30] == [each["held"] for each in page["claims"]]
        code, _, err = asked(control, "release", "claim:b")
        assert 1 == code
        assert "it is hard_protected, so only tenant may release it" in err
        code, page, _ = asked(control, "release", "claim:a")
        assert (0, "claim_demoted", 30) == (code, page["report"], page["engine"]["claimed"])
        code, page, _ = asked(control, "drain")
        assert (0, True, 1) == (code, page["engine"]["drains"], page["unlimited"])
        answer = server.complete(
            tokens("c", 5), extra_body={"kv_transfer_params": claim("claim:c", 5)}
        )
        said = answer.kv_transfer_params["resident_claims"]["claim"]["reason"]
        assert "the operator drains this engine: it accepts no more claims" == said
        server.complete(
            tokens("c", 5),
            extra_body={
                "kv_transfer_params": {
                    "release_claim": {"claim_id": "claim:b", "owner_scope": "tenant"}
                }
            },
        )
        code, page, _ = asked(control, "drain", "--wait", "60")
        assert (0, 0) == (code, page["engine"]["live"])
        trace = server.trace
        server.stop()
        assert [] == sockets(control)
        assert 2 == asked(control, "list")[0]
    finally:
        server.kill()
    for mode in (Mode.HARD_PROTECTED, Mode.DEMOTABLE):
        assert ModeVerdict.VIOLATED is not check([str(trace)], mode, Bundle.CONTRACT).verdict
    assert ModeVerdict.KEPT is check([str(trace)], None, Bundle.CONTRACT).verdict
    keep("operator-of-a-server", trace, Mode.DEMOTABLE)


def test_process(make: Make, tmp_path: Path, keep: Keep) -> None:
    """An engine in the caller's process takes it with its next step; the trace is kept."""
    engine = make(control=str(tmp_path / "control"))
    engine.serve(("resident", 60, claim("claim:a", 60, "demotable")))
    codes: list[int] = []
    words = ["claims", "release", "claim:a", "--socket", str(tmp_path / "control")]
    asking = threading.Thread(target=lambda: codes.append(main(words)))
    asking.start()
    (attachment,) = engine.armed.attachments
    while not attachment.controller.inbox:
        assert asking.is_alive()
    assert 1 == attachment.controller.claims
    (answer,) = engine.serve(("active", 70))
    asking.join(60)
    assert ([0], 0, "length") == (codes, attachment.controller.claims, answer.finish_reason)
    engine.close()
    assert ["claim:a"] == [event.claim_id for event in engine.kinds("claim_demoted")]
    assert ModeVerdict.KEPT is engine.judge(Mode.DEMOTABLE).verdict
    keep("operator-of-a-process", engine.trace, Mode.DEMOTABLE)
