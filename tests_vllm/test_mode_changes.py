"""Changes of a claim's mode in a real engine: by requests, in Python and as a KV hint."""

from __future__ import annotations

from typing import Any

from vllm.v1.kv_hints import KvHintAction, KvHintsEnvelope

from runtime_hooks import claims
from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import tokens
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make
from tests_vllm.engine import Engine
from tests_vllm.test_preregistration import answered

KEPT, HARD = ModeVerdict.KEPT, Mode.HARD_PROTECTED
ACCEPTED = {"decision": "accepted"}


def change(to: str, name: str, successor: str, **more: Any) -> dict[str, Any]:
    """The metadata of a request that changes the mode of a claim."""
    own = {"claim_id": name, "successor": successor, "protection_mode": to}
    return {"change_mode": {"owner_scope": "tenant", **own, **more}}


def ask(engine: Engine, asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to a change that comes with a small request."""
    (answer,) = engine.serve(("small", 1, asked))
    found: dict[str, Any] = answer.metadata["change_mode"]
    return found


def verdicts(engine: Engine, *modes: Mode) -> dict[str, ModeVerdict]:
    """What the monitor concludes of the claims of these modes."""
    return {c.claim_id: c.verdict for mode in modes for c in engine.judge(mode).claims}


def test_owner(make: Make) -> None:
    """A hard claim keeps a request out; its owner has it demotable, and the next request is served
    after a demotion. The trace is kept for both claims."""
    engine = make()
    engine.serve(("resident", 60, claim("claim:a", 60)))
    (answer,) = engine.serve(("active", 70))
    assert "abort" == answer.finish_reason
    assert ACCEPTED == ask(engine, change("demotable", "claim:a", "claim:a2"))
    assert all(engine.cached("resident", 60))
    (answer,) = engine.serve(("active again", 70))
    assert "length" == answer.finish_reason
    engine.close()
    seen = engine.kinds("claim_released", "claim_demoted")
    assert [("claim_released", "claim:a"), ("claim_demoted", "claim:a2")] == [
        (e.kind, e.claim_id) for e in seen
    ]
    assert {"claim:a": KEPT, "claim:a2": KEPT} == verdicts(engine, HARD, Mode.DEMOTABLE)


def test_stronger(make: Make) -> None:
    """A soft claim becomes a hard one, whose blocks no request takes; where that does not fit it is
    rejected with the sum, in the answer and in the trace."""
    engine = make()
    soft = claim("claim:a", 60, "soft_priority", priority=1)
    engine.serve(("resident", 60, soft))
    engine.serve(("other", 15, claim("claim:o", 15)))
    assert ACCEPTED == ask(engine, change("hard_protected", "claim:a", "claim:a2"))
    assert 5 == engine.pool.get_num_free_blocks()
    (answer,) = engine.serve(("active", 70))
    assert ["claim:a2", "claim:o"] == sorted(answer.metadata["refusal"]["blocking_claim_ids"])
    assert all(engine.cached("resident", 60))

    engine.serve(("third", 5, claim("claim:c", 5, "soft_priority", priority=1)))
    why = "it needs 5 blocks, and 5 of 80 are not claimed, of which no claim may take the last 1"
    engine.armed.attachments[0].controller.operator.quotas(floor=1)
    said = ask(engine, change("hard_protected", "claim:c", "claim:c2"))
    assert {"decision": "rejected", "reason": why} == said
    engine.close()
    (rejected,) = engine.kinds("claim_rejected")
    assert ("claim:c2 (rejected 1)", why) == (rejected.claim_id, rejected.reason)
    found = verdicts(engine, HARD)
    assert (KEPT, KEPT) == (found["claim:a2"], found["claim:o"])
    assert ModeVerdict.VIOLATED not in verdicts(engine, Mode.SOFT_PRIORITY).values()


def test_stranger(make: Make) -> None:
    """Another owner cannot weaken a claim, and strengthens it by a claim of its own."""
    engine = make()
    engine.serve(("resident", 60, claim("claim:a", 60, "demotable")))
    weaker = change("best_effort", "claim:a", "claim:s", owner_scope="stranger")
    why = "only its owner may change it from demotable to best_effort"
    assert {"decision": "rejected", "reason": why} == ask(engine, weaker)
    stronger = change("hard_protected", "claim:a", "claim:s", owner_scope="stranger")
    assert ACCEPTED == ask(engine, stronger)
    (answer,) = engine.serve(("active", 70))
    assert ["claim:a", "claim:s"] == answer.metadata["refusal"]["blocking_claim_ids"]
    engine.serve(("small", 1, {"release_claim": {"claim_id": "claim:a", "owner_scope": "tenant"}}))
    (answer,) = engine.serve(("active again", 70))
    assert ["claim:s"] == answer.metadata["refusal"]["blocking_claim_ids"]
    engine.close()
    assert {"claim:a": KEPT, "claim:s": KEPT} == verdicts(engine, HARD, Mode.DEMOTABLE)


def test_other_ways(make: Make) -> None:
    """A change in Python is carried out with the next step, and a KV hint carries one as well."""
    engine = make()
    engine.serve(("resident", 20, claim("claim:a", 20)))
    done = claims.change_mode("claim:a", "claim:b", "soft_priority", "tenant", priority=3)
    wrong = claims.change_mode("claim:none", "claim:c", "demotable", "tenant")
    assert not done.done()
    engine.serve(("small", 1))
    assert "" == done.result(0)
    assert "there is no live claim of that id that the caller owns" == wrong.result(0)
    asked = change("demotable", "claim:b", "claim:c")["change_mode"]
    hint = KvHintsEnvelope("1.0", "m", [KvHintAction("a", "change_mode", "1", asked)])
    prompt = {"prompt_token_ids": tokens("small", 1)}
    assert {"change_mode": ACCEPTED} == answered(engine, prompt, kv_hints=hint)
    live = engine.armed.attachments[0].controller._registry.live
    assert ["claim:c"] == list(live)
    engine.close()
    found = verdicts(engine, HARD, Mode.SOFT_PRIORITY, Mode.DEMOTABLE)
    assert {"claim:a", "claim:b", "claim:c"} == found.keys()
    assert ModeVerdict.VIOLATED not in found.values()
