"""Look-ups and reuses of an object are taken in by the claims of which they change anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.engine import Monitor
from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.compile import compile_mode
from monitor.input.records import Record, at_line, stamp_of
from monitor.stream.claim_store import ClaimStore
from monitor.stream.projection import Stream
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from tests.streams.strategies import Stamped, streams

CLAIMS = 20


def findings(events: Iterable[Event], mode: Mode, *, apart: bool) -> list[Any]:
    """All that is found of a stream; the claims at rest are kept apart, or asked each time."""
    with pytest.MonkeyPatch.context() as patch:
        if not apart:
            patch.setattr(ClaimStore, "users", lambda *_, **__: None)
        monitor = Monitor(mode)
        found: list[Any] = []
        for line, event in enumerate(events, 1):
            at = at_line("f", line, event.sequence)
            monitor.take(Record(at, stamp_of(event, "s"), ((event, at),)))
            if line % 7 == 0:
                found.append([dict(each.findings()) for each in monitor.claims()])
        conclusion = monitor.conclude()
        left = [*monitor.left(), *monitor.contradicted()]
        return [
            *found,
            left,
            [(each.verdict, each.why, each.findings) for each in conclusion.claims],
        ]


@st.composite
def uses(draw: st.DrawFn, objects: Sequence[str | None]) -> list[Event]:
    """Look-ups and reuses of an object, some of them by a request."""
    shared = {
        "object_id": draw(st.sampled_from(objects)),
        "cache_identity": draw(st.sampled_from((None, "model/16"))),
        "request_id": draw(st.sampled_from((None, "request:1", "request:2"))),
    }
    held, asked = draw(st.integers(0, 4)), draw(st.none() | st.integers(0, 4))
    look_up = Event(kind=Kind.PREFIX_LOOKUP, held=draw(st.sampled_from((None, held))), asked=asked)
    kind = draw(st.sampled_from((look_up, Event(kind=Kind.PREFIX_REUSED))))
    return [msgspec.structs.replace(kind, **shared)] * draw(st.integers(1, 4))


@st.composite
def used(draw: st.DrawFn) -> list[Event]:
    """A stream with uses of its objects in between, by their objects alone."""
    told: list[Stamped] = draw(streams())
    one = draw(st.booleans())
    events = [each for _, each in told]
    if one:  # all claims are on one object
        events = [
            msgspec.structs.replace(each, object_id=each.object_id and "o", content_keys=())
            for each in events
        ]
    objects = sorted({each.object_id for each in events if each.object_id is not None}) or ["o"]
    for _ in range(draw(st.integers(1, 5))):
        place = draw(st.integers(0, len(events)))
        events[place:place] = draw(uses(objects))
    numbered = draw(st.sampled_from((True, True, False)))  # or nothing can be missing
    skipped = draw(st.integers(0, 2 * len(events)))
    return [
        msgspec.structs.replace(each, sequence=n + (n > skipped) if numbered else None, time_ns=n)
        for n, each in enumerate(events)
    ]


class TestUses:
    @settings(deadline=None)
    @given(used(), st.sampled_from(list(Mode)))
    def test_as_if_all_were_asked(self, events: list[Event], mode: Mode) -> None:
        """All findings, with their places, are those of a monitor that asks each claim each time,
        at the end and on the way.
        """
        assert findings(events, mode, apart=False) == findings(events, mode, apart=True)

    @pytest.mark.parametrize("request_id", [None, "r"])
    def test_cost(self, request_id: str | None) -> None:
        """A look-up that changes nothing of the claims on an object steps none of them: nor of
        those of which nothing is concluded, whichever request it is of.
        """
        compiled, steps = compile_mode(Mode.HARD_PROTECTED, Bundle.CONTRACT), 0

        def counted(step: Any) -> Any:
            def taken(*arguments: Any) -> Any:
                nonlocal steps
                steps += 1
                return step(*arguments)

            return taken

        every = tuple(map(counted, compiled.steps))
        stream = Stream(replace(compiled, steps=every), "s")
        about = {"object_id": "o", "cache_identity": "m"}
        for n in range(CLAIMS):
            said = {"claim_id": f"c{n}", "predicate": "leading_prefix_at_least(1)", **about}
            stream.take(Event(kind=Kind.CLAIM_REGISTERED, **said), at_line("f", n))
        claims: list[ClaimRun] = list(stream.claims.values())
        if request_id is not None:
            for claim in claims:
                claim.distrust(None, "for this test")
        costs = []
        for line in range(4):
            before = steps
            look_up = Event(
                kind=Kind.PREFIX_LOOKUP, held=0, asked=1, request_id=request_id, **about
            )
            stream.take(look_up, at_line("f", CLAIMS + line))
            costs.append(steps - before)
        assert [0, 0] == costs[2:]
        assert CLAIMS == len(claims)

    def test_nobody(self) -> None:
        """Of an object without a claim nothing is kept."""
        stream = Stream(compile_mode(Mode.HARD_PROTECTED, Bundle.CONTRACT), "s")
        for line in range(9):
            stream.take(
                Event(kind=Kind.PREFIX_LOOKUP, object_id=f"o{line}", held=0), at_line("f", line)
            )
            stream.take(Event(kind=Kind.STORE_FINISHED, object_id=f"o{line}"), at_line("f", line))
        assert {} == stream._store.objects._restless
