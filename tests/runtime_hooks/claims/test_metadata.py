"""Tests of claims.metadata: an invalid claim is rejected with a reason, its request served."""

import pytest

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.claims.metadata import NULL
from runtime_hooks.trace.names import identity_text, name_of
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import IDENTITY, TinyEngine, claim, keys_of

DEEP: list[object] = []
for _ in range(5_000):
    DEEP = [DEEP]
OTHER = {**IDENTITY.model_dump(), "model_id": "another"}
BAD: list[tuple[object, str]] = [
    ([], "resident_claim is no object"),
    ("claim:a", "resident_claim is no object (got 'claim:a')"),
    (NULL, "resident_claim is no object (got null)"),
    ({}, "claim_id: Field required"),
    (claim(blocks=0), "materialization_predicate"),
    (claim(materialization_predicate="60 blocks"), "materialization_predicate"),
    (claim(materialization_predicate=None), "materialization_predicate"),
    (claim(mode="hard"), "protection_mode"),
    (claim(mode="routed_reuse"), "this engine keeps no routed_reuse claims: one engine routes"),
    (claim(mode="offloadable"), "this engine keeps no offloadable claims: it has no offload tier"),
    (claim(mode="soft_priority"), "priority: a soft_priority claim has no priority"),
    (claim(priority=3), "priority: a hard_protected claim has no rank"),
    (claim(footprint_blocks=59), "footprint_blocks"),
    (claim(footprint_blocks=True), "footprint_blocks"),
    (claim(footprint_blocks="60"), "footprint_blocks"),
    (claim(duration="0 s"), "duration: a duration of zero"),
    (claim(duration="-5 s"), "duration"),
    (claim(duration="1.5 steps"), "duration: it is not a whole number of steps"),
    (claim(mode="expiring"), "duration: an expiring claim has no duration"),
    (claim(" "), "claim_id: it is blank"),
    (claim("a (rejected 1) "), "its claim_id begins or ends with white space"),
    (claim("\u00a0a"), "its claim_id begins or ends with white space"),
    (claim(owner_scope="tenant "), "its owner_scope begins or ends with white space"),
    (claim("a\nb"), "claim_id: it has the control character"),
    (claim("a\u202eb"), "claim_id: it has U+202E at 1, which turns the direction of text"),
    (claim("a\u200fb"), "claim_id: it has U+200F at 1, which turns the direction of text"),
    (claim("x" * 10_000_000), "claim_id: it is 10000000 characters long"),
    (claim(value=1.0), "value: Extra inputs are not permitted"),
    (claim(**{f"key{n}": n for n in range(40)}), "it has 44 fields"),
    (claim(cache_identity={f"key{n}": n for n in range(100_000)}), "it has 100005 fields"),
    (claim(cache_identity=OTHER), "it is for another cache"),
    (claim(cache_identity="this one"), "cache_identity"),
    (claim(blocks=61), "the prompt has 60 whole blocks, and the claim is for 61"),
    (claim(blocks=2**31), "materialization_predicate"),
    (claim(mode=10**5_000), "a value that is too large or too deep"),
    (claim(mode=DEEP), "a value that is too large or too deep"),
    (claim(footprint_blocks=10**5_000), "footprint_blocks"),
    (claim(footprint_blocks=float("nan")), "footprint_blocks"),
]


class TestTurnedAway:
    @pytest.mark.parametrize(("raw", "reason"), BAD, ids=[said[:30] for _, said in BAD])
    def test_bad(self, raw: object, reason: str) -> None:
        """The reason is given, in one line of bounded length; the request is served."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, raw)
        said = engine.answers[0]["claim"]
        assert reason in said
        assert len(said) < 600
        assert "\n" not in said
        assert 80 == len(engine.pool.free)
        assert 1 == len(engine.kinds("claim_rejected"))
        assert [] == engine.kinds("claim_accepted", "claim_committed")

    def test_footprint_left_out(self) -> None:
        """A predicate that is none is told alone: the footprint that it would give is no fault."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim(materialization_predicate="leading(60)"))
        said = engine.answers[0]["claim"]
        assert said.startswith("materialization_predicate: ")
        assert "footprint_blocks" not in said

    def test_faults(self) -> None:
        """What an adapter turned away is answered beside the rest."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim(), faults={"no_admit": "it is neither"})
        assert {"no_admit": "it is neither", "claim": ""} == engine.answers[0]

    def test_nothing_else_disturbed(self) -> None:
        """A claim that is live is kept while all of these come and go."""
        engine = TinyEngine()
        assert engine.serve("first", 60, claim("claim:kept"))
        for number, (raw, _) in enumerate(BAD):
            assert engine.serve(f"request {number}", 15, raw)
        assert all(answers["claim"] for answers in engine.answers[1:])
        assert len(BAD) == len(engine.kinds("claim_rejected"))
        assert [] == engine.kinds("claim_harmed")
        verdict = {c.claim_id: c for c in engine.judge(Mode.HARD_PROTECTED).claims}
        assert ModeVerdict.KEPT is verdict["claim:kept"].verdict
        assert ModeVerdict.VIOLATED not in {c.verdict for c in verdict.values()}

    def test_larger_than_pool(self) -> None:
        """A claim that no pool of this size can hold."""
        engine = TinyEngine(usable=50)
        arrival = Arrival("large", keys_of("large", 60), 60, 60, claim())
        _, answers = engine.arrive(arrival)
        assert "it needs 60 blocks, and 50 of 50 are not claimed" == answers["claim"]

    def test_two_exceed(self) -> None:
        """Of two hard claims that together exceed the pool the second is rejected."""
        engine = TinyEngine()
        assert engine.serve("first", 60, claim("claim:a"))
        assert not engine.serve("second", 25, claim("claim:b", 25))
        said = engine.answers[1]["claim"]
        assert "it needs 25 blocks, and 20 of 80 are not claimed" == said
        assert ["claim:a"] == [event.claim_id for event in engine.kinds("claim_accepted")]
        (rejected,) = engine.kinds("claim_rejected")
        assert "claim:b (rejected 1)" == rejected.claim_id
        assert [] == engine.kinds("claim_harmed", "block_evicted")
        assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_one_id_twice(self) -> None:
        """A second live claim of one id is turned away, under another name."""
        engine = TinyEngine(usable=200)
        assert engine.serve("first", 60, claim())
        assert engine.serve("second", 60, claim(owner_scope="other"))
        assert "was used before" in engine.answers[1]["claim"]
        assert ["claim:a (rejected 1)"] == [e.claim_id for e in engine.kinds("claim_rejected")]
        assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_id_after_end(self) -> None:
        """An id has one life."""
        engine = TinyEngine()
        assert engine.serve("first", 60, claim())
        assert "" == engine.release("claim:a", "tenant")
        assert engine.serve("second", 60, claim())
        assert "was used before" in engine.answers[1]["claim"]
        assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    @pytest.mark.parametrize(("blocks", "taken"), [(50, True), (51, False)])
    def test_request_in_hand(self, blocks: int, taken: bool) -> None:
        """A claim beside which a request in hand would not fit is turned away."""
        engine = TinyEngine()
        engine.arrive(Arrival("running", (), 30, 0))
        assert engine.serve("resident", blocks, claim(blocks=blocks))
        said = engine.answers[0]["claim"]
        assert taken is (said == "")
        assert taken or "an unfinished request needs 30 more blocks, and 29 are left" == said

    @pytest.mark.slow
    def test_quota(self) -> None:
        """One owner's claims meet a quota, and another's do not."""
        engine = TinyEngine(usable=10_000, claims=1_000)
        for number in range(3_000):
            engine.serve(f"request {number}", 1, claim(f"claim:{number}", 1))
        assert 1_000 == sum(not answers["claim"] for answers in engine.answers)
        assert "tenant has 1000 live claims, and 1000 are the most" == engine.answers[-1]["claim"]
        engine.serve("other", 1, claim("claim:other", 1, owner_scope="other"))
        assert "" == engine.answers[-1]["claim"]

    def test_lives(self) -> None:
        """What is remembered of ids is bounded, and then no more is accepted."""
        engine = TinyEngine(lives=10)
        for number in range(20):
            engine.serve(f"request {number}", 1, claim(f"claim:{number}", 1))
        assert 10 == sum(not answers["claim"] for answers in engine.answers)
        assert "10 claims were accepted in this run" in engine.answers[-1]["claim"]

    def test_share(self) -> None:
        """One owner cannot use up the ids of others, and claims that are rejected spend none."""
        engine = TinyEngine(lives=100, owner_lives=10)
        for number in range(24):
            blocks = 1 if number % 2 else 2  # of one block
            engine.serve(f"request {number}", 1, claim(f"claim:{number}", blocks))
        assert 10 == sum(not answers["claim"] for answers in engine.answers)
        assert "10 claims of tenant were accepted" in engine.answers[-1]["claim"]
        engine.serve("other", 1, claim("claim:22", 1, owner_scope="other"))
        assert "" == engine.answers[-1]["claim"]
        assert ModeVerdict.VIOLATED is not engine.judge(Mode.HARD_PROTECTED).verdict


class TestOwner:
    def test_released(self) -> None:
        """The owner's request gives the claim up, and its blocks may be taken again."""
        engine = TinyEngine()
        assert engine.serve("first", 60, claim())
        release = {"claim_id": "claim:a", "owner_scope": "tenant"}
        assert engine.serve("last", 70, release=release)
        assert {"release": ""} == engine.answers[-1]
        (released,) = engine.kinds("claim_released")
        assert ("claim:a", "tenant") == (released.claim_id, released.by)
        assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    @pytest.mark.parametrize(
        ("release", "reason"),
        [
            ({"claim_id": "claim:a"}, "not owned by who gives it up"),
            ({"claim_id": "claim:a", "owner_scope": "other"}, "not owned by who gives it up"),
            ({"claim_id": "claim:b", "owner_scope": "tenant"}, "no live claim"),
            ({"claim_id": 7}, "no texts"),
            ({"claim": "claim:a"}, "release_claim is no object with a claim_id"),
            ("claim:a", "release_claim is no object with a claim_id"),
        ],
    )
    def test_not_released(self, release: object, reason: str) -> None:
        """Nobody else's request gives it up."""
        engine = TinyEngine()
        assert engine.serve("first", 60, claim())
        assert engine.serve("other", 5, release=release)
        assert reason in engine.answers[-1]["release"]
        assert [] == engine.kinds("claim_released")

    def test_authenticated(self) -> None:
        """Where the caller is known, a request cannot speak for another."""
        engine = TinyEngine()
        assert engine.serve("first", 20, claim(blocks=20), scope="other")
        assert "other cannot claim for tenant" in engine.answers[-1]["claim"]
        mine = {key: value for key, value in claim(blocks=20).items() if key != "owner_scope"}
        assert engine.serve("second", 20, mine, scope="other")
        assert "" == engine.answers[-1]["claim"]
        release = {"claim_id": "claim:a", "owner_scope": "other"}
        assert engine.serve("third", 5, release=release, scope="tenant")
        assert "tenant cannot act for other" in engine.answers[-1]["release"]
        assert engine.serve("fourth", 5, release=release, scope="other")
        assert "" == engine.answers[-1]["release"]


class TestNames:
    @pytest.mark.parametrize("odd", ["", "x" * 2_000, "a\nb", "\ud800"])
    def test_odd(self, odd: str) -> None:
        """A request whose id no event can bear goes by a digest, and its trace is read."""
        assert name_of(odd).startswith("digest:")
        engine = TinyEngine()
        assert engine.serve("first", 60, claim())
        assert not engine.serve(odd, 70, prompt="odd")
        assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_long_identity(self) -> None:
        """A cache identity that is too long for an event goes by a digest."""
        assert identity_text(IDENTITY).startswith("{")
        long = IDENTITY.model_copy(update={"model_id": "m" * 1_000, "tokenizer_domain": "t" * 100})
        assert identity_text(long).startswith("digest:")
