"""The model of this project's plugin: sound in the modes that it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.framework.claims import Claim
from models.framework.model import Action, Fact, Next
from models.framework.shims import PLAIN
from models.runtimes.plugin.model import TAKES, VARIANTS, Plugin
from models.runtimes.plugin.state import Prompt, State
from proofs.product.search import Answer, search
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from tests.models.runtimes.reached import reached
from tests.models.runtimes.walk import breaking, judged, without
from tests.models.runtimes.whole import unkept

SIZES = {
    Mode.BEST_EFFORT: (656, 2402),
    Mode.SOFT_PRIORITY: (684, 2498),
    Mode.HARD_PROTECTED: (1127, 4532),
    Mode.DEMOTABLE: (677, 3257),
    Mode.EXPIRING: (1127, 5407),
    Mode.OFFLOADABLE: (335, 1236),
}

STUCK = "who may run beside claims gets blocks"


class TestSize:
    @pytest.mark.parametrize("mode", TAKES)
    def test_each_instance_has_so_many_states(self, mode: Mode) -> None:
        """The numbers of states and transitions are as they were counted; no block is lost."""
        found = reached(VARIANTS[mode])
        assert (found.states, found.transitions) == SIZES[mode]
        assert found.broken == ()
        assert found.missed == ()

    def test_it_takes_no_routed_claims(self) -> None:
        """One engine routes nothing, as the plugin's descriptor says."""
        assert {*TAKES} == {*Mode} - {Mode.ROUTED_REUSE}

    def test_a_tier_that_loses_its_copies_can_leave_a_request_stuck(self) -> None:
        """A request that fitted beside copied claims no longer fits when they are held again.

        The plugin refuses such a request, with a gap in its stream (`Arbitration.refuse_stuck`).
        """
        claims = [Claim(f"c{at}", name, 1, Mode.OFFLOADABLE) for at, name in enumerate("ab")]
        prompts = [
            Prompt("r1", "a", 1, tail=1, claims=("c0",)),
            Prompt("r2", "b", 1, tail=1, claims=("c1",)),
            Prompt("r3", "a", 1, own=1, tail=1),
        ]
        run = breaking(Plugin(3, claims, prompts, tier=True), STUCK)
        assert run == [
            *("arrive(r1)", "arrive(r2)", "finish(r1)", "schedule(r2)", "computed(r2)"),
            *("finish(r2)", "stored(b)", "arrive(r3)", "tier_reset"),
        ]


class TestBounded:
    """Two requests without a limit, beside two claims."""

    def test_size(self) -> None:
        """The numbers of states and transitions are as they were counted; no block is lost."""
        found = reached(VARIANTS["unlimited"])
        assert (885, 2619) == (found.states, found.transitions)
        assert ((), ()) == (found.broken, found.missed)

    def test_kept(self) -> None:
        """Every obligation of hard_protected is kept for each claim in every reachable state."""
        assert {} == unkept(VARIANTS["unlimited"](), Mode.HARD_PROTECTED)

    def test_silent(self) -> None:
        """Were it not reported, a conflict would end without an action."""
        like = VARIANTS["unlimited"]()
        model = _Silent(Kind.REQUEST_BOUNDED, like)
        found = search(model, PLAIN, Mode.HARD_PROTECTED, "explicit_conflict_action", "c1")
        assert Answer.BROKEN is found.answer

    def test_again(self) -> None:
        """What was bounded is reported again at its end, if the claims have changed since."""
        model = VARIANTS["unlimited"]()
        (state,) = model.initial()
        said: list[tuple[str, str | None]] = []
        for action in (
            *(("arrive", "r1"), ("schedule", "r1"), ("computed", "r1"), ("finish", "r1")),
            *(("arrive", "r2"), ("arrive", "r3"), ("give_up", "c1"), ("schedule", "r2")),
            *(("computed", "r2"), ("finish", "r2"), ("schedule", "r3"), ("computed", "r3")),
            ("finish", "r3"),
        ):
            state, emits = model.apply(state, Action(action[0], (action[1],)))
            events = [each.event for each in emits if isinstance(each, Fact)]
            said += [
                (event.kind, event.request_id)
                for event in events
                if event.kind in (Kind.REQUEST_BOUNDED, Kind.CLAIM_ACCEPTED)
            ]
        bounded = [name for kind, name in said if kind == Kind.REQUEST_BOUNDED]
        assert ["r3", "r3"] == bounded
        assert 2 == sum(kind == Kind.CLAIM_ACCEPTED for kind, _ in said)

    def test_later(self) -> None:
        """One whose prompt did not fit waits, and is bounded once a claim in its way has ended."""
        model = self.later()
        (state,) = model.initial()
        said: list[str] = []
        serve = ("schedule", "computed", "finish")
        for how, name in (
            *(("arrive", "r1"), *((each, "r1") for each in serve)),
            *(("arrive", "r2"), *((each, "r2") for each in serve)),
            *(("arrive", "r3"), ("give_up", "c1"), ("again", "r3"), ("schedule", "r3")),
        ):
            state, emits = model.apply(state, Action(how, (name,)))
            said += [each.event.kind for each in emits if isinstance(each, Fact)]
        actions = [kind for kind in said if kind.startswith("request_") and kind.endswith("ed")]
        assert ["request_deferred", "request_bounded"] == [
            kind for kind in actions if kind not in ("request_arrived", "request_finished")
        ]

    @pytest.mark.slow
    def test_later_kept(self) -> None:
        """There, too, every obligation is kept for each claim in every reachable state."""
        assert {} == unkept(self.later(), Mode.HARD_PROTECTED)

    def later(self) -> Plugin:
        """A request without a limit, whose prompt does not fit beside two claims."""
        claims = (Claim(f"c{at}", name, 1, Mode.HARD_PROTECTED) for at, name in enumerate("ab", 1))
        prompts = (
            Prompt("r1", "a", 1, tail=1, claims=("c1",)),
            Prompt("r2", "b", 1, tail=1, claims=("c2",)),
            Prompt("r3", own=3, tail=1, least=3),
        )
        return Plugin(4, claims, prompts, defer=True)


class TestOperator:
    def test_it_has_demotable_claims_demoted_and_no_others(self) -> None:
        """An operator acts as the runtime, which may demote, and not as an owner."""
        for mode in TAKES:
            assert ("demote" in reached(VARIANTS[mode]).actions) is (mode is Mode.DEMOTABLE)

    def test_a_drain_has_claims_rejected_and_requests_served(self) -> None:
        """No claim is live after it, and the request runs as one without a claim."""
        model = _pressed(Mode.HARD_PROTECTED)
        (state,) = model.initial()
        drained, emits = model.apply(state, Action("arrive_drained", ("r1",)))
        assert () == drained.live
        assert ("runs",) == tuple(each.how for each in drained.waiting)
        said = [each.event.kind for each in emits if isinstance(each, Fact)]
        assert [Kind.CLAIM_REGISTERED, Kind.CLAIM_REJECTED, Kind.REQUEST_ARRIVED] == said

    def test_only_a_request_with_a_claim_meets_a_drain(self) -> None:
        """What a drain changes is the answer to a claim."""
        model = _pressed(Mode.HARD_PROTECTED)
        (state,) = model.initial()
        after, _ = model.apply(state, Action("arrive_drained", ("r1",)))
        assert Action("arrive_drained", ("r1",)) in {*model.actions(state)}
        assert Action("arrive_drained", ("r2",)) not in {*model.actions(after)}


class TestLosses:
    def test_harm_is_reported_in_the_order_of_blocks(self) -> None:
        """After a reset two claims on the first block are reported before an older one on another,
        as in a trace of a real engine."""
        named = {"c0": "b", "c1": "a", "c2": "b"}
        claims = [Claim(each, name, 1, Mode.HARD_PROTECTED) for each, name in named.items()]
        prompts = [Prompt("r", "a", 1, tail=1)]
        prompts += [Prompt(f"r-{e}", o, 1, tail=1, claims=(e,)) for e, o in named.items()]
        model = Plugin(8, claims, prompts)
        (state,) = model.initial()
        for name in model.requests:
            for step in ("arrive", "schedule", "computed", "finish"):
                state = model.apply(state, Action(step, (name,))).state
        assert ("c0", "c1", "c2") == state.live
        _, emits = model.apply(state, Action("reset"))
        harmed = [e.event.claim_id for e in emits if isinstance(e, Fact) and e.event.claim_id]
        assert ["claim:c0", "claim:c2", "claim:c1"] == harmed

    def test_the_last_block_of_a_content_is_the_one_that_is_lost(self) -> None:
        """Of a content that two blocks hold a claim loses the last one, and reports that."""
        claims = [Claim("c1", "a", 2, Mode.SOFT_PRIORITY, priority=3)]
        prompts = [Prompt("r1", "a", 2), Prompt("r2", "a", 2, claims=("c1",))]
        model = Plugin(3, claims, prompts, drains=False)
        (state,) = model.initial()
        for name in ("r1", "r2"):
            for step in ("arrive", "schedule", "computed", "finish"):
                state = model.apply(state, Action(step, (name,))).state
        assert (1, 2, 3) == state.watched
        _, emits = model.apply(state, Action("reset"))
        said = [each.event.kind for each in emits if isinstance(each, Fact)]
        assert [Kind.BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED] == said


class TestFound:
    def test_what_a_kept_claim_owns_is_new_to_a_watched_one(self) -> None:
        """The ledgers of kept and of watched claims are apart, so one event has all its blocks."""
        claims = [
            Claim("c1", "a", 1, Mode.HARD_PROTECTED),
            Claim("c2", "a", 2, Mode.BEST_EFFORT),
        ]
        prompts = [Prompt(f"r{n}", "a", 2, tail=1, claims=(f"c{n}",)) for n in (1, 2)]
        model = Plugin(6, claims, prompts)
        (state,) = model.initial()
        for step in ("arrive", "schedule", "computed", "finish"):
            state = model.apply(state, Action(step, ("r1",))).state
        _, emits = model.apply(state, Action("arrive", ("r2",)))
        events = [each.event for each in emits if isinstance(each, Fact)]
        assert [(1, 2)] == [e.block_ids for e in events if e.kind is Kind.BLOCK_CACHED]


class TestCopies:
    def test_a_look_up_finds_the_copy_that_was_filed_first(self) -> None:
        """A prompt without a tail computes its last block again, and then two blocks hold it."""
        prompts = [Prompt("r1", "a", 2), Prompt("r2", "a", 2), Prompt("r3", "a", 2, tail=1)]
        model = Plugin(4, [], prompts)
        (state,) = model.initial()
        for name in ("r1", "r2"):
            for step in ("arrive", "schedule", "computed", "finish"):
                state = model.apply(state, Action(step, (name,))).state
        assert (None, ("a", 0), ("a", 1), ("a", 1), None) == state.cached
        assert (3,) == state.again
        state = model.apply(state, Action("arrive", ("r3",))).state
        state = model.apply(state, Action("schedule", ("r3",))).state
        assert (1, 2, 4) == state.running[0].blocks


class TestKept:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("mode", "obligation"),
        [
            (Mode.BEST_EFFORT, "claim_materialized_event"),
            (Mode.BEST_EFFORT, "claim_scoped_telemetry"),
            pytest.param(Mode.DEMOTABLE, "claim_demoted_before_loss", marks=pytest.mark.deep),
            pytest.param(Mode.DEMOTABLE, "ordered_lifecycle_events", marks=pytest.mark.deep),
            pytest.param(Mode.EXPIRING, "claim_expired_boundary", marks=pytest.mark.deep),
            (Mode.HARD_PROTECTED, "explicit_acceptance"),
        ],
    )
    def test_an_obligation_is_kept(self, mode: Mode, obligation: str) -> None:
        """The search answers `kept`; these obligations are cheap to search for."""
        assert search(VARIANTS[mode](), PLAIN, mode, obligation, "c1").answer is Answer.KEPT

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", TAKES)
    @pytest.mark.deep
    def test_every_obligation_of_every_mode_is_kept(self, mode: Mode) -> None:
        """In one walk with all observers, for each of the three claims."""
        assert unkept(VARIANTS[mode](), mode) == {}

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", [Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.OFFLOADABLE])
    @pytest.mark.deep
    def test_it_is_so_for_claims_of_two_sizes_on_one_prompt(self, mode: Mode) -> None:
        """They have different objects, and share contents."""
        claims = (Claim("c1", "a", 1, mode), Claim("c2", "a", 2, mode))
        prompts = (
            Prompt("r1", "a", 2, tail=1, claims=("c1",)),
            Prompt("r2", "a", 2, tail=1, claims=("c2",)),
            Prompt("r3", own=2, tail=1),
        )
        model = Plugin(4, claims, prompts, tier=mode is Mode.OFFLOADABLE)
        assert unkept(model, mode) == {}


class _Silent(Plugin):
    """Leaves out the reports of a kind: what the setting `drill` does."""

    def __init__(self, kind: Kind, like: Plugin) -> None:
        claims, prompts = like.claims.values(), like.prompts.values()
        super().__init__(like.usable, claims, prompts, defer=like.defer, tier=like.tier)
        self.kind = kind

    def apply(self, state: State, action: Action) -> Next[State]:
        after, emits = super().apply(state, action)
        return Next(after, without(emits, self.kind))


def _pressed(mode: Mode, **more: Any) -> Plugin:
    """One claim, and a request that does not fit beside it."""
    claims = (Claim("c1", "a", 1, mode, duration="9 steps" if mode is Mode.EXPIRING else None),)
    prompts = (Prompt("r1", "a", 1, tail=1, claims=("c1",)), Prompt("r2", own=2, tail=1))
    return Plugin(3, claims, prompts, **more)


class TestChanged:
    @pytest.mark.parametrize(
        ("mode", "obligation"),
        [
            (Mode.HARD_PROTECTED, "victim_exclusion_before_violation"),
            (Mode.HARD_PROTECTED, "explicit_conflict_action"),
            (Mode.DEMOTABLE, "claim_demoted_before_loss"),
            (Mode.EXPIRING, "claim_expired_boundary"),
        ],
    )
    def test_without_enforcement_the_promise_is_broken(
        self, mode: Mode, obligation: str, tmp_path: Path
    ) -> None:
        """The claim's block is evicted, or the request served, as in the demo's scene."""
        found = search(_pressed(mode, enforce=False), PLAIN, mode, obligation, "c1")
        assert found.answer is Answer.BROKEN
        assert judged(found, PLAIN, mode, "c1", tmp_path) == "violated"

    @pytest.mark.parametrize(
        ("mode", "kind", "obligation"),
        [
            (Mode.HARD_PROTECTED, Kind.REQUEST_REFUSED, "explicit_conflict_action"),
            (Mode.HARD_PROTECTED, Kind.CLAIM_HARMED, "claim_harm_attribution"),
            (Mode.HARD_PROTECTED, Kind.CLAIM_MATERIALIZED, "claim_materialized_event"),
            (Mode.DEMOTABLE, Kind.CLAIM_DEMOTED, "ordered_lifecycle_events"),
            (Mode.EXPIRING, Kind.CLAIM_EXPIRED, "claim_expired_boundary"),
        ],
    )
    def test_a_report_that_is_left_out_is_missed(
        self, mode: Mode, kind: Kind, obligation: str, tmp_path: Path
    ) -> None:
        """Without one of its reports an obligation is broken, and the monitor says so, too."""
        found = search(_Silent(kind, _pressed(mode)), PLAIN, mode, obligation, "c1")
        assert found.answer is Answer.BROKEN
        assert judged(found, PLAIN, mode, "c1", tmp_path) == "violated"
