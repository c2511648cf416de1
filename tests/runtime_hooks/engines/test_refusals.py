"""Tests of engines.shared.refusals: what a refused caller learns of the claims that block it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runtime_hooks.claims.arrivals import Refusal
from runtime_hooks.engines.shared.refusals import as_metadata, for_caller, message
from tests.runtime_hooks.tiny import TinyEngine, claim

OWNERS = st.sampled_from(["a", "b", "c"])


def refused(private: bool = True) -> dict[str, Any]:
    """The refusal of a request that three claims of two owners block."""
    engine = TinyEngine()
    for name, blocks, owner in (("x", 30, "a"), ("y", 20, "b"), ("z", 10, "b")):
        engine.serve(name, blocks, claim(f"claim:{name}", blocks, owner_scope=owner))
    assert not engine.serve("active", 75)
    (refusal,) = engine.refusals
    return as_metadata(refusal, private=private)


def test_all() -> None:
    """Where callers are not authenticated everybody learns of every claim, as the trace does."""
    said = refused(private=False)
    assert {"reason", "blocking_claim_ids", "proof"} == said.keys()
    assert ["claim:x", "claim:y", "claim:z"] == said["blocking_claim_ids"]
    assert message(said).startswith(f"{said['reason']}, because of claim:x, claim:y and claim:z: ")


def test_own() -> None:
    """A caller learns the ids of its own claims, and of others how many and how many blocks."""
    said = for_caller(refused(), "a")
    assert ["claim:x"] == said["blocking_claim_ids"]
    assert {"claims": 2, "blocks": 30} == said["others"]
    assert "because of claim:x and 2 claims of other owners, with 30 blocks: " in message(said)


def test_unknown() -> None:
    """An unknown caller learns no id, not even where an owner has no name."""
    said = for_caller({**refused(), "owners": [["", 30], ["b", 20], ["b", 10]]}, "")
    assert [] == said["blocking_claim_ids"]
    assert {"claims": 3, "blocks": 60} == said["others"]
    assert "because of 3 claims of other owners, with 60 blocks: " in message(said)


def test_one() -> None:
    """One claim of one block."""
    said = for_caller(as_metadata(Refusal("r", ("c",), owners=(("b", 1),)), private=True), "a")
    assert message(said).endswith("because of 1 claim of other owners, with 1 block")


@given(st.lists(st.tuples(st.text(min_size=1, max_size=5), OWNERS, st.integers(1, 9))), OWNERS)
def test_nothing_else(claims: list[tuple[str, str, int]], caller: str) -> None:
    """Whatever blocks a caller, no id and no owner of another one is in the answer."""
    ids = tuple(f"{owner}:{name}" for name, owner, _ in claims)
    refusal = Refusal("r", ids, owners=tuple((owner, size) for _, owner, size in claims))
    said = for_caller(as_metadata(refusal, private=True), caller)
    assert {"reason", "blocking_claim_ids", "others"} == said.keys()
    assert [each for each in ids if each.startswith(f"{caller}:")] == said["blocking_claim_ids"]
    rest = [size for _, owner, size in claims if owner != caller]
    assert {"claims": len(rest), "blocks": sum(rest)} == said["others"]


def test_missing_owners() -> None:
    """A refusal whose owners are not stated names no claim."""
    said = for_caller({"reason": "r", "blocking_claim_ids": ["claim:x"]}, "a")
    assert [] == said["blocking_claim_ids"]
