"""Trace validation: what the plugin recorded in a real engine is a run of its model."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import msgspec
import pytest

from models.framework.explore import walk
from models.framework.model import Action, Model, Next
from models.framework.shims import PLAIN, events_of
from models.runtimes.plugin.model import TAKES, VARIANTS, Plugin
from models.runtimes.plugin.of_trace import INSTANCES, plugins_of
from models.runtimes.plugin.state import State
from proofs.product.accepts import ACCEPTED, REJECTED, UNDECIDED, Found, accepts
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark
from spec.language.errors import SpecError
from tests.recordings import RECORDED, Recorded

LOOKED = {Kind.REQUEST_ARRIVED, Kind.PREFIX_LOOKUP}
SCENES = {each.scene: each for each in RECORDED}


def events_in(scene: str) -> list[Event]:
    lines = map(msgspec.json.decode, SCENES[scene].path.read_bytes().splitlines())
    return [msgspec.convert(line, Event) for line in lines if line["kind"] not in set(Mark)]


def plugin_of(events: list[Event], *, enforce: bool = True) -> Plugin:
    """The likeliest instance of the size of a stream."""
    instances = dict(islice(plugins_of(events), len(INSTANCES)))
    return next(each for name, each in instances.items() if INSTANCES[name] is enforce)


def model_of(scene: str) -> Plugin:
    return plugin_of(events_in(scene), enforce=scene != "hard, not enforced")


def judged(scene: str, change: Callable[[list[Event]], list[Event]]) -> Found:
    """What the model of a scene says of its trace after a change."""
    return accepts(model_of(scene), change(events_in(scene)))


def index_of(scene: str, kind: Kind, last: bool = False) -> int:
    found = [at for at, event in enumerate(events_in(scene)) if event.kind is kind]
    return found[-1 if last else 0]


class TestRecordings:
    @pytest.mark.parametrize("recorded", RECORDED, ids=[each.scene for each in RECORDED])
    def test_each_is_a_run_of_the_model(self, recorded: Recorded) -> None:
        """Every recorded trace is accepted from its first event to its last."""
        found = accepts(model_of(recorded.scene), events_in(recorded.scene))
        assert ACCEPTED == found.verdict
        assert found.complete
        assert found.taken == len(events_in(recorded.scene))

    @pytest.mark.parametrize("recorded", RECORDED, ids=[each.scene for each in RECORDED])
    def test_the_instance_is_of_the_size_of_the_trace(self, recorded: Recorded) -> None:
        """The model has the blocks of the engine, and the requests and claims of the trace."""
        model, events = model_of(recorded.scene), events_in(recorded.scene)
        assert model.usable == 80
        assert len(model.requests) == sum(e.kind is Kind.REQUEST_ARRIVED for e in events)
        assert {*model.holders} == {e.claim_id for e in events if e.kind is Kind.CLAIM_REGISTERED}

    def test_the_actions_are_those_of_the_scene(self) -> None:
        """The run that is found for a failed load stores once, loads nothing, and is shut down."""
        found = accepts(model_of("offloadable, load fails"), events_in("offloadable, load fails"))
        names = [action.name for action in found.actions]
        assert names[:4] == ["arrive", "schedule", "computed", "finish"]
        assert names.count("stored") == 1
        assert names[-1] == "close"
        assert "loaded" not in names

    def test_names_do_not_matter(self) -> None:
        """A trace with other names of claims, requests and blocks is accepted as well."""

        def rename(event: Event) -> Event:
            claim = event.claim_id and f"{event.claim_id}!"
            blocks = tuple(1_000 - block for block in event.block_ids)
            ids = event.blocking_claim_ids and tuple(
                f"{each}!" for each in event.blocking_claim_ids
            )
            changed = {"claim_id": claim, "block_ids": blocks, "blocking_claim_ids": ids}
            if event.request_id:
                changed["request_id"] = f"other {event.request_id}"
            return msgspec.structs.replace(event, **changed)

        found = judged("hard, not enforced", lambda events: [*map(rename, events)])
        assert ACCEPTED == found.verdict

    def test_a_cut_trace_is_a_run_that_is_not_complete(self) -> None:
        """A trace that stops between an eviction and its report ends within an action."""
        cut = index_of("hard, not enforced", Kind.BLOCK_EVICTED) + 1
        found = judged("hard, not enforced", lambda events: events[:cut])
        assert ACCEPTED == found.verdict
        assert not found.complete


class TestChanged:
    @pytest.mark.parametrize(
        ("scene", "kind", "follows"),
        [
            ("hard", Kind.REQUEST_REFUSED, Kind.REQUEST_REFUSED),
            ("hard", Kind.CLAIM_MATERIALIZED, Kind.CLAIM_MATERIALIZED),
            ("hard", Kind.CLAIM_ACCEPTED, Kind.CLAIM_ACCEPTED),
            ("expiring", Kind.REQUEST_DEFERRED, Kind.REQUEST_DEFERRED),
            ("expiring", Kind.CLAIM_EXPIRED, Kind.CLAIM_EXPIRED),
            ("demotable, reset", Kind.CLAIM_DEMOTED, Kind.CLAIM_DEMOTED),
            ("demotable, reset", Kind.CLAIM_HARMED, Kind.CLAIM_HARMED),
            ("offloadable", Kind.STORE_FINISHED, Kind.STORE_FINISHED),
            ("offloadable", Kind.CLAIM_RESTORE_REQUIRED, Kind.CLAIM_RESTORE_REQUIRED),
            ("offloadable", Kind.PREFIX_REUSED, Kind.PREFIX_REUSED),
            ("priority", Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_UNMATERIALIZED),
        ],
    )
    def test_a_missing_event_is_found_at_the_next_one(
        self, scene: str, kind: Kind, follows: Kind
    ) -> None:
        """Without a fact or a report, the event after it is none that could come next."""
        at = index_of(scene, kind)
        found = judged(scene, lambda events: [*events[:at], *events[at + 1 :]])
        assert REJECTED == found.verdict
        assert found.taken == at
        assert any(follows in each for each in found.instead)

    @pytest.mark.parametrize("scene", ["hard", "expiring", "demotable, reset"])
    def test_an_eviction_of_a_held_block_is_rejected(self, scene: str) -> None:
        """Once the claim's blocks are held, none of them can be a victim."""
        at = index_of(scene, Kind.CLAIM_MATERIALIZED) + 1
        arrives = index_of(scene, Kind.REQUEST_FINISHED) + 1

        def evict(events: list[Event]) -> list[Event]:
            victim = Event(kind=Kind.BLOCK_EVICTED, request_id="request:1", block_ids=(60,))
            return [*events[:arrives], victim, *events[arrives:]]

        found = judged(scene, evict)
        assert REJECTED == found.verdict
        assert found.taken == arrives >= at
        assert not any(Kind.BLOCK_EVICTED in each for each in found.instead)

    def test_a_report_under_another_name_is_rejected(self) -> None:
        """A refusal that names another claim is none that the model makes."""
        at = index_of("hard", Kind.REQUEST_REFUSED)

        def blame(events: list[Event]) -> list[Event]:
            events[at] = msgspec.structs.replace(events[at], blocking_claim_ids=("claim:other",))
            return events

        found = judged("hard", blame)
        assert REJECTED == found.verdict
        assert found.taken == at

    @pytest.mark.parametrize("scene", ["hard, not enforced", "expiring", "offloadable", "priority"])
    def test_another_order_of_victims_is_rejected(self, scene: str) -> None:
        """The victims are those of the free queue, in its order."""
        at = index_of(scene, Kind.BLOCK_EVICTED, last=True)

        def turn(events: list[Event]) -> list[Event]:
            turned = events[at].block_ids[::-1]
            events[at] = msgspec.structs.replace(events[at], block_ids=turned)
            return events

        found = judged(scene, turn)
        assert REJECTED == found.verdict
        assert found.taken == at

    @pytest.mark.parametrize(
        ("scene", "kind"),
        [("hard", Kind.REQUEST_REFUSED), ("hard, not enforced", Kind.BLOCK_EVICTED)],
    )
    def test_the_setting_of_the_engine_matters(self, scene: str, kind: Kind) -> None:
        """A trace with enforcement is no run without it, nor the other way round."""
        model = plugin_of(events_in(scene), enforce=scene == "hard, not enforced")
        found = accepts(model, events_in(scene))
        assert REJECTED == found.verdict
        assert found.taken == index_of(scene, kind)


class _FirstBlockFirst(Plugin):
    """A plugin in an engine that frees the first block of a request first, and not the last."""

    def apply(self, state: State, action: Action) -> Next[State]:
        after, emits = super().apply(state, action)
        before, free = len(state.free), after.free
        if action.name == "finish":
            free = (*free[:before], *free[before:][::-1])
        return Next(after._replace(free=free), emits)


class TestModel:
    def test_a_model_that_is_wrong_rejects_the_trace(self) -> None:
        """With another free queue the model makes other victims than the engine did."""
        right = model_of("hard, not enforced")
        claims, prompts = right.claims.values(), right.prompts.values()
        wrong = _FirstBlockFirst(right.usable, claims, prompts, enforce=False)
        found = accepts(wrong, events_in("hard, not enforced"))
        assert REJECTED == found.verdict
        assert found.taken == index_of("hard, not enforced", Kind.BLOCK_EVICTED)

    def test_what_may_happen_unseen_is_bounded(self) -> None:
        """A model that can be in too many states is undecided, and not searched for ever."""
        assert accepts(model_of("hard"), events_in("hard"), limit=1) == Found(UNDECIDED, 0)

    @pytest.mark.parametrize("mode", TAKES)
    def test_what_a_model_does_it_accepts(self, mode: Mode) -> None:
        """Random runs of the model are accepted by it, up to their last event."""
        model = VARIANTS[mode]()
        for seed in range(20):
            steps = list(walk(model, seed, 25))
            events = [event for step in steps for event in events_of(PLAIN, step.emits)]
            found = accepts(model, events)
            assert ACCEPTED == found.verdict
            assert found.complete

    def test_nothing_is_a_run_of_every_model(self) -> None:
        """An empty stream is accepted, by no action."""
        model: Model[Any] = model_of("hard")
        assert accepts(model, []) == Found(ACCEPTED, 0, complete=True)


class TestInstance:
    def test_without_a_request_there_is_none(self) -> None:
        """The size of the pool is in the arrivals, so a trace without one has no instance."""
        with pytest.raises(SpecError, match="no request arrives"):
            plugin_of([])

    def test_a_claim_that_nobody_registers(self) -> None:
        """A look-up for a claim that the stream does not register leaves the prompt open."""
        events = [each for each in events_in("offloadable") if each.kind in LOOKED]
        with pytest.raises(SpecError, match="is for no claim that the stream registers"):
            plugin_of(events)
