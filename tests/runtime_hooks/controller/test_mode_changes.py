"""Tests of changes of a claim's mode: who may change what, and that traces hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.claims.metadata import CHANGE, CLAIM, NULL, RENEW, claim_of
from runtime_hooks.claims.ownership import prepare, signed
from runtime_hooks.settings.config import Drill, Settings
from runtime_hooks.settings.quotas import Quota, Quotas
from spec.claims.lifecycle import is_escalation
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.controller.test_renewals import NONE, renewal, said
from tests.runtime_hooks.requests import on
from tests.runtime_hooks.tiny import IDENTITY, NS, TinyEngine, claim, copied, keys_of

KEPT, VIOLATED = ModeVerdict.KEPT, ModeVerdict.VIOLATED
HARD, SOFT, DEMOTABLE = Mode.HARD_PROTECTED, Mode.SOFT_PRIORITY, Mode.DEMOTABLE
MODES = tuple(mode for mode in Mode if mode not in (Mode.ROUTED_REUSE, Mode.OFFLOADABLE))


def change(
    to: str, name: str = "claim:a", successor: str = "claim:a2", **more: Any
) -> dict[str, Any]:
    """A change of the mode as a request states it."""
    own: dict[str, Any] = {"claim_id": name, "successor": successor, "protection_mode": to}
    return {**own, "owner_scope": "tenant", **more}


def verdicts(engine: TinyEngine, *modes: Mode) -> dict[str, ModeVerdict]:
    """What the claims of these modes came to."""
    return {c.claim_id: c.verdict for mode in modes for c in engine.judge(mode).claims}


def live(engine: TinyEngine) -> dict[str, str]:
    """The modes of the live claims."""
    return {n: e.claim.protection_mode for n, e in engine.controller._registry.live.items()}


class TestOwner:
    def test_weaker(self) -> None:
        """A claim in the weaker mode follows on the same blocks, without a break; it yields to the
        next request that does not fit, and both claims are kept."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        assert not engine.serve("active", 70)
        assert "" == said(engine, CHANGE, mode_change=change("demotable"))
        assert {"claim:a2": "demotable"} == live(engine)
        assert 20 == len(engine.pool.free)
        assert engine.serve("active again", 70)
        assert {"claim:a": KEPT, "claim:a2": KEPT} == verdicts(engine, HARD, DEMOTABLE)
        ends = engine.kinds("claim_released", "claim_demoted", "block_evicted")[:3]
        assert ["claim_released", "claim_demoted", "block_evicted"] == [e.kind for e in ends]
        assert ("claim:a", "tenant") == (ends[0].claim_id, ends[0].by)

    def test_order(self) -> None:
        """The successor is accepted, with its reason, before the first claim ends."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        said(engine, CHANGE, mode_change=change("demotable"))
        seen = engine.kinds("claim_accepted", "claim_released")
        assert [
            ("claim_accepted", "claim:a", "it needs 60 blocks, and 80 of 80 are not claimed"),
            ("claim_accepted", "claim:a2", "it follows claim:a, which is hard_protected"),
            ("claim_released", "claim:a", None),
        ] == [(e.kind, e.claim_id, e.reason) for e in seen]
        assert len({e.time_ns for e in seen[1:]}) == 1

    def test_stronger(self) -> None:
        """A soft claim becomes a hard one where it fits: its blocks are no victims any more."""
        engine = TinyEngine()
        engine.serve("resident", 60, on(SOFT))
        assert 80 == len(engine.pool.free)
        assert "" == said(engine, CHANGE, mode_change=change("hard_protected"))
        assert 20 == len(engine.pool.free)
        assert not engine.serve("active", 70)
        assert KEPT is verdicts(engine, HARD)["claim:a2"]
        assert VIOLATED not in verdicts(engine, SOFT).values()

    def test_stronger_does_not_fit(self) -> None:
        """Where it does not fit beside other claims, or beside what a running request needs, it is
        rejected with the sum, which the trace has as well, and the first claim stays."""
        engine = TinyEngine()
        engine.serve("resident", 60, on(SOFT))
        engine.serve("other", 30, claim("claim:o", 30))
        sum_ = "it needs 60 blocks, and 50 of 80 are not claimed"
        assert sum_ == said(engine, CHANGE, mode_change=change("hard_protected"))
        engine.release("claim:o", "tenant")
        assert engine.arrive(Arrival("active", keys_of("active", 70), 70, 69))[0]
        need = "an unfinished request needs 70 more blocks, and 20 are left"
        assert need == said(engine, CHANGE, mode_change=change("demotable"))
        assert {"claim:a": "soft_priority"} == live(engine)
        engine.finish("active")
        assert [
            ("claim:a2 (rejected 1)", sum_),
            ("claim:a2 (rejected 2)", need),
        ] == [(e.claim_id, e.reason) for e in engine.kinds("claim_rejected")]
        assert VIOLATED not in verdicts(engine, *MODES).values()

    def test_own_request(self) -> None:
        """The request that asks counts as well: it would be refused for its own change."""
        engine = TinyEngine()
        engine.serve("resident", 60, on(SOFT))
        arrival = Arrival("asks", keys_of("asks", 30), 30, 29, mode_change=change("demotable"))
        decision = engine.controller.arrive(arrival)
        assert "needs 30 more blocks, and 20 are left" in decision.answers[CHANGE]
        assert decision.runs

    def test_no_room_needed(self) -> None:
        """Between modes that count the change needs no room, neither in the pool nor in a quota."""
        quota = Quotas(each=Quota(blocks=60, claims=1))
        engine = TinyEngine(quotas=quota, defer_s=60)
        engine.serve("resident", 60, on(DEMOTABLE))
        engine.arrive(Arrival("active", keys_of("active", 20), 20, 19))
        assert "" == said(engine, CHANGE, mode_change=change("hard_protected"))
        assert {"claim:a2": "hard_protected"} == live(engine)

    def test_copied(self) -> None:
        """A claim that is in the tier keeps its blocks from no request, so a running one that needs
        them is a reason against a mode that would."""
        engine, _ = copied()
        assert engine.arrive(Arrival("active", keys_of("active", 70), 70, 69))[0]
        need = "an unfinished request needs 70 more blocks, and 20 are left"
        assert need == said(engine, CHANGE, mode_change=change("hard_protected"))
        engine.finish("active")
        assert "" == said(engine, CHANGE, mode_change=change("hard_protected"))
        assert not engine.serve("active again", 70)
        assert VIOLATED not in verdicts(engine, HARD, Mode.OFFLOADABLE).values()

    def test_unenforced(self) -> None:
        """The same holds for a claim of a mode that is not enforced."""
        engine = TinyEngine(enforce=(HARD,))
        engine.serve("resident", 60, on(DEMOTABLE))
        assert engine.arrive(Arrival("active", keys_of("active", 70), 70, 69))[0]
        assert "needs 70 more" in said(engine, CHANGE, mode_change=change("hard_protected"))

    def test_floor(self) -> None:
        """A floor that was raised meanwhile limits what is taken, and neither a change between
        modes that count nor a renewal takes anything."""
        engine = TinyEngine()
        engine.serve("resident", 60, on(Mode.EXPIRING))
        engine.controller.operator.quotas(floor=30)
        assert "" == said(engine, CHANGE, mode_change=change("hard_protected"))
        assert "" == said(engine, RENEW, renewal=renewal("claim:a2", "claim:a3"))
        engine.serve("other", 1, claim("claim:o", 1))
        assert "no claim may take the last 30" in engine.answers[-1]["claim"]

    def test_duration(self) -> None:
        """What is left of the duration goes on, unless another one is given."""
        engine = TinyEngine()
        engine.serve("resident", 60, on(Mode.EXPIRING))
        engine.now += 20 * NS
        assert "" == said(engine, CHANGE, mode_change=change("hard_protected"))
        assert {"claim:a2": "hard_protected"} == live(engine)
        engine.now += 39 * NS
        asked = change("expiring", "claim:a2", "claim:a3", duration="5 s")
        assert "" == said(engine, CHANGE, mode_change=asked)
        engine.now += 4 * NS
        assert not engine.serve("active", 70)
        engine.now += 2 * NS
        assert engine.serve("active again", 70)
        assert {"claim:a": KEPT, "claim:a2": KEPT, "claim:a3": KEPT} == verdicts(
            engine, Mode.EXPIRING, HARD
        )

    def test_no_duration(self) -> None:
        """A claim without a duration becomes no expiring one without being given one."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        why = said(engine, CHANGE, mode_change=change("expiring"))
        assert "an expiring claim has no duration" in why
        assert "" == said(engine, CHANGE, mode_change=change("expiring", duration="9 s"))

    def test_priority(self) -> None:
        """A priority belongs to one mode: it is given with it, and lost without it."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        assert "no priority" in said(engine, CHANGE, mode_change=change("soft_priority"))
        assert "" == said(engine, CHANGE, mode_change=change("soft_priority", priority=7))
        again = change("best_effort", "claim:a2", "claim:a3")
        assert "" == said(engine, CHANGE, mode_change=again)
        assert [7, None] == [e.priority for e in engine.kinds("claim_registered")[-2:]]

    def test_again(self) -> None:
        """The same change sent again has the same answer, with one successor; the id of the first
        claim is used up, and a change to the mode that it has is none."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        for _ in range(3):
            assert "" == said(engine, CHANGE, mode_change=change("demotable"))
        assert {"claim:a2": "demotable"} == live(engine)
        assert NONE == said(engine, CHANGE, mode_change=change("best_effort"))
        assert "was used before" in said(
            engine, CHANGE, mode_change=change("best_effort", "claim:a2", "claim:a")
        )
        same = said(engine, CHANGE, mode_change=change("demotable", "claim:a2", "claim:a3"))
        assert "it is demotable already" == same

    def test_drain(self) -> None:
        """An engine that is drained accepts no successor."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        engine.controller.operator.drain()
        assert "the operator drains" in said(engine, CHANGE, mode_change=change("demotable"))


class TestStranger:
    def test_weaker(self) -> None:
        """Anybody else cannot weaken a claim, nor change it to a mode of the same rank."""
        engine = TinyEngine()
        engine.serve("resident", 60, on(DEMOTABLE))
        for to in ("best_effort", "soft_priority", "expiring"):
            asked = change(to, owner_scope="stranger", duration="9 s", priority=1)
            why = said(engine, CHANGE, mode_change=asked)
            assert f"only its owner may change it from demotable to {to}" == why
        assert {"claim:a": "demotable"} == live(engine)
        assert [] == engine.kinds("claim_released", "claim_rejected")

    def test_stronger(self) -> None:
        """A stronger mode asked for by another owner is a claim of that owner beside the first one,
        which only its own owner can release; it counts for that owner's quota."""
        quota = Quotas(owners={"other": Quota(blocks=30)})
        engine = TinyEngine(quotas=quota)
        engine.serve("resident", 60, on(DEMOTABLE))
        asked = change("hard_protected", owner_scope="other")
        assert "other would hold 0 + 60 = 60 blocks" in said(engine, CHANGE, mode_change=asked)
        asked = change("hard_protected", owner_scope="stranger")
        for _ in range(2):
            assert "" == said(engine, CHANGE, mode_change=asked)
        assert {"claim:a": "demotable", "claim:a2": "hard_protected"} == live(engine)
        assert not engine.serve("active", 70)
        assert "not owned" in engine.release("claim:a2", "tenant")
        assert "" == engine.release("claim:a", "tenant")
        assert not engine.serve("active again", 70)
        assert "" == engine.release("claim:a2", "stranger")
        assert engine.serve("at last", 70)
        assert VIOLATED not in verdicts(engine, HARD, DEMOTABLE).values()

    def test_scopes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With scopes a claim of another owner is as none, and a proof is for one change."""
        monkeypatch.setenv("RESIDENT_CLAIMS_SECRET", "a secret")
        scopes = {"key-a": "tenant-a", "key-b": "tenant-b"}
        prepare(Settings(scopes=scopes))
        engine = TinyEngine(scopes=scopes)
        mine = {**on(DEMOTABLE, blocks=20), "owner_scope": "tenant-a"}
        engine.serve("resident", 20, mine, caller=signed("tenant-a", {CLAIM: mine}))
        asked = change("hard_protected")
        del asked["owner_scope"]
        hers = signed("tenant-b", {CHANGE: asked})
        assert NONE == said(engine, CHANGE, mode_change=asked, caller=hers)
        other = signed("tenant-a", {CHANGE: {**asked, "successor": "claim:a3"}})
        assert "the caller is not known" in said(engine, CHANGE, mode_change=asked, caller=other)
        own = signed("tenant-a", {CHANGE: asked})
        assert "" == said(engine, CHANGE, mode_change=asked, caller=own)
        assert {"tenant-a/claim:a2": "hard_protected"} == live(engine)
        accepted = engine.kinds("claim_accepted")[-1]
        assert "it follows claim:a, which is demotable" == accepted.reason


WRONG = [
    NULL,
    [],
    {},
    change("hard_protected", x=1),
    {"claim_id": "claim:a", "successor": "claim:a2"},
    change("routed_reuse"),
    change("offloadable"),
    change("strong"),
    change(7),  # type: ignore[arg-type]
    change("soft_priority", priority=-1),
    change("soft_priority", priority=True),
    change("soft_priority", priority=1.5),
    change("demotable", priority=1),
    change("expiring", duration="soon"),
    change("expiring", duration=7),
    change("demotable", "claim:a", "a\nb"),
    change("demotable", "claim:a", "x" * 1025),
    change("demotable", "claim:a", "x (rejected 1)"),
    change("demotable", "claim:a", "claim:a"),
    change("demotable", "\ud800"),
    change("demotable", owner_scope=""),
]


@pytest.mark.parametrize(
    "wrong", WRONG, ids=lambda each: "null" if each is NULL else repr(each)[:60]
)
def test_wrong(wrong: Any) -> None:
    """What is no change of the mode is answered with the reason, and the claim stays."""
    engine = TinyEngine()
    engine.serve("resident", 60, claim())
    assert said(engine, CHANGE, mode_change=wrong)
    assert {"claim:a": "hard_protected"} == live(engine)
    assert VIOLATED not in verdicts(engine, *MODES).values()


class TestReasons:
    def test_unreadable(self) -> None:
        """What is no claim is not quoted in the trace: it may be anything."""
        engine = TinyEngine()
        for number, wrong in enumerate(
            (NULL, "a secret", {"secret": "a secret"}, {**claim(), "x": "a secret"})
        ):
            engine.serve(f"r{number}", 2, wrong)
        reasons = {e.reason for e in engine.kinds("claim_rejected")}
        assert {"it is no claim; the answer to its request says why"} == reasons

    def test_misattributed(self) -> None:
        """If the release of the first claim is reported in another name, its end has no report,
        which is a violation."""
        drill = Drill(misattribute={Kind.CLAIM_RELEASED: "claim:b"})
        engine = TinyEngine(drill=drill)
        engine.serve("resident", 60, claim())
        said(engine, CHANGE, mode_change=change("demotable"))
        assert VIOLATED is verdicts(engine, HARD)["claim:a"]

    def test_alarm(self) -> None:
        """With scopes an owner learns that there is an alarm, and not of which claim."""
        alarm = "the monitor found claim tenant-b/secret violated"
        for scopes, words in (({}, alarm), ({"key": "a"}, "the monitor's alarm keeps claims")):
            engine = TinyEngine(scopes=scopes)
            engine.controller._admission._alarm = lambda: alarm
            stated = claim_of(claim(), IDENTITY, keys_of("a", 60))
            assert engine.controller._admission._closed(stated).startswith(words)


ACTS = st.one_of(
    st.tuples(st.just("claim"), st.integers(1, 30), st.sampled_from(MODES), st.booleans()),
    st.tuples(
        st.just("change"), st.integers(0, 9), st.sampled_from(MODES),
        st.sampled_from(["tenant", "stranger"]), st.sampled_from([None, "2 s", "9 s"]),
    ),
    st.tuples(st.just("renew"), st.integers(0, 9)),
    st.tuples(st.just("request"), st.integers(1, 60)),
    st.tuples(st.just("begin"), st.integers(1, 40)),
    st.tuples(st.just("wait"), st.integers(1, 4)),
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(ACTS, max_size=25))
def test_valid(acts: list[tuple[Any, ...]]) -> None:
    """Claims, changes by owners and strangers, renewals and requests in any order: the trace
    has no violation in any mode, a change ends only what its owner gave up, and in the end no block
    stays held."""
    engine = TinyEngine(60)
    begun = []
    for number, (act, *more) in enumerate(acts):
        before = live(engine)
        named = sorted(before)[more[0] % len(before)] if before else "none"
        if act == "claim":
            blocks, mode, lasts = more
            stated = on(mode, f"c{number}", blocks) | ({"duration": "3 s"} if lasts else {})
            engine.serve(f"r{number}", blocks, stated, f"p{blocks % 3}")
        elif act == "change":
            _, mode, owner, duration = more
            own: dict[str, Any] = {"priority": 2} if mode is SOFT else {}
            asked = change(mode, named, f"s{number}", owner_scope=owner, duration=duration, **own)
            entry = engine.controller._registry.live.get(named)
            if "" == said(engine, CHANGE, mode_change=asked):
                assert entry is not None
                mine = entry.claim.owner_scope == owner
                assert mode == live(engine)[f"s{number}"]
                assert mine is (named not in live(engine))
                assert mine or is_escalation(Mode(before[named]), mode)
            else:
                assert f"s{number}" not in live(engine)
        elif act == "renew":
            said(engine, RENEW, renewal=renewal(named, f"n{number}"))
        elif act == "request":
            engine.serve(f"r{number}", more[0])
        elif act == "begin":
            name, keys = f"b{number}", keys_of(f"b{number}", more[0])
            if engine.arrive(Arrival(name, keys, more[0], more[0]))[0]:
                begun.append(name)
            else:
                engine.begin_step()
                engine.finish(name)
        else:
            engine.now += more[0] * NS
    for name in begun:
        engine.finish(name)
    for name, entry in list(engine.controller._registry.live.items()):
        engine.release(name, entry.claim.owner_scope)
    assert 60 == len(engine.pool.free)
    assert VIOLATED not in verdicts(engine, *MODES).values()
