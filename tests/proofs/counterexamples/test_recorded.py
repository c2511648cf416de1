"""Tests of the recorded suite: what is in it, and that both judges say of each run what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from models.counterexamples import RECORDED, file_name
from models.framework.premises import patched
from models.framework.shims import claim_of
from models.registry import inferences, runtime
from monitor.check.events import EventMonitor
from proofs.counterexamples.folder import read_index
from proofs.counterexamples.labels import labelled
from proofs.counterexamples.page import pages, recorded
from proofs.counterexamples.refute import refute
from proofs.counterexamples.suite import Row, concludes_of, files
from proofs.counterexamples.verify import compared
from proofs.product.accepts import is_run
from spec.claims.states import Mode
from spec.digest import spec_digest
from spec.events.canonical import Event
from spec.files.writing import stale
from spec.language.verdicts import Verdict
from spec.lowering.vocabulary import Basis, ClaimScope
from spec.stream.breaks import line_of
from spec.stream.judge import Judge
from tests.proofs.judging import judged

DOCS = Path(__file__).parents[3] / "docs"
ROWS = recorded().rows
WITH_RUNS = [row for row in ROWS if row.trace is not None]
EACH = pytest.mark.parametrize("row", WITH_RUNS, ids=lambda row: row.inference)
INFERENCES = {each.name: each for each in inferences()}

TABLE_9 = {
    "priority_value_in_event -> soft_priority": "approximate",
    "active_no_evict -> future_resident hard_protected": "rejected",
    "duration_metadata -> expiring": "approximate",
    "storage_tier -> offloadable": "approximate",
    "claim_joined_offload + generic_onboard_counters -> offloadable": "approximate",
    "same_prompt_block_tier_movement -> offloadable": "approximate",
    "kv_aware_routing -> routed_reuse": "approximate",
    "block_removed -> claim_harm": "invalid lowering claim",
    "fallback recompute after failed load -> restored offloadable claim": (
        "rejected by connector gate"
    ),
    "wrong-claim or unclaimed load failure -> restoration failure outcome": (
        "rejected by connector gate"
    ),
}


def events_of(row: Row) -> list[Event]:
    """The run of a row."""
    lines = (RECORDED / str(row.trace)).read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Event) for line in lines]


def shown(row: Row) -> str:
    """The obligation that the run breaks."""
    return row.story.rpartition("This breaks ")[2].partition(":")[0]


def test_table_9() -> None:
    """The ten inferences of the paper come first, by the same names with the same results."""
    assert list(TABLE_9.items()) == [(row.inference, row.result) for row in ROWS[:10]]
    assert all(row.trace is not None for row in ROWS[:10])


C1 = {
    "retention priority 100 -> hard_protected",
    "priority value -> hard_protected",
    "highest priority -> hard_protected",
}


def test_c1() -> None:
    """What takes a priority for hard_protected is rejected, as check C1 of the papers has it."""
    assert dict.fromkeys(C1, "rejected") == {
        row.inference: row.result for row in ROWS if row.inference in C1
    }


def test_new_ones() -> None:
    """At least eight have no parent among the ten; each parent is one of them."""
    assert 8 <= sum(row.parent is None for row in ROWS[10:])
    assert {row.parent for row in ROWS[10:]} - {None} <= set(TABLE_9)


def test_every_mode_is_tempting() -> None:
    """For each of the seven modes some feature is taken."""
    assert {str(mode) for mode in Mode} == {row.mode for row in ROWS}


@EACH
def test_the_monitor_and_the_reference_agree(row: Row) -> None:
    """Event by event both judges say the same, and the obligation breaks at the last event."""
    events, name = events_of(row), shown(row)
    claim, monitor = claim_of(INFERENCES[row.inference].tracked), EventMonitor(row.mode)
    judge = Judge(Mode(row.mode))
    for number, event in enumerate(events, 1):
        monitor.feed(event)
        judge.take(line_of(event, number))
        found = judge.claims.get(claim)
        breaks = found is not None and found.findings()[name].verdict is Verdict.VIOLATED
        assert breaks == (number == len(events))
        accused = {(v.claim_id, v.obligation) for v in monitor.violations()}
        assert ((claim, name) in accused) == breaks
    assert row.verdict == monitor.finish().verdict == "violated"
    assert row.events == len(events)


@EACH
def test_it_is_a_run_of_the_model(row: Row) -> None:
    """Each trace is what the reader writes for a run of the model."""
    inference = INFERENCES[row.inference]
    assert is_run(inference.model(), inference.shim, events_of(row))


@pytest.mark.slow
@EACH
def test_no_event_can_be_left_out(row: Row) -> None:
    """Without any one event the rest is no run of the model, or no longer breaks the obligation."""
    inference, events, name = INFERENCES[row.inference], events_of(row), shown(row)
    claim = claim_of(inference.tracked)
    for left_out in range(len(events)):
        rest = events[:left_out] + events[left_out + 1 :]
        claims = judged(rest, inference.mode).claims
        verdict = claims[claim].findings()[name].verdict if claim in claims else None
        if verdict is Verdict.VIOLATED:
            assert not is_run(inference.model(), inference.shim, rest)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.inference)
def test_it_says_what_its_inference_says(row: Row) -> None:
    """A row has the words, the label and what is missing of its inference, as they are now."""
    inference = INFERENCES[row.inference]
    found = labelled(inference)
    assert (inference.feature, inference.mode) == (row.feature, row.mode)
    assert (inference.parent, found.result, found.missing) == (row.parent, row.result, row.missing)
    assert (None if found.label is None else str(found.label)) == row.label
    assert row.concludes == concludes_of(inference.concludes, row.mode)


def test_all_are_there() -> None:
    """Each inference has a row, and the suite is of this specification (else: make suite)."""
    assert list(INFERENCES) == [row.inference for row in ROWS]
    assert spec_digest() == recorded().spec


@pytest.mark.slow
def test_recorded_is_what_is_made() -> None:
    """The same specification and models make the same bytes (else: make suite)."""
    made = files(
        [(name, refute(each)) for each in inferences() for name in [_runtime_of(each.name)]]
    )
    assert [] == compared(RECORDED, read_index(RECORDED), made)
    assert made == {path.name: path.read_bytes() for path in RECORDED.iterdir()}


def _runtime_of(inference: str) -> str:
    return next(row.runtime for row in ROWS if row.inference == inference)


@pytest.mark.parametrize(
    ("inference", "obligation"),
    [
        (
            "fallback recompute after failed load -> restored offloadable claim",
            "offload_restorability",
        ),
        (
            "wrong-claim or unclaimed load failure -> restoration failure outcome",
            "restoration_failure_outcome",
        ),
        ("generic failure counters -> restoration failure outcome", "restoration_failure_outcome"),
    ],
)
def test_the_gate_opens(inference: str, obligation: str) -> None:
    """The gate lets the same run through once it is of the claim and consists of its events."""
    mended = patched(obligation, ClaimScope.SAME_CLAIM, Basis.CLAIM_EVENTS)
    found: Any = INFERENCES[inference]
    assert "rejected by connector gate" == labelled(found).result
    assert "supplied" == labelled(_replaced(found, mended)).result


def _replaced(inference: Any, premise: Any) -> Any:
    from dataclasses import replace

    return replace(inference, premises=(), also=(premise,))


def test_runtimes_are_known() -> None:
    """Each row is of the runtime that states its inference."""
    for row in ROWS:
        assert row.inference in {each.name for each in runtime(row.runtime).inferences}


class TestPages:
    """The index, and the page of each inference."""

    def test_each(self) -> None:
        """Each inference has a page of its own, to which the index links under its mode."""
        made = pages()
        index = made["bad-lowerings.md"]
        assert len(ROWS) + 1 == len(made)
        for row in ROWS:
            name = f"bad-lowerings/{file_name(row.inference)}.md"
            part = index.partition(f"\n## {row.mode}\n")[2].partition("\n## ")[0]
            assert f"| [{row.inference}]({name}) | `{row.runtime}` |" in part
            assert row.story in made[name]

    def test_fresh(self) -> None:
        """The pages in docs are those that are made (else: make docs), and there is no other."""
        assert [] == stale(DOCS, pages())
        there = {f"bad-lowerings/{page.name}" for page in (DOCS / "bad-lowerings").iterdir()}
        assert there == set(pages()) - {"bad-lowerings.md"}
