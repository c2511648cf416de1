"""Claims that outlive a real engine: the next one has them wait, or loads them from disk."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monitor.check.files import check
from runtime_hooks.claims.outliving import lock
from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.engines import adapter_of, installed
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make
from tests_vllm.connectors import saving
from tests_vllm.engine import Engine
from tests_vllm.serve import Server

ADAPTER: Any = adapter_of(installed())[0]
HARD, KEPT = Mode.HARD_PROTECTED, ModeVerdict.KEPT
PROMPT = ("resident", 61)
ANSWER = {
    "after_an_orderly_stop": "another claim follows, which waits for its prefix",
    "after_a_crash": "no promise",
}

saves = pytest.mark.skipif(not ADAPTER.tried.connectors, reason="not tried with this version")
Start = Callable[..., Engine]


@pytest.fixture
def start(make: Make, tmp_path: Path) -> Start:
    """Make an engine whose claims may outlive it, after the one before has stopped."""

    def engine(number: int, **more: Any) -> Engine:
        file, trace = tmp_path / "outliving.json", tmp_path / f"trace{number}.jsonl"
        made = make(**{"resume": str(file), "trace": str(trace), **more})
        made.trace = trace
        return made

    return engine


def used(engine: Engine) -> int:
    """Blocks that claims hold, while no request runs."""
    return 80 - int(engine.pool.get_num_free_blocks())


def live(engine: Engine) -> list[str]:
    """The live claims."""
    return list(engine.armed.attachments[0].controller._registry.live)


def judged(engine: Engine) -> ModeVerdict:
    """The verdict on its trace, in which something was put to the test."""
    report = engine.judge(HARD)
    assert report.obligations
    return report.verdict


def test_recompute(start: Start, tmp_path: Path) -> None:
    """A claim waits in the next engine, holding no block, and is held when its prefix comes."""
    first = start(1)
    (answer,) = first.serve((*PROMPT, claim(resume="recompute")))
    decided = {"claim": {"decision": "accepted"}, "resume": {"how": "recompute", **ANSWER}}
    assert decided == answer.metadata
    first.close()
    assert 0o600 == (tmp_path / "outliving.json").stat().st_mode & 0o777

    second = start(2)
    second.serve(("other", 70))
    assert ([], 0) == (live(second), used(second))
    (again,) = second.serve(PROMPT)
    assert (answer.tokens, 0) == (again.tokens, again.cached)
    assert (["claim:resident (resumed 1)"], 60) == (live(second), used(second))
    (refused,) = second.serve(("active", 70))
    assert ["claim:resident (resumed 1)"] == refused.metadata["refusal"]["blocking_claim_ids"]
    assert {} == second.armed.attachments[0].faults
    second.close()
    assert (KEPT, KEPT) == (judged(first), judged(second))


def test_file_in_use(start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An engine whose file another one uses leaves it alone: it logs that, and rejects claims that
    would outlive it. The next engine has it again."""
    first = start(1)
    first.serve((*PROMPT, claim(resume="recompute")))
    first.close()
    file = tmp_path / "outliving.json"
    written, other = file.read_bytes(), lock(str(file))
    second = start(2)
    (answer,) = second.serve((*PROMPT, claim("claim:b", resume="recompute")))
    why = "no claim outlives this engine: it could not lock the file that its setting resume names"
    assert {"decision": "rejected", "reason": why} == answer.metadata["claim"]
    assert f"no claim outlives this engine: another engine uses {file}" in caplog.text
    second.close()
    other.close()
    assert written == file.read_bytes()
    third = start(3)
    third.serve(PROMPT)
    assert ["claim:resident (resumed 1)"] == live(third)


@saves
def test_restore(start: Start, tmp_path: Path) -> None:
    """A claim that says so is loaded from disk when the next engine first runs, before any request
    with its prefix, which then finds its blocks in the pool."""
    disk = saving(tmp_path / "saved")
    first = start(1, engine=disk)
    (answer,) = first.serve((*PROMPT, claim(resume="restore")))
    assert "restore" == answer.metadata["resume"]["how"]
    first.close()

    second = start(2, engine=saving(tmp_path / "saved"))
    second.serve(("other", 1))
    assert (["claim:resident (resumed 1)"], 60) == (live(second), used(second))
    (again,) = second.serve(PROMPT)
    assert (answer.tokens, 60 * 32) == (again.tokens, again.cached)
    assert {} == second.armed.attachments[0].faults
    second.close()
    assert (KEPT, KEPT) == (judged(first), judged(second))
    (held,) = second.kinds(Kind.CLAIM_MATERIALIZED)
    (loaded,) = [e for e in second.kinds(Kind.BLOCK_CACHED) if e.claim_id]
    assert (held.claim_id, True, 60) == (loaded.claim_id, loaded.found, len(loaded.block_ids or ()))


@saves
def test_not_there(start: Start, tmp_path: Path) -> None:
    """Where the disk has it no more, no block is computed for it: it waits for its prefix."""
    first = start(1, engine=saving(tmp_path / "saved"))
    first.serve((*PROMPT, claim(resume="restore")))
    first.close()
    second = start(2, engine=saving(tmp_path / "empty"))
    second.serve(("other", 1))
    assert ([], 0) == (live(second), used(second))
    (again,) = second.serve(PROMPT)
    assert (0, 60) == (again.cached, used(second))
    second.close()
    assert KEPT is judged(second)


def test_no_tier(start: Start) -> None:
    """Without a tier that outlives the engine a claim cannot be restored."""
    (answer,) = start(1).serve((*PROMPT, claim(resume="restore")))
    why = "this engine has no tier that outlives it: say recompute"
    assert {"claim": {"decision": "rejected", "reason": why}} == answer.metadata


def test_other_cache(start: Start) -> None:
    """Claims of an engine with other blocks end with a report."""
    first = start(1)
    first.serve((*PROMPT, claim(resume="recompute")))
    first.close()
    second = start(2, engine={"dtype": "bfloat16"})
    second.serve(PROMPT)
    assert [] == live(second)
    second.close()
    (event,) = second.kinds(Kind.CLAIM_REJECTED)
    shown = "its blocks had the dtype 'torch.float32', and this engine has 'torch.bfloat16'"
    assert shown in str(event.reason)


def test_error(start: Start, tmp_path: Path) -> None:
    """An engine that an error ends writes no claim: what brought it down is not resumed."""
    engine = start(1)
    engine.serve((*PROMPT, claim(resume="recompute")))
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        engine.close()
    assert not (tmp_path / "outliving.json").exists()


def test_ranks(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    """With data-parallel ranks the plugin does not arm: they would share one file."""
    ranked = type(ADAPTER)
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(ranked, "rank", lambda *_: "-dp0of2")
        engine = start(1)
    assert "the setting `resume` names one file" in caplog.text
    assert [] == engine.armed.attachments
    (answer,) = engine.serve((*PROMPT, claim(resume="recompute")))
    assert {} == answer.metadata


def test_no_folder(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    """A file that could not be written on the stop keeps the plugin off at the start."""
    with caplog.at_level(logging.ERROR):
        engine = start(1, resume="/missing/outliving.json")
    assert "no file can be made in /missing; name another as `resume`" in caplog.text
    assert [] == engine.armed.attachments


class TestServer:
    """The same through a server, of which each life is new processes."""

    @pytest.mark.deep
    @saves
    def test_lives(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that is stopped by SIGTERM writes its claims. The next one restores one before
        any request, accepts another when its prefix comes, and ends a third whose duration is
        over. After a server that was killed no claim is resumed."""
        monkeypatch.setenv("PYTHONHASHSEED", "7")
        monkeypatch.setenv("RESIDENT_CLAIMS_TRIAL", "")
        extra = {"shared_storage_path": str(tmp_path / "saved")}
        transfer = {"kv_connector": "ExampleConnector", "kv_role": "kv_both"}
        transfer["kv_connector_extra_config"] = extra  # type: ignore[assignment]
        counts = "--enable-prompt-tokens-details"
        flags = (counts, "--kv-transfer-config", json.dumps(transfer))
        file = tmp_path / "outliving.json"
        servers: list[Server] = []

        def server() -> Server:
            servers.append(made := Server(tmp_path, *flags, resume=str(file)))
            made.wait()
            return made

        def ask(at: Server, name: str, blocks: int, stated: Any = None) -> Any:
            extra_body = {"extra_body": {"kv_transfer_params": stated}} if stated else {}
            answer = at.complete(tokens(name, blocks), **extra_body)
            usage = answer.usage.prompt_tokens_details
            cached = 0 if usage is None else usage.cached_tokens or 0
            said = (answer.model_extra or {}).get("kv_transfer_params") or {}
            return cached, said.get("resident_claims", {})

        try:
            first = server()
            for name, how, more in (
                ("restored", "restore", {}),
                ("computed", "recompute", {}),
                ("over", "recompute", {"duration": "5 s"}),
            ):
                stated = claim(f"claim:{name}", 20, resume=how, **more)
                _, said = ask(first, name, 21, stated)
                assert {"how": how, **ANSWER} == said["resume"]
            first.stop()
            assert 0o600 == file.stat().st_mode & 0o777
            assert 3 == len(json.loads(file.read_text())["claims"])

            second = server()
            assert not file.exists()
            cached, said = ask(second, "restored", 21)
            assert (20 * 32, {}) == (cached, said)
            ask(second, "computed", 21)
            _, said = ask(second, "again", 21, claim("claim:again", 20, resume="recompute"))
            assert "recompute" == said["resume"]["how"]
            second.stop()

            third = server()
            third.kill()
            fourth = server()
            ask(fourth, "restored", 21)
            fourth.stop()
        finally:
            for each in servers:
                each.kill()

        traces = sorted(tmp_path.glob("*.trace"), key=lambda trace: trace.stat().st_mtime)
        assert 4 == len(traces)
        reports = [check([str(trace)], HARD, Bundle.CONTRACT) for trace in traces[:2]]
        assert [KEPT, KEPT] == [report.verdict for report in reports]
        assert all(report.obligations for report in reports)
        lines = [json.loads(line) for line in traces[1].read_text().splitlines()]
        accepted = {e["claim_id"]: e["sequence"] for e in lines if e["kind"] == "claim_accepted"}
        assert [
            "claim:restored (resumed 1)",
            "claim:computed (resumed 1)",
            "claim:again",
        ] == [*accepted]
        (over,) = [e for e in lines if e["kind"] == "claim_rejected"]
        assert "claim:over (resumed 1) (rejected" in over["claim_id"]
        assert "its duration is over" in over["reason"]
        served = next(e for e in lines if e["kind"] == "prefix_reused")
        assert "claim:restored (resumed 1)" == served["claim_id"]
        before, after = (accepted[f"claim:{n} (resumed 1)"] for n in ("restored", "computed"))
        assert before < served["sequence"] < after
        ends = [e["kind"] for e in map(json.loads, traces[3].read_text().splitlines())]
        assert not {"claim_accepted", "claim_rejected"} & set(ends)
