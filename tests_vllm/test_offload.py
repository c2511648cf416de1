"""offloadable, on vLLM's own OffloadingConnector: blocks leave for host memory and come back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from vllm import SamplingParams
from vllm.v1.request import RequestStatus

from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.engines.shared.offload import OffloadHooks
from runtime_hooks.engines.shared.worker import FAILED_STORES
from runtime_hooks.engines.shared.wraps import Wraps
from runtime_hooks.settings.config import Drill
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make
from tests_vllm.engine import Engine

KEPT = ModeVerdict.KEPT
RESIDENT, ACTIVE = ("resident", 61), ("active", 70)
CLAIM = "claim:resident"
FAILED = ("load_failed", "claim_restoration_failed", "request_refused")


def offloaded(engine: Engine) -> Engine:
    """The engine, once a claim was computed and copied, and its blocks were taken."""
    (answer,) = engine.serve((*RESIDENT, claim(mode="offloadable")))
    assert {"claim": {"decision": "accepted"}} == answer.metadata
    engine.serve(("filler", 1))  # copies are made with the next step
    (pressing,) = engine.serve(ACTIVE)
    assert "length" == pressing.finish_reason
    return engine


class TestSuccess:
    def test_restored(self, make: Make) -> None:
        """The blocks leave, come back before they are reused, and the tokens are the same."""
        engine = make(engine=offloading())
        (first,) = engine.serve((*RESIDENT, claim(mode="offloadable")))
        engine.serve(("filler", 1))
        engine.serve(ACTIVE)
        assert sum(engine.cached(*RESIDENT)) < 60
        (again,) = engine.serve(RESIDENT)
        assert first.tokens == again.tokens
        assert again.cached >= 60 * 32

        engine.close()
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_held_until_copied(self, make: Make) -> None:
        """Before there is a copy the blocks are held, and a request that needs them is refused."""
        engine = make(engine=offloading(cpu_bytes_to_use=1 << 19))
        engine.serve((*RESIDENT, claim(mode="offloadable")))
        engine.serve(("filler", 1))
        (answer,) = engine.serve(ACTIVE)
        assert "abort" == answer.finish_reason
        assert 60 == sum(engine.cached("resident", 60))

        engine.close()
        assert [] == engine.kinds("store_finished")
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_store_fails(self, make: Make) -> None:
        """Where a drill lets the copy fail there is none; one is made for the next request."""
        engine = make(engine=offloading(), drill=Drill(fail_stores={CLAIM: 1, "claim:other": 1}))
        engine.serve((*RESIDENT, claim(mode="offloadable")), ("filler", 1))
        (refused,) = engine.serve(ACTIVE)
        engine.serve(RESIDENT, ("filler", 1))
        (served,) = engine.serve(ACTIVE)
        assert ["abort", "length"] == [refused.finish_reason, served.finish_reason]
        assert {} == engine.armed.attachments[0].faults

        engine.close()
        assert 1 == len(engine.kinds("store_finished")) == len(engine.kinds("claim_offloaded"))
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    @pytest.mark.parametrize(
        ("enforce", "lost"), [((Mode.OFFLOADABLE,), 0), ((), 1)], ids=["enforced", "not enforced"]
    )
    def test_full_tier(self, make: Make, enforce: tuple[Mode, ...], lost: int) -> None:
        """Other prompts fill the tier: the claim's copies are not among those given up; where they
        are, that is harm, and it is reported."""
        engine = make(engine=offloading(cpu_bytes_to_use=4 << 20), enforce=enforce)
        offloaded(engine)
        for number in range(6):
            engine.serve((f"other {number}", 60))
            engine.serve(("filler", 1))
        (again,) = engine.serve(RESIDENT)
        assert (again.cached >= 60 * 32) is not bool(lost)

        engine.close()
        assert lost == len(engine.kinds("host_copy_lost")) == len(engine.kinds("claim_harmed"))
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_no_tier(self, make: Make) -> None:
        """An engine without a tier rejects the claim."""
        engine = make()
        (answer,) = engine.serve((*RESIDENT, claim(mode="offloadable")))
        reason = answer.metadata["claim"]["reason"]
        assert "this engine keeps no offloadable claims: it has no offload tier" == reason


def test_ranks_apart() -> None:
    """A store that fails on one rank has failed, though another rank reports the same job in a
    later step. The same content may be stored again."""
    jobs = {7: SimpleNamespace(keys={b"content"})}
    stored: list[bool] = []

    def update(output: Any) -> None:
        for job in output.done:
            manager.complete_store(jobs.pop(job).keys, None)

    manager = SimpleNamespace(
        complete_store=lambda keys, context, success=True: stored.append(success),
        **dict.fromkeys(("prepare_load", "complete_load", "prepare_store", "reset_cache")),
    )
    connector = SimpleNamespace(
        _jobs=jobs, update_connector_output=update, get_num_new_matched_tokens=None
    )
    scheduler = SimpleNamespace(
        connector=SimpleNamespace(connector_scheduler=connector),
        _update_waiting_for_remote_kv=None,
        _handle_invalid_blocks=None,
        _free_blocks=None,
    )
    offloaded = SimpleNamespace(claims_on=lambda keys: [], stored=lambda keys: None)
    controller: Any = SimpleNamespace(offloaded=offloaded)
    others: Any = SimpleNamespace()
    OffloadHooks(scheduler, manager, Drill()).install(controller, Wraps(controller), others, others)

    def report(done: tuple[int, ...], failed: set[int]) -> None:
        meta = SimpleNamespace(**{FAILED_STORES: failed})
        connector.update_connector_output(SimpleNamespace(kv_connector_worker_meta=meta, done=done))

    report((), {7})
    report((7,), set())
    jobs[8] = SimpleNamespace(keys={b"content"})
    report((8,), set())
    assert [False, True] == stored


class TestAsks:
    """What requests ask for of a claim that is away."""

    def ask(self, engine: Engine, *requests: tuple[dict[str, Any], dict[str, Any]]) -> list[Any]:
        """Requests with the prompt of the claim at once, each with parameters and metadata."""
        params = [
            SamplingParams(
                max_tokens=1,
                detokenize=False,
                extra_args={"kv_transfer_params": metadata} if metadata else None,
                **more,
            )
            for more, metadata in requests
        ]
        prompts = [{"prompt_token_ids": tokens(*RESIDENT)} for _ in requests]
        return engine.llm.generate(prompts, params, use_tqdm=False)

    def test_two(self, make: Make) -> None:
        """Of two that need it at a time one has it restored, and the other waits and finds it."""
        engine = offloaded(make(200, engine=offloading()))
        engine.serve(("pressing", 79), ("pressing 2", 79), ("pressing 3", 79))
        outputs = self.ask(engine, ({}, {}), ({}, {}))
        assert [60 * 32] * 2 == [min(out.num_cached_tokens, 60 * 32) for out in outputs]

        engine.close()
        assert 1 == len(engine.kinds("claim_restored")) == len(engine.kinds("load_finished"))
        assert 2 == len(engine.kinds("prefix_reused"))
        asked = [(e.asked, e.held) for e in engine.kinds("prefix_lookup")]
        assert [(60, 0), (60, 0), (60, 60), (60, 60)] == asked
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    @pytest.mark.parametrize(
        ("more", "metadata"),
        [({"prompt_logprobs": 1}, {}), ({}, {"max_load_tokens": 0})],
        ids=["does not look", "lets nothing be loaded"],
    )
    def test_nothing(self, make: Make, more: dict[str, Any], metadata: dict[str, Any]) -> None:
        """One that asks for nothing computes it, and reuses nothing."""
        engine = offloaded(make(engine=offloading()))
        engine.serve(("pressing", 79))
        (output,) = self.ask(engine, (more, metadata))
        assert "length" == output.outputs[0].finish_reason
        assert not output.num_cached_tokens

        engine.close()
        assert [] == engine.kinds("prefix_reused", "claim_restore_required")
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_withheld(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that would be served without it is refused in its name, before anything is computed;
        the next one has it restored."""
        engine = offloaded(make(engine=offloading()))
        engine.serve(("pressing", 79))
        connector = engine.core.scheduler.connector.connector_scheduler
        with monkeypatch.context() as patched:
            patched.setattr(connector, "_lookup", lambda *_: 0)
            (refused,) = engine.serve(RESIDENT)
        assert "claim_restoration_failed" == refused.metadata["refusal"]["reason"]
        (served,) = engine.serve(RESIDENT)
        assert ("length", True) == (served.finish_reason, served.cached >= 60 * 32)
        assert {} == engine.armed.attachments[0].faults

        engine.close()
        told = [*FAILED, "claim_restored"]
        assert told == [event.kind for event in engine.kinds(*told)]
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict


class TestAborted:
    """A client goes away while the claim's blocks are on their way back."""

    @pytest.mark.parametrize(
        ("worker", "back", "fails", "told"),
        [
            ("SlowSpec", False, {}, ["load_finished", "claim_restored", "block_lost"]),
            ("MemcpyOffloadingSpec", True, {}, ["load_finished", "claim_restored", "block_lost"]),
            ("SlowSpec", False, {CLAIM: 1}, list(FAILED)),
        ],
        ids=["under way", "come back", "fails"],
    )
    def test_told(
        self, make: Make, worker: str, back: bool, fails: dict[str, int], told: list[str]
    ) -> None:
        """What became of the load is reported, and then the end of the request."""
        where = {"spec_name": worker, "spec_module_path": "tests_vllm.specs"}
        engine = make(engine=offloading(**where), drill=Drill(fail_loads=fails))
        scheduler, request = offloaded(engine).core.scheduler, engine.request(RESIDENT)
        scheduler.add_request(request)
        engine.core.step()
        assert RequestStatus.WAITING_FOR_REMOTE_KVS is request.status
        assert back is (request.request_id in scheduler.finished_recving_kv_req_ids)
        engine.core.abort_requests([request.request_id])
        while request.request_id in scheduler.requests:
            engine.core.step()
        (again,) = engine.serve(RESIDENT)
        assert ("length", True) == (again.finish_reason, again.cached >= 60 * 32)
        assert {} == engine.armed.attachments[0].faults

        engine.close()
        events = engine.events()
        begun = next(i for i, e in enumerate(events) if e.request_id == request.request_id)
        over = next(i for i, e in enumerate(events) if i > begun and e.kind == "request_finished")
        kinds = [event.kind for event in events[begun : over + 1]]
        between = ["request_arrived", "claim_restore_required", *told, "request_finished"]
        assert between == [kind for kind in kinds if kind in between]
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict


class TestDigests:
    def test_unchecked(self, make: Make) -> None:
        """Without digests other bytes pass, and nobody is told."""
        other = {"spec_name": "CorruptingSpec", "spec_module_path": "tests_vllm.specs"}
        engine = offloaded(make(engine=offloading(**other), digests=False))
        (again,) = engine.serve(RESIDENT)
        assert ("length", {}) == (again.finish_reason, again.metadata)

        engine.close()
        assert 1 == len(engine.kinds("claim_restored"))
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict
