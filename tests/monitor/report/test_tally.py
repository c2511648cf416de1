"""The counts behind a report for people: one computation, so that nothing contradicts itself."""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from monitor.check.files import check
from monitor.report.headline import headline, tallies
from monitor.report.report_text import as_text
from monitor.report.verdict import (
    SCHEMA,
    Applies,
    ClaimReport,
    Events,
    Forgotten,
    ModeReport,
    ObligationReport,
    Report,
    Trust,
)
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.canonical import EVENT_ENCODER
from spec.language.verdicts import Verdict, pool
from spec.stream.breaks import Limits
from spec.stream.outcome import ModeVerdict, decide
from tests.monitor.traces import CLAIM, OTHER, judge
from tests.monitor.traces_canonical import about, canonical_claim, canonical_refusal
from tests.streams.strategies import Stamped, streams

WORDS = {str(v): "not exercised" if v is Verdict.UNEXERCISED else str(v) for v in Verdict}
VERDICTS = st.sampled_from(Verdict)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """A report on random claims, listed and forgotten, that agrees with itself."""
    mode, strict = draw(st.sampled_from(Mode)), draw(st.booleans())
    names = MODES[mode].names()
    each = st.tuples(*[VERDICTS for _ in names])
    rows = draw(st.lists(st.tuples(each, st.booleans()), max_size=5))
    claims, gone, ended = [], {name: Counter[Verdict]() for name in names}, Counter[ModeVerdict]()
    for number, (verdicts, listed) in enumerate(rows):
        found = dict(zip(names, verdicts, strict=True))
        verdict, why = decide(found, draw(st.sampled_from(["", "not accepted"])))
        if listed:
            said = {name: ObligationReport(v, None, "because") for name, v in found.items()}
            name = f"claim:{number}"
            claims.append(ClaimReport(name, "s", "accepted", verdict, said, why, mode=mode))
            continue
        ended[verdict] += 1
        for name, each_verdict in found.items():
            gone[name][each_verdict] += 1
    forgotten = Forgotten(ended.total(), dict(ended), {n: dict(c) for n, c in gone.items() if c})
    obligations = {
        name: pool([*gone[name], *(claim.obligations[name].verdict for claim in claims)])
        for name in names
    }
    whole, why = decide(obligations, "" if rows else "no accepted claim", strict=strict)
    more: dict[str, Any] = {"claims": claims, "forgotten": forgotten, "obligations": obligations}
    part = ModeReport(mode, whole, why, obligations, forgotten, Applies(True))
    return Report(
        schema=SCHEMA,
        tool="0",
        spec="0" * 64,
        inputs=[],
        mode=mode,
        bundle=Bundle.CONTRACT,
        strict=strict,
        verdict=whole,
        why=why,
        events=Events(0, {}, 0),
        trust=Trust({}, []),
        others={},
        theorem=Applies(True),
        modes=[part],
        **more,
    )


def lines(report: Report) -> list[str]:
    out = Console(file=io.StringIO(), width=300, markup=False)
    return as_text(report, out, verbose=True).splitlines()


def table(report: Report) -> dict[str, tuple[str, str]]:
    """Each obligation with its verdict and its counts, from the table."""
    row = re.compile(rf"[A-Z]\w* +(\w+) +({'|'.join(WORDS.values())}) *(.*)")
    matches = filter(None, map(row.fullmatch, (line.rstrip() for line in lines(report))))
    return {name: (word, counts) for name, word, counts in (m.groups() for m in matches)}


def agrees(report: Report) -> None:
    """The sentence and the table say one and the same."""
    (tally,), names = tallies(report), list(report.obligations)
    assert report.obligations == tally.pooled
    words = {name: WORDS[verdict] for name, verdict in report.obligations.items()}
    shown = table(report)
    assert words == {name: word for name, (word, _) in shown.items()}
    for name, (word, counts) in shown.items():
        assert sum(map(int, re.findall(r"\d+", counts))) == tally.total, name
        assert word in counts or not tally.total
    said = re.match(
        r"kept: (\d+) of (\d+) obligations exercised(?:, (\d+) not put to the test: ([\w, ]+))?; ",
        headline(report),
    )
    assert (said is not None) == (report.verdict is ModeVerdict.KEPT)
    if said is not None:
        idle = [name for name, word in words.items() if word == "not exercised"]
        assert (len(names) - len(idle), len(names)) == (int(said[1]), int(said[2]))
        assert (len(idle), idle) == (int(said[3] or 0), (said[4] or "").split(", ")[: len(idle)])
        assert {"satisfied", "not exercised"} >= set(words.values())


def found(report: Report) -> list[dict[str, Counter[Verdict]]]:
    """What each mode's claims came to, by obligation."""
    return [tally.found for tally in tallies(report)]


class TestOneComputation:
    """What is said to be not exercised is nowhere said to be satisfied, and the other way round."""

    @settings(max_examples=150)
    @given(reports())
    def test_reports(self, report: Report) -> None:
        """In any report that agrees with itself."""
        agrees(report)

    @settings(max_examples=60)
    @given(streams(), st.sampled_from(Mode))
    def test_streams(self, stream: list[Stamped], mode: Mode) -> None:
        """In the report on any stream; lines that cannot be read are skipped."""
        content = b"".join(EVENT_ENCODER.encode(event) + b"\n" for _, event in stream)
        agrees(check(["-"], mode, Bundle.CONTRACT, lenient=True, stdin=io.BytesIO(content)))

    def test_never_entered(self) -> None:
        """A claim that was turned away exercised nothing, whatever its observers saw."""
        turned_away = [*canonical_claim()[:1], about("claim_rejected")]
        report = judge(turned_away, Mode.HARD_PROTECTED)
        assert {"unexercised"} == set(report.obligations.values())
        found = report.claims[0].obligations["ordered_lifecycle_events"]
        assert "unexercised" == found.verdict
        agrees(report)

    def test_beside_one_that_entered(self) -> None:
        """Beside one that did, it counts as a claim by which nothing was exercised."""
        trace = [
            *canonical_refusal(),
            about("claim_registered", OTHER, predicate="leading_prefix_at_least(1)"),
        ]
        report = judge([*trace, about("claim_rejected", OTHER)], Mode.HARD_PROTECTED)
        assert {"unexercised"} == {
            str(o.verdict)
            for c in report.claims
            if c.claim_id == OTHER
            for o in c.obligations.values()
        }
        shown = table(report)["claim_identity"]
        assert ("satisfied", "1 satisfied, 1 not exercised") == shown
        assert "kept" == report.verdict

    def test_forgotten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Claims that are listed nowhere are counted with the others."""
        ended = [about("claim_retired"), about("claim_released", by="tenant:1")]
        trace = [*canonical_claim(CLAIM), *ended, *canonical_claim(OTHER, first=500)]
        whole = judge(trace, Mode.HARD_PROTECTED)
        monkeypatch.setattr("monitor.check.files.USUAL", Limits(ended=0))
        short = judge(trace, Mode.HARD_PROTECTED)
        assert 1 == short.forgotten.claims
        assert found(whole) == found(short)
        assert headline(whole) == headline(short)
        agrees(short)
