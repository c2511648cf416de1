"""Renewals and claims that are only tried, in the metadata of requests to a real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.check.files import check
from runtime_hooks.demo.engine import claim, without_epoch
from runtime_hooks.demo.tiny import tokens
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Clock, Make
from tests_vllm.serve import Server
from tests_vllm.test_scopes import OPTIONS, SCOPES, ask


def test_engine(make: Make) -> None:
    """A renewed claim keeps its blocks past its first duration, without a break; a trial claims
    nothing; the trace is kept for both claims."""
    engine = make()
    clock = Clock(engine)
    tried = {"try_claim": claim("claim:a", 60)["resident_claim"]}
    (answer,) = engine.serve(("resident", 60, tried))
    assert {"try_claim": {"decision": "fits"}} == answer.metadata
    assert 80 == engine.pool.get_num_free_blocks()
    engine.serve(("resident", 60, claim("claim:a", 60, "expiring", duration="10 s")))
    (answer,) = engine.serve(("other", 40, {"try_claim": claim("b", 40)["resident_claim"]}))
    assert "refusal" in answer.metadata
    (answer,) = engine.serve(("other", 15, {"try_claim": claim("b", 15)["resident_claim"]}))
    assert {"try_claim": {"decision": "fits"}} == answer.metadata
    clock.wait(8)
    asked = {"claim_id": "claim:a", "successor": "claim:a2", "owner_scope": "tenant"}
    (answer,) = engine.serve(("small", 1, {"renew_claim": {**asked, "duration": "20 s"}}))
    assert {"renew_claim": {"decision": "accepted"}} == answer.metadata
    clock.wait(8)
    (answer,) = engine.serve(("active", 70))
    assert "abort" == answer.finish_reason
    assert all(engine.cached("resident", 60))
    clock.wait(20)
    (answer,) = engine.serve(("active", 70))
    assert "length" == answer.finish_reason
    engine.close()
    verdicts = {each.claim_id: each.verdict for each in engine.judge(Mode.EXPIRING).claims}
    assert {"claim:a": ModeVerdict.KEPT, "claim:a2": ModeVerdict.KEPT} == verdicts


@pytest.mark.deep
def test_server(tmp_path: Path) -> None:
    """With scopes a claim is renewed by its owner alone, and a trial needs a known caller."""
    server = Server(tmp_path, *OPTIONS.split(), scopes=SCOPES)
    stated = claim("claim:a", 20, "expiring", duration="600 s")
    del stated["resident_claim"]["owner_scope"]
    resident, small = tokens("resident", 20), tokens("small", 1)
    renew = {"renew_claim": {"claim_id": "claim:a", "successor": "claim:a2"}}
    try:
        server.wait()
        said = ask(server, resident, {"try_claim": stated["resident_claim"]}, "key-a", answers=2)
        assert {"try_claim": {"decision": "fits"}} == without_epoch(said)
        said = ask(server, resident, {"try_claim": stated["resident_claim"]}, "key-c")
        assert "the caller is not known" in said["try_claim"]["reason"]
        assert {"claim": {"decision": "accepted"}} == ask(server, resident, stated, "key-a")
        said = ask(server, small, renew, "key-b")
        assert (
            "there is no live claim of that id that the caller owns"
            == (said["renew_claim"]["reason"])
        )
        for _ in range(2):  # the second is a retry
            said = ask(server, small, renew, "key-a", answers=2)
            assert {"renew_claim": {"decision": "accepted"}} == said
        trace = server.trace
        server.stop()
    finally:
        server.kill()
    assert ModeVerdict.VIOLATED is not check([str(trace)], None, Bundle.CONTRACT).verdict
