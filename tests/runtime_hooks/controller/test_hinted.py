"""Tests of KV hints in the controller: which claims they make, what is answered and reported."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.claims.hints import RETAIN, SET_PRIORITY
from runtime_hooks.claims.metadata import CLAIM, HINTS, NULL
from runtime_hooks.claims.ownership import prepare, signed
from runtime_hooks.settings.config import Settings
from runtime_hooks.settings.quotas import Quota, Quotas
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.envelopes import envelope, retain, setting, span
from tests.runtime_hooks.tiny import NS, TinyEngine, claim, keys_of

SOFT, VIOLATED = Mode.SOFT_PRIORITY, ModeVerdict.VIOLATED


class Asked:
    """A request of some blocks with hints, and the answer to them."""

    def __init__(
        self, engine: TinyEngine, hints: object, blocks: int = 10, prompt: str = "p", **more: Any
    ) -> None:
        self.engine, self.name = engine, f"r{len(engine.answers)}"
        self.keys = keys_of(prompt, blocks)
        arrival = Arrival(self.name, self.keys, blocks, blocks, hints=hints, **more)
        decision = engine.controller.arrive(arrival)
        engine.answers.append(decision.answers)
        assert decision.hints is not None
        self.answer: dict[str, Any] = decision.hints
        self.runs = decision.runs

    @property
    def outcomes(self) -> list[str]:
        """What became of each action, by now."""
        return [each["outcome"] for each in self.answer["actions"]]

    @property
    def reason(self) -> str:
        """The reason of the first action."""
        return str(self.answer["actions"][0]["reason"])

    def end(self, *, completed: bool = True, aborted: bool = False) -> Asked:
        """Serve the request, if it completes, and end it."""
        if completed and not aborted:
            self.engine._run(self.name, self.keys, len(self.keys))
        self.engine.controller.finish(self.name, completed=completed, aborted=aborted)
        return self


def live(engine: TinyEngine) -> list[tuple[int, int | None, str | None]]:
    """The blocks, priorities and durations of the live claims."""
    entries = engine.controller._registry.live.values()
    return [
        (e.footprint, e.claim.priority, e.claim.duration and str(e.claim.duration)) for e in entries
    ]


def rejections(engine: TinyEngine) -> list[str]:
    """The reasons of rejections in the trace, which has no violation."""
    for mode in Mode:
        assert VIOLATED is not engine.judge(mode).verdict
    return [str(event.reason) for event in engine.kinds("claim_rejected")]


class TestRetain:
    def test_accepted(self) -> None:
        """Two directives make two claims, and the system prompt outlives the conversation under
        pressure, which the monitor sees as the influence of the priority."""
        engine = TinyEngine(20)
        hints = retain(span(0, 128, 100), span(128, 320, 40, duration=45))
        asked = Asked(engine, hints).end()
        assert ["accepted"] == asked.outcomes
        assert [(4, 100, None), (10, 40, "45 s")] == live(engine)
        assert engine.serve("pressure", 16)
        there = [bool(engine.pool.find([key])) for key in keys_of("p", 10)]
        assert [True] * 4 + [False] * 6 == there
        assert [] == rejections(engine)
        assert ModeVerdict.KEPT is engine.judge(SOFT).verdict

    def test_duplicate(self) -> None:
        """The same action for the same prompt, or a longer one, is answered with its claims; for
        another payload or prompt it is decided on anew."""
        engine = TinyEngine()
        first = Asked(engine, retain(span(0, 128, 100))).end()
        again = Asked(engine, retain(span(0, 128, 100)), blocks=12).end()
        assert ["duplicate"] == again.outcomes
        assert first.answer["actions"][0]["claims"] == again.answer["actions"][0]["claims"]
        assert ["accepted"] == Asked(engine, retain(span(0, 128, 90))).end().outcomes
        assert ["accepted"] == Asked(engine, retain(span(0, 128, 90)), prompt="q").end().outcomes
        assert [(4, 90, None), (4, 90, None)] == live(engine)
        assert [] == rejections(engine)

    def test_replaced(self) -> None:
        """A later hint of the same scope replaces what earlier ones retained of this prompt: the
        turns of a conversation leave one claim, and those of another scope or prompt stay."""
        engine = TinyEngine()
        for turn in range(1, 5):
            message = f"m{turn}"
            hints = retain(span(0, None, 50), scope="s", message=message)
            assert ["accepted"] == Asked(engine, hints, blocks=5 * turn).end().outcomes
        Asked(engine, retain(span(0, None, 60), scope="t", message="t")).end()
        Asked(engine, retain(span(0, None, 70), scope="s", message="q"), prompt="q").end()
        assert [(20, 50, None), (10, 60, None), (10, 70, None)] == live(engine)
        clear = retain(scope="s", message="clear")
        assert ["accepted"] == Asked(engine, clear, blocks=30).end().outcomes
        assert [60, 70] == [priority for _, priority, _ in live(engine)]
        again = Asked(engine, retain(scope="s", message="clear2"), blocks=30).end()
        assert (["missing"], "its scope retains no part of this prompt") == (
            again.outcomes,
            again.reason,
        )
        assert ["missing: its scope retains no part of this prompt"] == rejections(engine)

    def test_taken_back(self) -> None:
        """A hint without directives releases what its scope retained, and is not remembered."""
        engine = TinyEngine()
        for turn in range(3):
            Asked(engine, retain(span(0, 128, 50), message=f"m{turn}")).end()
            assert ["accepted"] == Asked(engine, retain(message=f"e{turn}")).end().outcomes
        hinted = engine.controller._admission.hinted
        assert ([], {}, {}) == (live(engine), hinted._actions, hinted._retained)
        assert [] == rejections(engine)

    def test_together(self) -> None:
        """Two actions of one envelope add up, also where the same message id comes again."""
        engine = TinyEngine()
        two = [(RETAIN, {"directives": [span(0, 64 * n, 9)]}) for n in (1, 2)]
        for _ in range(2):
            asked = Asked(engine, envelope(*two), blocks=10).end()
            assert [(2, 9, None), (4, 9, None)] == live(engine)
        assert ["duplicate", "duplicate"] == asked.outcomes
        other = [(RETAIN, {"directives": [span(0, 64 * n, 8)]}) for n in (1, 2)]
        assert ["accepted", "accepted"] == Asked(engine, envelope(*other)).end().outcomes
        assert [(2, 8, None), (4, 8, None)] == live(engine)

    def test_clipped(self) -> None:
        """What is beyond the prompt or the quota is taken away, and said in the answer and in the
        trace."""
        quota = Quotas(each=Quota(priority=50, duration="60 s"))
        engine = TinyEngine(quotas=quota)
        asked = Asked(engine, retain(span(0, 999, 90)), blocks=10).end()
        assert ["clipped"] == asked.outcomes
        assert [(10, 50, "60 s")] == live(engine)
        assert "its end at token 999 is beyond the 10 whole blocks" in asked.reason
        assert "its priority 90 is 50 by the quota" in asked.reason
        (reason,) = rejections(engine)
        assert reason.startswith("clipped: its end at token 999")

    def test_output(self) -> None:
        """A directive about output is not mapped: alone it is unsupported, beside others the action
        is clipped."""
        engine = TinyEngine()
        of_output = {"covers_output": True, "priority": 1}
        assert ["unsupported"] == Asked(engine, retain(of_output)).end().outcomes
        both = retain(span(0, 64, 9), of_output, message="b")
        assert ["clipped"] == Asked(engine, both).end().outcomes
        assert 2 == len(rejections(engine))

    def test_quota(self) -> None:
        """A claim that the quota does not allow is rejected as any other, with the words for it."""
        engine = TinyEngine(claims=1)
        both = retain(span(0, 64, 9), span(64, 128, 8))
        asked = Asked(engine, both).end()
        assert (["clipped"], [(2, 9, None)]) == (asked.outcomes, live(engine))
        assert "has 1 live claims, and 1 are the most" in asked.reason
        other = Asked(engine, retain(span(0, 64, 9), message="b"), prompt="q").end()
        assert ["rejected"] == other.outcomes
        assert 3 == len(rejections(engine))  # two claims, and what was clipped

    def test_no_admit(self) -> None:
        """A request that is not to be cached retains no block."""
        engine = TinyEngine()
        asked = Asked(engine, retain(span(0, 64, 9)), no_admit=True)
        assert (["rejected"], "its request asks not to be cached") == (asked.outcomes, asked.reason)

    def test_not_enforced(self) -> None:
        """Where soft_priority is not enforced the answer says so: the claim is only reported on."""
        engine = TinyEngine(enforce=())
        asked = Asked(engine, retain(span(0, 64, 9))).end()
        assert (["accepted"], "this engine does not enforce soft_priority") == (
            asked.outcomes,
            asked.reason,
        )


class TestSetPriority:
    def test_deferred(self) -> None:
        """It is deferred until its request has completed, and then claims the prompt, for its time
        to live."""
        engine = TinyEngine()
        asked = Asked(engine, setting(1, ttl_seconds=30))
        assert (["deferred"], []) == (asked.outcomes, live(engine))
        asked.end()
        assert (["accepted"], [(10, 7, "30 s")]) == (asked.outcomes, live(engine))
        assert ["c@1"] == asked.answer["actions"][0]["claims"]
        engine.now += 31 * NS
        engine.begin_step()
        assert [] == live(engine)
        assert [] == rejections(engine)

    def test_revisions(self) -> None:
        """A later revision replaces the one before, the same is a duplicate, an earlier one is
        rejected, and none takes the priority back, once."""
        engine = TinyEngine()
        outcomes = []
        for revision, value in ((2, 7), (2, 7), (1, 9), (2, 8), (3, 5), (4, None), (5, None)):
            outcomes += Asked(engine, setting(revision, value)).end().outcomes
            outcomes.append(len(live(engine)))
        assert [
            "accepted", 1, "duplicate", 1, "rejected", 1, "rejected", 1, "accepted", 1,
            "accepted", 0, "missing", 0,
        ] == outcomes  # fmt: skip
        assert [
            "rejected: revision 2 was decided on",
            "rejected: revision 2 was decided on",
            "missing: it has no priority to take back",
        ] == rejections(engine)

    @pytest.mark.parametrize("how", [{"completed": False}, {"aborted": True}])
    def test_incomplete(self, how: dict[str, bool]) -> None:
        """A request that is refused, fails or is given up sets no priority."""
        engine = TinyEngine()
        asked = Asked(engine, setting(1)).end(**how)
        assert (["missing"], "its request did not complete") == (asked.outcomes, asked.reason)
        assert [] == live(engine)
        assert ["missing: its request did not complete"] == rejections(engine)

    def test_gone(self) -> None:
        """A prompt that is not in the cache any more at the end is no object of a claim."""
        engine = TinyEngine()
        asked = Asked(engine, setting(1))
        engine.controller.finish(asked.name)
        assert (["missing"], "its prompt is not in the cache") == (asked.outcomes, asked.reason)
        assert 1 == len(rejections(engine))

    def test_ended(self) -> None:
        """Once the owner released the claim there is no priority to take back."""
        engine = TinyEngine()
        asked = Asked(
            engine,
            envelope(
                (SET_PRIORITY, {**setting(1)["actions"][0]["payload"]}),
            ),
        ).end()
        assert "" == engine.release("c@1", "default")
        assert ["missing"] == Asked(engine, setting(2, None)).end().outcomes
        assert ["accepted"] == asked.outcomes


class TestEnvelope:
    @pytest.mark.parametrize("wrong", [NULL, 7, [], {}, {"message_id": "m"}])
    def test_wrong(self, wrong: object) -> None:
        """What is no envelope is answered and reported, and the request runs."""
        engine = TinyEngine()
        asked = Asked(engine, wrong)
        assert (["rejected"], True) == (asked.outcomes, asked.runs)
        assert 1 == len(rejections(engine))

    def test_others(self) -> None:
        """Actions of other types or versions are unsupported, one by one; our own types are keys of
        their own."""
        engine = TinyEngine()
        hints = envelope(("prefetch", {}), (CLAIM, claim()), (RETAIN, {"directives": []}))
        hints["actions"][2]["action_version"] = "3.0"
        asked = Asked(engine, hints)
        assert ["unsupported"] * 3 == asked.outcomes
        assert "send it as a key" in asked.answer["actions"][1]["reason"]
        assert 3 == len(rejections(engine))

    def test_secret(self) -> None:
        """No text of a hint is in the trace but its ids."""
        engine = TinyEngine()
        for at, value in enumerate(("a secret", ["a secret"], {"a secret": 1})):
            own = {"directives": [{**span(0, 3, 1), "priority": value}], "scope": value}
            Asked(engine, envelope((RETAIN, own), ("a secret", value), message=f"m{at}"))
            Asked(engine, value)
        assert "a secret" not in repr(engine.lines())

    def test_owners(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With scopes hints are their caller's, by a proof for this envelope; without one they are
        rejected. The scope that they state is a label within the owner's."""
        monkeypatch.setenv("RESIDENT_CLAIMS_SECRET", "a secret")
        scopes = {"key-a": "tenant-a", "key-b": "tenant-b"}
        prepare(Settings(scopes=scopes))
        engine = TinyEngine(scopes=scopes)
        hints = retain(span(0, 64, 9), scope="tenant-b")
        assert "the caller is not known" in Asked(engine, hints).reason
        other = signed("tenant-a", {HINTS: retain(span(0, 64, 10), scope="tenant-b")})
        assert "the caller is not known" in Asked(engine, hints, caller=other).reason
        own = signed("tenant-a", {HINTS: hints})
        asked = Asked(engine, hints, caller=own).end()
        assert ["accepted"] == asked.outcomes
        (entry,) = engine.controller._registry.live.values()
        assert "tenant-a" == entry.claim.owner_scope
        assert not asked.answer["actions"][0]["claims"][0].startswith("tenant-a")
        theirs = retain(span(0, 64, 8), scope="tenant-b", message="n")
        caller = signed("tenant-b", {HINTS: theirs})
        assert ["accepted"] == Asked(engine, theirs, caller=caller).end().outcomes
        assert 2 == len(live(engine))


ACTS = st.one_of(
    st.tuples(
        st.just("retain"), st.integers(0, 2), st.integers(1, 25), st.integers(0, 100),
        st.sampled_from([None, 2, 5]), st.sampled_from(["s", "t", None]),
    ),
    st.tuples(st.just("set"), st.integers(0, 5), st.sampled_from([None, 1, 50]), st.booleans()),
    st.tuples(st.just("hard"), st.integers(1, 20)),
    st.tuples(st.just("request"), st.integers(1, 40)),
    st.tuples(st.just("wait"), st.integers(1, 4)),
    st.tuples(st.just("release"), st.integers(0, 9)),
)  # fmt: skip


@settings(max_examples=120)
@given(st.lists(ACTS, max_size=25))
def test_valid(acts: list[tuple[Any, ...]]) -> None:
    """Hints, claims and requests in any order: the trace has no violation in any mode, every hint
    has an outcome, and what the hints list are live claims and no others."""
    engine = TinyEngine(40)
    for number, (act, *more) in enumerate(acts):
        entries = engine.controller._registry.live
        if act == "retain":
            message, blocks, priority, duration, scope = more
            directive = span(0, blocks * 16, priority, duration=duration)
            hints = retain(directive, message=f"m{message}", scope=scope)
            Asked(engine, hints, blocks, prompt=f"p{blocks % 3}").end()
        elif act == "set":
            revision, value, completed = more
            asked = Asked(engine, setting(revision, value, ttl_seconds=3), blocks=8)
            assert "deferred" not in asked.end(completed=completed).outcomes
        elif act == "hard":
            engine.serve(f"h{number}", more[0], claim(f"h{number}", more[0]), f"p{more[0] % 3}")
        elif act == "request":
            engine.serve(f"r{number}", more[0])
        elif act == "wait":
            engine.now += more[0] * NS
            engine.begin_step()
        elif entries:
            entry = sorted(entries.values(), key=lambda e: e.claim_id)[more[0] % len(entries)]
            engine.release(entry.claim_id, entry.claim.owner_scope)
        hinted = engine.controller._admission.hinted
        mine = {e.claim_id for e in entries.values() if e.claim.protection_mode is SOFT}
        assert mine == hinted._listed.keys()
        assert mine == {
            *(c for claims in hinted._retained.values() for c in claims),
            *(c for made in hinted._priorities.values() for c in made.claims),
        }
    rejections(engine)
