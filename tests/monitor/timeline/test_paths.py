"""The path of an observer is kept as long as the judge knows where it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.check.files import check
from monitor.samples import sample
from monitor.timeline.items import ClaimEnded, StreamBegun
from monitor.timeline.paths import MOST_STEPS, Paths
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.language.verdicts import Verdict
from tests.monitor.timeline.made import made, of

VICTIM = sample("hard_protected_victim")


def test_has_the_rules_that_were_taken() -> None:
    """A conflict that no action answered: owed at the arrival, overdue at the end."""
    (ended,) = of(made(VICTIM)[0], ClaimEnded)
    observer = OBLIGATIONS["explicit_conflict_action"]
    steps = ended.paths["explicit_conflict_action"]
    assert [(6, "request_conflicts"), (9, "conflict_action_not_reported")] == [
        (step.point.line, observer.rules[step.rule].name) for step in steps
    ]
    assert ["active-1", "active-1"] == [step.request for step in steps]


def test_keeps_the_last_steps_alone(tmp_path: Path) -> None:
    """Of a claim that is found again and again, a bounded number; and the line that decided."""
    lines = VICTIM.read_text().splitlines()[:5]
    for number in range(5, 5 + 2 * MOST_STEPS):
        lines.append(lines[4].replace('"sequence":4', f'"sequence":{number}'))
    trace = tmp_path / "long.jsonl"
    trace.write_text("\n".join(lines) + "\n")
    (ended,) = of(made(trace)[0], ClaimEnded)
    found = ended.obligations["materialization_predicate"]
    steps = ended.paths["materialization_predicate"]
    assert (Verdict.SATISFIED, MOST_STEPS) == (found.verdict, len(steps))
    assert found.line == steps[-1].point.line


def test_visits_what_an_event_is_delivered_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 50 requests open an event is noted for the claim and its own request, not for all."""
    lines = VICTIM.read_text().splitlines()[:5]
    for number in range(100):
        kind = ("request_arrived", "request_deferred")[number % 2]
        event: dict[str, Any] = {"kind": kind, "request_id": f"r{number // 2}"}
        event |= {"sequence": 5 + number, "stream": "sample:victim"}
        if number % 2:
            event["blocking_claim_ids"] = ["claim:system-prompt"]
        else:
            event |= {"needed": 30, "usable": 80}
        lines.append(json.dumps(event))
    trace = tmp_path / "open.jsonl"
    trace.write_text("\n".join(lines) + "\n")
    visited, take = list[str | None](), Paths._take

    def counted(self: Paths, claim: Any, request: str | None, *rest: Any) -> None:
        visited.append(request)
        take(self, claim, request, *rest)

    monkeypatch.setattr(Paths, "_take", counted)
    (ended,) = of(made(trace)[0], ClaimEnded)
    assert len(visited) < 5 * len(lines)
    assert {f"r{number}" for number in range(50)} <= {*visited}
    assert ended.paths["explicit_conflict_action"]


def test_begins_a_stream_where_its_clock_is_known(tmp_path: Path) -> None:
    """A mark without a time comes first, in a second file whose clock is far behind."""
    late, early = tmp_path / "late.jsonl", tmp_path / "early.jsonl"
    late.write_text(VICTIM.read_text().replace('"time_ns":1', '"time_ns":90000001'))
    lines = VICTIM.read_text().splitlines()
    opened = '{"kind":"stream_opened","stream":"sample:victim","sequence":0}'
    moved = [line.replace(f'"sequence":{n}', f'"sequence":{n + 1}') for n, line in enumerate(lines)]
    early.write_text("\n".join([opened, *moved]) + "\n")
    items: list[object] = []
    check([str(late), str(early)], None, Bundle.CONTRACT, timeline=items.append)
    begun = [each for each in items if isinstance(each, StreamBegun)]
    assert [90000001000000000, 1000000000] == [each.point.at for each in begun]
