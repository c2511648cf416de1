"""Tests of spec.claims.claim."""

import json
import string
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.claims.claim import MAX_ID, CacheIdentity, ClaimDecision, ResidentClaim, explain
from spec.claims.predicates import MAX_BLOCKS, ContiguousRange, LeadingPrefixAtLeast
from spec.claims.states import Mode

IDENTITY: dict[str, Any] = {
    "key_domain": "vllm-sha256",
    "model_id": "llama-3.1-8b",
    "tokenizer_domain": "llama-3",
    "namespace": "",
    "block_size": 16,
}
CLAIM: dict[str, Any] = {
    "claim_id": "claim-1",
    "owner_scope": "tenant-a",
    "cache_identity": IDENTITY,
    "object_id": "system-prompt",
    "materialization_predicate": "leading_prefix_at_least(40)",
    "footprint_blocks": 60,
    "protection_mode": "hard_protected",
}
DECISION: dict[str, Any] = {"claim_id": "claim-1", "decision": "accepted", "at": "3 steps"}

BAD_TEXTS = ("", "  ", "a\nb", "a\x00", "a\x7f", "a\u2028b", "x" * (MAX_ID + 1), 7, None, ["a"])
BAD_COUNTS = (0, -1, True, 16.0, "16", None, MAX_BLOCKS + 1, pytest.param(10**5000, id="huge"))
TEXTS = st.text(string.ascii_letters + "é-/ ", min_size=1, max_size=20).filter(str.strip)


def asked(mode: Mode) -> dict[str, Any]:
    """What a claim of this mode says besides."""
    rank = {"priority": 3} if mode is Mode.SOFT_PRIORITY else {}
    return {"protection_mode": mode, **rank}


def problems(model: type[pydantic.BaseModel], data: object) -> list[str]:
    """What `explain` says of `data`; empty if it is a `model`."""
    try:
        model.model_validate(data)
    except pydantic.ValidationError as error:
        return explain(error)
    return []


def the_problem(model: type[pydantic.BaseModel], data: object, path: str) -> str:
    """The one problem of `data`, after checking that it is about `path`."""
    (line,) = problems(model, data)
    assert line.startswith(f"{path}: "), line
    assert "\n" not in line
    assert len(line) < 300
    return line


class TestCacheIdentity:
    """What makes two caches one."""

    @pytest.mark.parametrize("field", sorted(IDENTITY))
    def test_missing(self, field: str) -> None:
        """Each required field, the namespace too, is missed by its name."""
        data = {name: value for name, value in IDENTITY.items() if name != field}
        line = the_problem(CacheIdentity, data, field)
        assert f"{field}: Field required (got nothing); give this field" == line

    @pytest.mark.parametrize("value", BAD_TEXTS)
    @pytest.mark.parametrize("field", ["key_domain", "model_id", "tokenizer_domain"])
    def test_absurd_text(self, field: str, value: object) -> None:
        """A name that is blank, endless, unprintable or no text is an error of its field."""
        assert "; " in the_problem(CacheIdentity, IDENTITY | {field: value}, field)

    @pytest.mark.parametrize("value", [value for value in BAD_TEXTS if value is not None])
    @pytest.mark.parametrize("field", ["adapter", "prompt_embedding", "kv_format"])
    def test_absurd_option(self, field: str, value: object) -> None:
        """An optional name is absent or a name, never blank."""
        the_problem(CacheIdentity, IDENTITY | {field: value}, field)

    @pytest.mark.parametrize("value", BAD_COUNTS)
    def test_absurd_block_size(self, value: object) -> None:
        """A block has a positive whole number of tokens."""
        the_problem(CacheIdentity, IDENTITY | {"block_size": value}, "block_size")

    def test_namespace(self) -> None:
        """An empty namespace means no salt; a blank one is a mistake."""
        assert "" == CacheIdentity.model_validate(IDENTITY).namespace
        the_problem(CacheIdentity, IDENTITY | {"namespace": " "}, "namespace")

    @pytest.mark.parametrize("field", sorted(CacheIdentity.model_fields))
    def test_equality(self, field: str) -> None:
        """Two identities that differ in any field are two identities."""
        base = CacheIdentity.model_validate(IDENTITY)
        other = base.model_copy(update={field: 17 if field == "block_size" else "other"})
        assert base != other
        assert 2 == len({base, other, CacheIdentity.model_validate(IDENTITY)})


class TestResidentClaim:
    """What a claim has to say."""

    @pytest.mark.parametrize("field", sorted(CLAIM))
    def test_missing(self, field: str) -> None:
        """Each required field is missed by its name, and by nothing else."""
        data = {name: value for name, value in CLAIM.items() if name != field}
        assert "(got nothing)" in the_problem(ResidentClaim, data, field)

    @pytest.mark.parametrize("value", BAD_TEXTS)
    @pytest.mark.parametrize("field", ["claim_id", "owner_scope", "object_id"])
    def test_absurd_text(self, field: str, value: object) -> None:
        """An identifier that is blank, endless, unprintable or no text is an error."""
        the_problem(ResidentClaim, CLAIM | {field: value}, field)

    @pytest.mark.parametrize("value", BAD_COUNTS)
    def test_absurd_footprint(self, value: object) -> None:
        """A footprint is a positive whole number of blocks."""
        the_problem(ResidentClaim, CLAIM | {"footprint_blocks": value}, "footprint_blocks")

    @pytest.mark.parametrize(
        ("field", "value", "expected"),
        [
            ("cache_identity", "llama", "give an object with its fields"),
            ("protection_mode", "hard-protected", "did you mean hard_protected?"),
            ("protection_mode", "HARD", "(got 'HARD'); write one of these names"),
            ("protection_mode", None, "(got None)"),
            ("materialization_predicate", 40, "it is not a text (got 40)"),
            ("materialization_predicate", {"blocks": 40}, "it is not a text"),
            ("materialization_predicate", "leading(40)", "no predicate is called 'leading'"),
            ("materialization_predicate", "leading_prefix_at_least(650 tokens)", "not a whole"),
            ("duration", 15, "it has no unit (got 15); write a number and its unit"),
            ("duration", "15 minutes", "there is no unit 'minutes'"),
            ("duration", "0 s", "of zero"),
        ],
    )
    def test_absurd(self, field: str, value: object, expected: str) -> None:
        """A value of another kind is an error of its field, with a hint."""
        assert expected in the_problem(ResidentClaim, CLAIM | {field: value}, field)

    @given(st.integers(0, 40), st.integers(1, 40), st.integers(1, 80))
    def test_footprint_covers(self, start: int, blocks: int, footprint: int) -> None:
        """A footprint is accepted exactly when it has every position the predicate needs."""
        data = CLAIM | {
            "materialization_predicate": ContiguousRange(start, blocks),
            "footprint_blocks": footprint,
        }
        lines = problems(ResidentClaim, data)
        assert (start + blocks <= footprint) == (lines == [])
        assert all(line.startswith("footprint_blocks: contiguous_range") for line in lines)

    @pytest.mark.parametrize("mode", Mode)
    def test_duration(self, mode: Mode) -> None:
        """An expiring claim needs a duration; any other may have one."""
        data = CLAIM | asked(mode)
        assert [] == problems(ResidentClaim, data | {"duration": "15 s"})
        if mode is Mode.EXPIRING:
            assert "an expiring claim" in the_problem(ResidentClaim, data, "duration")
        else:
            assert [] == problems(ResidentClaim, data)

    @pytest.mark.parametrize("mode", Mode)
    def test_priority(self, mode: Mode) -> None:
        """A soft_priority claim needs a priority, and no other has one."""
        data = CLAIM | {"protection_mode": mode, "duration": "15 s"}
        if mode is Mode.SOFT_PRIORITY:
            assert [] == problems(ResidentClaim, data | {"priority": 0})
            assert "has no priority" in the_problem(ResidentClaim, data, "priority")
        else:
            assert [] == problems(ResidentClaim, data)
            assert "has no rank" in the_problem(ResidentClaim, data | {"priority": 0}, "priority")

    @pytest.mark.parametrize(
        "value", [-1, True, 1.0, "1", 2**31, pytest.param(10**5000, id="huge")]
    )
    def test_absurd_priority(self, value: object) -> None:
        """A priority is a whole number from 0 on."""
        data = CLAIM | {"protection_mode": "soft_priority", "priority": value}
        the_problem(ResidentClaim, data, "priority")

    def test_tokens(self) -> None:
        """A predicate in tokens is counted in the blocks of the claim's own identity."""
        data = CLAIM | {"materialization_predicate": "leading_prefix_at_least(640 tokens)"}
        claim = ResidentClaim.model_validate(data)
        assert LeadingPrefixAtLeast(40) == claim.materialization_predicate

    @given(TEXTS, TEXTS, st.integers(1, 60), st.sampled_from(Mode), st.sampled_from(["s", "steps"]))
    def test_round_trip(self, name: str, salt: str, blocks: int, mode: Mode, unit: str) -> None:
        """A claim reads back from its JSON, in which predicate and duration are text."""
        data = CLAIM | {
            "claim_id": name,
            "cache_identity": IDENTITY | {"namespace": salt},
            "materialization_predicate": f"leading_prefix_at_least({blocks})",
            "duration": f"15 {unit}",
            **asked(mode),
        }
        claim = ResidentClaim.model_validate(data)
        written = claim.model_dump_json()
        assert claim == ResidentClaim.model_validate_json(written)
        assert (
            f"leading_prefix_at_least({blocks})" == json.loads(written)["materialization_predicate"]
        )
        assert f"15 {unit}" == json.loads(written)["duration"]

    def test_frozen(self) -> None:
        """A claim does not change once made."""
        claim = ResidentClaim.model_validate(CLAIM)
        with pytest.raises(pydantic.ValidationError, match="frozen"):
            setattr(claim, "footprint_blocks", 1)  # noqa: B010

    def test_schema(self) -> None:
        """The schema has the table's fields; a duration, a text, and a priority may be left."""
        schema = ResidentClaim.model_json_schema()
        assert "string" == schema["$defs"]["Duration"]["type"]
        assert sorted(CLAIM) == sorted(schema["required"])
        assert {*CLAIM, "duration", "priority"} == set(schema["properties"])
        assert "string" == schema["properties"]["materialization_predicate"]["type"]


class TestClaimDecision:
    """What an answer has to say."""

    @pytest.mark.parametrize("field", sorted(DECISION))
    def test_missing(self, field: str) -> None:
        """Each required field is missed by its name."""
        data = {name: value for name, value in DECISION.items() if name != field}
        the_problem(ClaimDecision, data, field)

    @pytest.mark.parametrize("decision", ["rejected", "conditionally_accepted"])
    def test_reason(self, decision: str) -> None:
        """A rejection and a condition say why; an acceptance need not."""
        data = DECISION | {"decision": decision}
        assert f"is {decision} without a reason" in the_problem(ClaimDecision, data, "reason")
        assert [] == problems(ClaimDecision, data | {"reason": "no capacity"})
        assert [] == problems(ClaimDecision, DECISION)

    @pytest.mark.parametrize("reason", [value for value in BAD_TEXTS if value is not None])
    def test_absurd_reason(self, reason: object) -> None:
        """A reason that says nothing is none."""
        the_problem(ClaimDecision, DECISION | {"decision": "rejected", "reason": reason}, "reason")

    def test_time(self) -> None:
        """The time says whether it counts steps or seconds."""
        the_problem(ClaimDecision, DECISION | {"at": 3}, "at")
        assert [] == problems(ClaimDecision, DECISION | {"at": "3.5 s"})


class TestExplain:
    """How problems are reported."""

    def test_every_problem(self) -> None:
        """Each problem has a line with its path, reason, value and hint."""
        identity = IDENTITY | {"model_id": " ", "modelid": "x"}
        data = CLAIM | {"cache_identity": identity, "footprint_blocks": "60", "x\ny": 1}
        assert [
            "cache_identity.model_id: it is blank (got ' '); give a name",
            "cache_identity.modelid: Extra inputs are not permitted (got 'x'); "
            "did you mean model_id?",
            "footprint_blocks: Input should be a valid integer (got '60'); "
            "give a number, without quotes",
            "'x\\ny': Extra inputs are not permitted (got 1); remove it",
        ] == problems(ResidentClaim, data)

    @pytest.mark.parametrize("data", [None, 3, "claim", [CLAIM]])
    def test_no_object(self, data: object) -> None:
        """What is no object at all is reported as one problem of the whole."""
        assert "give an object" in the_problem(ResidentClaim, data, "(the whole)")

    def test_not_json(self) -> None:
        """Text that is not JSON is reported in one line."""
        with pytest.raises(pydantic.ValidationError) as caught:
            ResidentClaim.model_validate_json("{")
        (line,) = explain(caught.value)
        assert line.endswith("(got '{'); give one JSON object")
