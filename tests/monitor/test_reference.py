"""The compiled monitor against the slow reference, on streams that tell stories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.compile import Compiled, _observer, compile_mode
from monitor.input.records import Record, Stamp, at_line
from monitor.input.sources import read
from monitor.stream.projection import Stream
from spec.claims.claim import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.events.canonical import Event
from spec.language.machine import Observer
from spec.language.terms import FALSE
from tests.monitor.reference import Taken, interpret
from tests.streams.chains import CHAINS
from tests.streams.stories import CLAIMS, accepted, cached
from tests.streams.strategies import Stamped, streams

TRACES = Path(__file__).parents[1] / "obligations" / "traces"
UNRANKED = "the mode ranks no claims, so a loss that leaves the predicate whole is no news"
OUT_OF_REACH = {
    (mode, "claim_scoped_telemetry", name): UNRANKED
    for mode in (Mode.BEST_EFFORT, Mode.ROUTED_REUSE)
    for name in (
        "rule ranked_claim_lost_block",
        "state thinned",
        "rule loss_reported_without_new_loss",
        "rule wrong_block_reported_lost",
        "rule block_loss_reported",
        "rule predicate_true_again_while_loss_due",
    )
}
OUT_OF_REACH |= {
    (
        Mode.OFFLOADABLE,
        "claim_harm_attribution",
        "rule harm_reported_while_predicate_true",
    ): "a copy counts",
    (
        Mode.SOFT_PRIORITY,
        "claim_scoped_telemetry",
        "rule predicate_true_again_by_load",
    ): "the mode ranks claims",
    (
        Mode.HARD_PROTECTED,
        "explicit_conflict_action",
        "rule reused_request_id_fits",
    ): "a request that is in hand arrives again, and facts contradict each other",
}
"""Rules and states that a mode's constants, or what facts are, rule out, each with the reason."""


def records(events: Iterable[Stamped]) -> Iterator[Record]:
    for line, (number, event) in enumerate(events, 1):
        at = at_line("f", line, number)
        yield Record(at, Stamp("run", number, event.time_ns), ((event, at),))


def asking(stream: Iterable[Record], mode: Mode) -> Iterator[Record]:
    """The records, where every claim that asks for a mode asks for this one."""
    for record in stream:
        events = tuple(
            (msgspec.structs.replace(event, mode=mode.value) if event.mode else event, at)
            for event, at in record.events
        )
        yield Record(record.at, record.stamp, events)


def chain_streams() -> Iterator[list[Stamped]]:
    """Every chain of stories by itself, about each claim; and one that steps back in time."""
    yield [(0, accepted("claim:a", "")[0]), *zip((3, 2), accepted("claim:a", "")[1:], strict=True)]
    yield list(zip((0, 1, 2, 1), [*accepted("claim:a", ""), *cached("claim:a", "")], strict=True))
    for chain in CHAINS:
        for claim in CLAIMS:
            events: list[Event] = [e for story in chain for e in story(claim, "request:1")]
            yield list(enumerate(events))


def inside(claim: ClaimRun) -> object:
    """All that the monitor holds of a claim: registers, and the state of every observer."""
    watches = [claim.base, *(request.watches for request in claim.requests.values())]
    return (
        claim.facts,
        [request.facts for request in claim.requests.values()],
        [(w.state, w.own, w.at, w.rule) for scope in watches for w in scope],
    )


def compare(fast: Compiled, slow: Compiled, stream: Iterable[Record]) -> None:
    """Both monitors read the stream and agree after each line."""
    one, other = Stream(fast, "run"), Stream(slow, "run")
    for record in stream:
        for monitor in (one, other):
            monitor.stamp(record.stamp, record.at)
            for event, at in record.events:
                monitor.take(event, at)
        assert list(other.claims) == list(one.claims)
        for name, claim in other.claims.items():
            assert inside(claim) == inside(one.claims[name])
            assert dict(claim.findings()) == dict(one.claims[name].findings())


def compiled(observer: Observer) -> Callable[..., Any]:
    """One observer as a function, as `compile_mode` makes it."""
    made: dict[str, Any] = {}
    exec("\n".join(_observer(0, observer)), made)
    step: Callable[..., Any] = made["observe_0"]
    return step


def told(mode: Mode) -> list[list[Record]]:
    """All stories by themselves, and the hand-written traces; all claims ask for the mode."""
    streams = [records(stream) for stream in chain_streams()]
    traces = [read([str(path)]) for path in sorted(TRACES.glob("*.jsonl"))]
    return [list(asking(stream, mode)) for stream in (*streams, *traces)]


def rules_taken(whole: Compiled, stream: Iterable[Record]) -> set[tuple[int, int]]:
    """Which rules of which observers a stream takes; without any other it is judged the same."""
    taken: set[tuple[int, int]] = set()

    def noting(place: int, step: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            found = step(*arguments)
            taken.add((place, found[2]))
            return found

        return noted

    steps = tuple(noting(place, step) for place, step in enumerate(whole.steps))
    monitor = Stream(replace(whole, steps=steps), "run")
    for record in stream:
        monitor.stamp(record.stamp, record.at)
        for event, at in record.events:
            monitor.take(event, at)
    return taken


def missed(mode: Mode, taken: Taken) -> set[tuple[Mode, str, str]]:
    """Rules never taken and states never entered, of the mode's observers."""
    observers = MODES[mode].bundle(Bundle.CONTRACT)
    rules = {(mode, o.name, f"rule {r.name}") for o in observers for r in o.rules}
    states = {(mode, o.name, f"state {s.name}") for o in observers for s in o.states}
    found = {(mode, o, f"rule {name}") for o, name in taken.rules}
    found |= {(mode, o, f"state {name}") for o, name in taken.states}
    return (rules | states) - found


class TestReference:
    """The reference interprets what the monitor compiles."""

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", MODES)
    def test_agreement_and_coverage(self, mode: Mode) -> None:
        """On told, mixed and spoilt stories both conclude the same; every rule and state occurs."""
        fast = compile_mode(mode, Bundle.CONTRACT)
        slow, taken = interpret(mode, Bundle.CONTRACT)

        @settings(
            max_examples=40,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(streams())
        def agree(stream: list[Stamped]) -> None:
            compare(fast, slow, asking(records(stream), mode))

        for stream in told(mode):
            compare(fast, slow, stream)
        agree()
        assert {key for key in OUT_OF_REACH if key[0] is mode} == missed(mode, taken)

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", MODES)
    def test_every_rule_matters(self, mode: Mode) -> None:
        """A monitor that forgets any one rule is told apart by the stories or the traces."""
        whole = compile_mode(mode, Bundle.CONTRACT)
        unnoticed = set()
        streams = [(stream, rules_taken(whole, stream)) for stream in told(mode)]
        for place, observer in enumerate(whole.observers):
            for number, rule in enumerate(observer.rules):
                rules = tuple(replace(r, when=FALSE) if r is rule else r for r in observer.rules)
                step = compiled(replace(observer, rules=rules))
                steps = (*whole.steps[:place], step, *whole.steps[place + 1 :])
                try:
                    for stream, taken in streams:
                        if (place, number) in taken:
                            compare(replace(whole, steps=steps), whole, stream)
                except AssertionError:
                    continue
                unnoticed.add((mode, observer.name, f"rule {rule.name}"))
        assert {k for k in OUT_OF_REACH if k[0] is mode and k[2].startswith("rule")} == unnoticed

    def test_bundles(self) -> None:
        """The completed bundles hold all 19 obligations and, mode by mode, the papers' bundles."""
        contract = {n for spec in MODES.values() for n in spec.names(Bundle.CONTRACT)}
        assert set(OBLIGATIONS) == contract
        for spec in MODES.values():
            assert set(spec.names(Bundle.PAPER)) <= set(spec.names(Bundle.CONTRACT))

    def test_names(self) -> None:
        """No observer has two rules of one name, so that counting rules by name counts them all."""
        for observer in OBLIGATIONS.values():
            assert len(observer.rules) == len({rule.name for rule in observer.rules})
