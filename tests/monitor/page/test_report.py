"""A page shows what a check finds, and says what it leaves out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from monitor.check.files import check
from monitor.page import collect, quotes
from monitor.samples import FOLDER, sample
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from tests.monitor.page.lines import claim, event, trace
from tests.monitor.page.opened import Opened, opened, page_of
from tests.recordings import FOLDER as RECORDINGS

TRACES = [*sorted(FOLDER.glob("*.jsonl")), *sorted(RECORDINGS.glob("*.jsonl"))]
VICTIM = sample("hard_protected_victim")


def victim() -> Opened:
    """The page of the broken sample."""
    return opened(page_of(VICTIM).page)


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_shows_the_verdicts_of_a_check(trace: Path) -> None:
    """Each claim, each obligation and the whole have the verdict of the report of a check."""
    report, shown = check([str(trace)], None, Bundle.CONTRACT), opened(page_of(trace).page)
    listed = [*report.claims, *report.unjudged.claims, *report.unjudged.turned_away]
    assert report.verdict == shown.head["verdict"]
    assert {c.claim_id for c in listed} == set(shown.verdicts())
    names = shown.head["names"]
    found = [
        (
            shown.text(shown.tables["claim"][row["claim"]]["id"]),
            names["obligations"][row["obligation"]],
            names["found"][row["verdict"]],
            shown.text(row["why"]),
            shown.text(row["allowed"]) or "",
        )
        for row in shown.tables["found"]
    ]
    expected = [
        (claim.claim_id, name, each.verdict, each.why, each.allowed)
        for claim in report.claims
        for name, each in claim.obligations.items()
    ]
    assert sorted(expected) == sorted(found)


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_leads_an_observer_from_its_first_state_to_its_verdict(trace: Path) -> None:
    """Each step of a path begins where the one before ended, and the rule leads where it says."""
    shown = opened(page_of(trace).page)
    paths: dict[int, list[dict[str, int]]] = {}
    for step in shown.tables["step"]:
        paths.setdefault(step["found"], []).append(step)
    decided = ("violated", "satisfied")
    found = [shown.head["names"]["found"][row["verdict"]] for row in shown.tables["found"]]
    assert {number for number, each in enumerate(found) if each in decided} <= set(paths)
    for number, steps in paths.items():
        row = shown.tables["found"][number]
        observer = OBLIGATIONS[shown.head["names"]["obligations"][row["obligation"]]]
        places = {state.name: place for place, state in enumerate(observer.states)}
        at = 0
        for step in steps:
            rule = observer.rules[step["rule"]]
            assert at == step["source"]
            assert observer.states[at].name in observer.sources(rule)
            at = step["target"]
            assert places[rule.to] == at
        if found[number] in decided:
            assert row["line"] in {step["line"] for step in steps}


def test_quotes_the_line_that_decided() -> None:
    """The line at which an obligation was violated is in the page as it is in the file."""
    lines = VICTIM.read_text().splitlines()
    assert lines[6] == victim().head["quotes"][str(VICTIM)]["7"]


def test_says_what_a_request_needs() -> None:
    """Of how many blocks; and what the mode of a claim promises, in the words of the contract."""
    shown = victim()
    about = [shown.text(each["about"]) for each in shown.tables["event"]]
    assert "needed 70 of 80 usable blocks" in about
    assert MODES[Mode.HARD_PROTECTED].promise == shown.head["promises"]["hard_protected"]


def test_names_the_code_of_what_is_inconclusive(tmp_path: Path) -> None:
    """A stream without one of its lines is inconclusive, with the code and the thing to do."""
    lines = VICTIM.read_text().splitlines()
    trace = tmp_path / "gap.jsonl"
    trace.write_text("\n".join(lines[:3] + lines[4:6]) + "\n")
    head = opened(page_of(trace).page).head
    assert "inconclusive" == head["verdict"]
    assert ["RC101"] == [each["code"] for each in head["breaks"]]
    assert head["remedies"]["RC101"][1].startswith("record every line")


def test_judges_no_claim_of_another_mode_than_was_asked_for() -> None:
    """Claims that state another mode are shown, and are not judged."""
    shown = opened(page_of(VICTIM, mode=Mode.EXPIRING).page)
    assert {"claim:system-prompt": "not judged"} == shown.verdicts()
    assert [] == shown.tables["found"]


def test_counts_positions_of_each_file_from_its_first_line(tmp_path: Path) -> None:
    """Files whose clocks are hours apart begin at the same place."""
    late = tmp_path / "late.jsonl"
    late.write_text(VICTIM.read_text().replace('"time_ns":1', '"time_ns":90000001'))
    shown = opened(page_of(late, VICTIM).page)
    assert [0, 0] == [claim["at"] for claim in shown.tables["claim"]]


def test_keeps_streams_apart_whichever_is_placed_first(tmp_path: Path) -> None:
    """A stream opens without a time, another one begins with one, and then the first goes on."""
    lines = VICTIM.read_text().splitlines()
    opened_first = '{"kind":"stream_opened","stream":"sample:victim","sequence":0}'
    other = lines[0].replace("sample:victim", "other").replace("claim:system", "claim:other")
    moved = [line.replace(f'"sequence":{n}', f'"sequence":{n + 1}') for n, line in enumerate(lines)]
    trace = tmp_path / "two.jsonl"
    trace.write_text("\n".join([opened_first, other, *moved]) + "\n")
    shown = opened(page_of(trace).page)
    names = [stream["name"] for stream in shown.head["streams"]]
    placed = {shown.text(c["id"]): names[c["stream"]] for c in shown.tables["claim"]}
    assert {"claim:system-prompt": "sample:victim", "claim:other-prompt": "other"} == placed


def test_says_what_it_leaves_out() -> None:
    """Rows beyond the limit, and quotations, are left out, and the page says so."""
    with patch.object(collect, "MOST_ROWS", 5):
        found = page_of(VICTIM)
    assert "4 events" in found.left_out
    assert 5 == len(opened(found.page).tables["event"])
    with patch.object(quotes, "MOST_LINES", 3), patch("monitor.page.report.MOST_LINES", 3):
        found = page_of(VICTIM)
    assert ["the text of lines beyond the 3 that matter most"] == found.left_out
    assert 3 == len(opened(found.page).head["quotes"][str(VICTIM)])


TOKENS = [4711, 815, 4242]


def kv_line(**fields: Any) -> str:
    """A line of another form, with token ids in it."""
    return json.dumps({"ts": 1.0, **fields})


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({"token_ids": TOKENS}),
        json.dumps({"event": {"prompt_token_ids": TOKENS}}),
        json.dumps({"events": [["BlockStored", [1], None, TOKENS, 16]]}),
        json.dumps({"Token_Ids": TOKENS}),
        json.dumps({"input_ids": "4711 815"}),
        json.dumps({"key": "token_ids", "value": {"values": [{"intValue": "4711"}]}}),
        json.dumps({"body": json.dumps({"token_ids": TOKENS})}),
        json.dumps({"numbers": [4711, *range(8)]}),
        json.dumps({"text": f"{[4711, *range(8)]}"}),
        '{"token_ids": [4711, 815], "token_ids": null}',
        '{"a":' * 900 + "[4711]" + "}" * 900,
        '{"token_ids": [4711, 815, 4242',
        "token_ids 4711 815 4242",
    ],
)
def test_removes_token_ids_unless_they_are_asked_for(line: str) -> None:
    """By their names, by their place in a message without names, by their number, and in what
    cannot be read, or has a name twice.
    """
    assert "4711" not in quotes._shown(line.encode(), with_tokens=False)
    assert "4711" in quotes._shown(line.encode(), with_tokens=True)


def test_compares_two_runs() -> None:
    """Verdicts, losses, refusals and the time from a loss to its report, here and there."""
    found = page_of(VICTIM, against=str(sample("hard_protected_refusal")))
    difference = opened(found.page).head["against"]
    assert "in a sentence" == difference["rows"][0][0]
    assert [
        ["verdict", "violated", "kept"],
        [
            "violated obligations",
            "victim_exclusion_before_violation, explicit_conflict_action",
            "none",
        ],
        ["losses of claimed blocks", "1", "1"],
        ["refused requests", "0", "1"],
        ["loss to report, median", "0.25 ms", "0.25 ms"],
        ["loss to report, longest", "0.25 ms", "0.25 ms"],
    ] == difference["rows"][1:]
    assert [["claim:system-prompt", "violated", "kept"]] == difference["claims"]


def test_compares_claims_of_one_name_by_their_streams(tmp_path: Path) -> None:
    """Of two streams that have a claim A, the one whose verdict changed is listed."""
    first, second = claim("A", 1), claim("A", 1, stream="other")
    lost = event("block_evicted", block_ids=[1])
    broken = trace(tmp_path / "broken.jsonl", *first, lost, *second)
    whole = trace(tmp_path / "whole.jsonl", *first, *second)
    difference = opened(page_of(broken, against=str(whole)).page).head["against"]
    assert [["A in s", "violated", "kept"]] == difference["claims"]


def test_compares_no_claim_of_another_mode_than_was_asked_for() -> None:
    """Claims that are not judged have no verdict to compare."""
    other = str(sample("hard_protected_refusal"))
    found = page_of(VICTIM, mode=Mode.EXPIRING, against=other)
    assert [] == opened(found.page).head["against"]["claims"]


def test_counts_times_from_the_first_line_of_each_stream(tmp_path: Path) -> None:
    """A stream whose clock is behind that of the first one keeps its distances."""
    events = [claim("A", 1)[0], *claim("B", 1, stream="other")]
    shown = opened(page_of(trace(tmp_path / "t.jsonl", *events, clocks={"s": 10**15})).page)
    names = [each["name"] for each in shown.head["streams"]]
    at = [e["at"] for e in shown.tables["event"] if names[e["stream"]] == "other"]
    assert [0, 1000, 2000, 3000, 4000] == at


def test_counts_losses_until_the_claim_ends(tmp_path: Path) -> None:
    """Of lines of one time: a loss before the release is one of the claim, and one after it not."""
    released = event("claim_released", claim_id="A", by="runtime")
    lost = [event("block_lost", block_ids=[number]) for number in (1, 2)]
    events = [*claim("A", 1, "best_effort"), lost[0], released, lost[1]]
    shown = opened(page_of(trace(tmp_path / "t.jsonl", *events, step=0)).page)
    lines = [shown.tables["event"][t["event"]]["line"] for t in shown.tables["touch"] if t["lost"]]
    assert [6] == lines


def test_numbers_lines_of_one_time_by_turns(tmp_path: Path) -> None:
    """Counts of the pool have the turn of the line that changed them."""
    lost = event("block_lost", block_ids=[1])
    shown = opened(page_of(trace(tmp_path / "t.jsonl", *claim("A", 1), lost, step=0)).page)
    turns = {each["line"]: each["turn"] for each in shown.tables["event"]}
    held = {
        c["turn"]: c["value"] for c in shown.tables["count"] if shown.text(c["name"]) == "tier gpu"
    }
    assert {turns[4]: 2, turns[6]: 1} == held


def test_says_what_keeps_every_claim_from_a_verdict(tmp_path: Path) -> None:
    """What another claim is still owed does not; a line that could not be read does."""
    events = [*claim("A", 1), *claim("B", 3), event("block_lost", block_ids=[3])]
    path = trace(tmp_path / "t.jsonl", *events)
    assert {"hard_protected": ""} == opened(page_of(path).page).head["absent"]
    path.write_text(path.read_text() + "{\n")
    head = opened(page_of(path, lenient=True).page).head
    assert {"hard_protected": "1 line could not be read"} == head["absent"]


def test_quotes_no_line_that_was_refused(tmp_path: Path) -> None:
    """Not even where token ids are asked for."""
    path, lines = tmp_path / "t.jsonl", VICTIM.read_text().splitlines()
    path.write_text("\n".join([*lines[:5], '{"kind": "x", "kind": "y"}', *lines[5:]]) + "\n")
    head = opened(page_of(path, lenient=True, with_tokens=True).page).head
    assert [6] == [each["line"] for each in head["breaks"]]
    assert "6" not in head["quotes"][str(path)]
    assert "5" in head["quotes"][str(path)]
