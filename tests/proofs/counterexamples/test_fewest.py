"""The run of a row is one of the shortest, and of these one with the fewest names.

A search keeps one way to each state, and takes those as one that differ in names alone. Here no
state stands for another, and what a run has named is a part of its state.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, TypeAlias

import pytest

from models.framework.shims import events_of
from models.framework.stepper import FIRST, Stepper
from proofs.counterexamples.suite import Row
from proofs.product.graph import Graph
from spec.events.canonical import Event
from spec.language.verdicts import Verdict
from tests.proofs.counterexamples import test_recorded as recorded

Names: TypeAlias = tuple[frozenset[str], frozenset[str], frozenset[int]]
"""The claims, requests and blocks that events name."""

NOTHING: Final[Names] = (frozenset(), frozenset(), frozenset())


def named(events: list[Event]) -> Names:
    """What some events name."""
    return (
        frozenset(event.claim_id for event in events if event.claim_id),
        frozenset(event.request_id for event in events if event.request_id),
        frozenset(block for event in events for block in event.block_ids),
    )


def shortest(row: Row, limit: int) -> tuple[int, tuple[int, ...]]:
    """The events of a shortest run that breaks what the row shows, and the fewest names of one."""
    inference = recorded.INFERENCES[row.inference]
    graph = Graph(inference.model(), symmetric=False)
    judge = Stepper(inference.model(), inference.shim, inference.mode, inference.tracked)
    place = judge.obligations.index(recorded.shown(row))
    todo = defaultdict(list, {0: [(number, FIRST, NOTHING) for number in graph.first]})
    seen = set(todo[0])
    for length in range(limit + 1):
        found = []
        for state, configuration, names in todo[length]:
            if judge.verdict(configuration, place) is Verdict.VIOLATED:
                found.append(tuple(map(len, names)))
                continue
            for reached, emits, _, _ in graph.leaving(state):
                following, count = judge.after(configuration, emits, place)
                more = named(events_of(inference.shim, emits)[:count])
                names_now = tuple(one | other for one, other in zip(names, more, strict=True))
                new = reached, following, names_now
                if new not in seen:
                    seen.add(new)
                    todo[length + count].append(new)
        if found:
            return length, min(found)
    raise AssertionError(f"no run of up to {limit} events breaks {recorded.shown(row)}")


@pytest.mark.parametrize("row", recorded.WITH_RUNS, ids=lambda row: row.inference)
def test_the_fewest(row: Row) -> None:
    """No run with fewer events breaks the obligation, nor one as short with fewer names."""
    events = recorded.events_of(row)
    counts = tuple(map(len, named(events)))
    assert (len(events), counts) == shortest(row, len(events))
