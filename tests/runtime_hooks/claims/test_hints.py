"""Tests of claims.hints: what is read of an envelope, and the claims that its actions ask for."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_hooks.claims.hints import (
    LONGEST,
    MOST_ACTIONS,
    RETAIN,
    SET_PRIORITY,
    Action,
    Declined,
    Outcome,
    Wanted,
    claim_stated,
    envelope_of,
    priority_of,
    retention_of,
    within,
)
from runtime_hooks.claims.metadata import claim_of
from runtime_hooks.settings.quotas import Quota
from spec.claims.states import Mode
from tests.runtime_hooks.envelopes import span
from tests.runtime_hooks.tiny import IDENTITY, keys_of

SIZE, BLOCKS = 32, 10


def retain(*directives: Any, **more: Any) -> Action:
    """A `kv.retain`."""
    return Action("a", RETAIN, "1.0", {"directives": list(directives), **more})


def setting(**more: Any) -> Action:
    """A `vllm.set_priority`."""
    own = {"target": "request_cached", "location": "local_g1", "claim_id": "c", "revision": 1}
    return Action("a", SET_PRIORITY, "1.0", {**own, "value": 7, "ttl_seconds": 30, **more})


def declined(call: Any, *given: Any) -> tuple[Outcome, str]:
    """Why a hint asks for no claim."""
    with pytest.raises(Declined) as caught:
        call(*given)
    return caught.value.outcome, caught.value.reason


class TestRetention:
    def test_example(self) -> None:
        """The system prompt goes last, the conversation survives 45 s: two nested prefixes."""
        found = retention_of(retain(span(0, 64, 100), span(64, 160, 60, duration=45)), SIZE, BLOCKS)
        assert (Wanted(2, 100, None), Wanted(5, 60, 45)) == found.wanted
        assert () == found.lacks

    def test_middle(self) -> None:
        """A range in the middle becomes a claim from the beginning on: no hit goes around a gap."""
        found = retention_of(retain(span(96, 128, 50)), SIZE, BLOCKS)
        assert ((Wanted(4, 50, None),), ()) == (found.wanted, found.lacks)

    def test_parts(self) -> None:
        """A block that is covered in part counts, an open end is that of the prompt, and what is
        beyond the whole blocks is said."""
        found = retention_of(
            retain(span(0, 33, 9), span(40, None, 8), span(64, 321, 7), span(320, 400, 6)),
            SIZE,
            BLOCKS,
        )
        assert [(2, 9), (10, 8), (10, 7)] == [each[:2] for each in found.wanted]
        assert (
            "its end at token 321 is beyond the 10 whole blocks",
            "token 320 is beyond the 10 whole blocks of the prompt",
        ) == found.lacks

    def test_output(self) -> None:
        """Output has no blocks at the admission, so that part is not mapped, and the rest is."""
        of_output = {"covers_output": True, "priority": 1}
        found = retention_of(retain(span(0, 64, 9), of_output), SIZE, BLOCKS)
        assert ((Wanted(2, 9, None),), 1) == (found.wanted, len(found.lacks))

    def test_order(self) -> None:
        """Directives are sorted; priorities that increase with the position are rejected."""
        found = retention_of(retain(span(64, 128, 5), span(0, 64, 9)), SIZE, BLOCKS)
        assert [9, 5] == [each.priority for each in found.wanted]
        why = declined(retention_of, retain(span(0, 64, 5), span(64, 128, 9)), SIZE, BLOCKS)
        assert (Outcome.REJECTED, "priorities increase from 5 to 9 at token 64") == why

    @pytest.mark.parametrize(
        "payload",
        [
            None,
            [],
            {},
            {"directives": {}},
            {"directives": [], "x": 1},
            {"directives": [], "scope": 3},
            {"directives": [], "scope": ""},
            {"directives": [3]},
            {"directives": [{}]},
            {"directives": [span(-1, 3, 1)]},
            {"directives": [span(3, 3, 1)]},
            {"directives": [span(0, 3, 101)]},
            {"directives": [span(0, 3, -1)]},
            {"directives": [span(0, 3, True)]},
            {"directives": [span(0, 3.5, 1)]},  # type: ignore[arg-type]
            {"directives": [span(2**31, None, 1)]},
            {"directives": [span(0, 3, 1, duration=0)]},
            {"directives": [span(0, 3, 1, duration=-1)]},
            {"directives": [span(0, 3, 1, duration=float("nan"))]},
            {"directives": [span(0, 3, 1, duration=float("inf"))]},
            {"directives": [span(0, 3, 1, duration=10**400)]},
            {"directives": [span(0, 3, 1, duration="1 s")]},
            {"directives": [span(0, 3, 1, duration=True)]},
            {"directives": [span(0, 3, 1, other=1)]},
            {"directives": [{"covers_output": True}]},
            {"directives": [{"covers_output": True, "priority": 1, "start": 0}]},
            {"directives": [span(0, 3, 1)] * 65},
        ],
        ids=lambda payload: repr(payload)[:60],
    )
    def test_wrong(self, payload: object) -> None:
        """What is wrong in one part is rejected as a whole."""
        outcome, reason = declined(retention_of, Action("a", RETAIN, "1.0", payload), SIZE, BLOCKS)
        assert outcome is Outcome.REJECTED
        assert reason

    def test_version(self) -> None:
        """Another version is not mapped."""
        action = retain()._replace(version="2.0")
        assert (Outcome.UNSUPPORTED, "kv.retain is known in 1.0 only") == (
            declined(retention_of, action, SIZE, BLOCKS)
        )


class TestPriority:
    def test_read(self) -> None:
        """All fields count; the time to live may be left out, and no value takes one back."""
        assert ("c", 1, 7, 30) == tuple(priority_of(setting()))
        action = setting(value=None)
        del action.payload["ttl_seconds"]  # type: ignore[attr-defined]
        assert ("c", 1, None, None) == tuple(priority_of(action))

    @pytest.mark.parametrize("more", [{"target": "block"}, {"location": "g2"}])
    def test_unsupported(self, more: dict[str, Any]) -> None:
        """Another target or location is not mapped."""
        assert Outcome.UNSUPPORTED is declined(priority_of, setting(**more))[0]

    @pytest.mark.parametrize(
        "more",
        [
            {"value": -1},
            {"value": 2**31},
            {"value": True},
            {"value": 1.5},
            {"revision": -1},
            {"revision": "1"},
            {"claim_id": ""},
            {"claim_id": "x" * (LONGEST + 1)},
            {"ttl_seconds": 0},
            {"other": 1},
        ],
    )
    def test_wrong(self, more: dict[str, Any]) -> None:
        """What is wrong is rejected."""
        assert Outcome.REJECTED is declined(priority_of, setting(**more))[0]
        lacking = setting()
        del lacking.payload["revision"]  # type: ignore[attr-defined]
        assert (Outcome.REJECTED, "it lacks revision") == declined(priority_of, lacking)


class TestQuota:
    def test_clipped(self) -> None:
        """A priority and a duration beyond the quota are those of the quota."""
        quota = Quota(priority=50, duration="60 s")
        assert (Wanted(3, 40, 5), ()) == within(Wanted(3, 40, 5), quota)
        assert Wanted(3, 50, 60) == within(Wanted(3, 90, 600), quota)[0]
        found, lacks = within(Wanted(3, 90, None), quota)
        assert (Wanted(3, 50, 60), 2) == (found, len(lacks))

    def test_steps(self) -> None:
        """Seconds are not compared with a quota in steps."""
        assert (Wanted(3, 1, 5), ()) == within(Wanted(3, 1, 5), Quota(duration="10 steps"))


ACTION = {"action_id": "a", "action_type": "x", "action_version": "1", "payload": {}}
ENVELOPE = {"protocol_version": "1.0", "message_id": "m", "actions": [ACTION]}


class TestEnvelope:
    def test_read(self) -> None:
        """An envelope with an action, and with one that is none."""
        found = envelope_of({**ENVELOPE, "actions": [ACTION, {**ACTION, "action_id": 3}, 7]})
        assert ("m", (Action("a", "x", "1", {}),), 2) == (*found[:2], len(found.declined))

    @pytest.mark.parametrize(
        ("wrong", "outcome"),
        [
            (7, "rejected"),
            ({}, "rejected"),
            ({**ENVELOPE, "x": 1}, "rejected"),
            ({**ENVELOPE, "message_id": ""}, "rejected"),
            ({**ENVELOPE, "actions": {}}, "rejected"),
            ({**ENVELOPE, "actions": [ACTION] * (MOST_ACTIONS + 1)}, "rejected"),
            ({**ENVELOPE, "protocol_version": "2.0"}, "unsupported"),
            ({**ENVELOPE, "protocol_version": 1}, "unsupported"),
        ],
    )
    def test_wrong(self, wrong: object, outcome: str) -> None:
        """What is no envelope is declined."""
        assert outcome == declined(envelope_of, wrong)[0]


SPANS = st.lists(
    st.tuples(
        st.integers(0, 400), st.none() | st.integers(1, 400), st.integers(0, 100),
        st.none() | st.floats(1e-6, 1e9),
    ),
    max_size=6,
)  # fmt: skip


@given(SPANS, st.integers(0, 12), st.integers(1, 64))
def test_priorities(spans: list[tuple[Any, ...]], blocks: int, size: int) -> None:
    """The claims give each block that directives cover the priority that vLLM's retention API gives
    it: the highest of the directives that overlap it. A block that none covers has none above that
    of the next directive behind it; each claim can be read, and none is beyond the prompt."""
    spans = [(start, None if more is None else start + more, *rest) for start, more, *rest in spans]
    ranked = sorted((each[2] for each in spans), reverse=True)
    directives = [
        span(start, end, priority, **({} if seconds is None else {"duration": seconds}))
        for (start, end, _, seconds), priority in zip(
            sorted(spans, key=lambda e: e[0]), ranked, strict=True
        )
    ]
    found = retention_of(retain(*reversed(directives)), size, blocks)
    for block in range(blocks):
        over = [each.priority for each in found.wanted if block < each.blocks]
        first, last = block * size, (block + 1) * size
        covers = [
            each["priority"]
            for each in directives
            if each["start"] < last and (each["end"] is None or first < each["end"])
        ]
        behind = [each["priority"] for each in directives if each["start"] >= last]
        if covers:
            assert max(covers) == max(over)
        else:
            assert not over or max(over) == max(behind)
    keys = keys_of("p", blocks)
    for number, wanted in enumerate(found.wanted):
        assert 0 < wanted.blocks <= blocks
        identity = IDENTITY.model_copy(update={"block_size": size})
        claim = claim_of(claim_stated(wanted, f"c{number}", "tenant"), identity, keys)
        assert (Mode.SOFT_PRIORITY, wanted.priority) == (claim.protection_mode, claim.priority)
        assert wanted.blocks == claim.footprint_blocks
        assert (wanted.seconds is None) == (claim.duration is None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["start", "end", "priority", "duration", "directives", "scope", "covers_output",
             "claim_id", "revision", "value", "target", "location", "actions", "payload"]
        ), inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON, st.sampled_from([RETAIN, SET_PRIORITY]))
def test_any(payload: Any, action_type: str) -> None:
    """Whatever the payload, it is read or declined; there is no other exception."""
    action = Action("a", action_type, "1.0", payload)
    for read in (
        lambda: retention_of(action, SIZE, BLOCKS),
        lambda: priority_of(action),
        lambda: envelope_of(payload),
        lambda: envelope_of({**ENVELOPE, "actions": [payload, {**ACTION, "payload": payload}]}),
    ):
        with suppress(Declined):
            read()
