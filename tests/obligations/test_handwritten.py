"""The hand-written traces: one kept and one broken for each mode and obligation, or dialect."""

from pathlib import Path
from typing import NamedTuple

import pytest

from monitor.check.files import check
from monitor.input.errors import InputError
from monitor.report.verdict import Report
from monitor.samples.pairs import FOLDER, chosen
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

TRACES = Path(__file__).parent / "traces"


BREAKS = {
    "claim_identity": (
        "cache identity",
        {
            "best_effort": 3,
            "soft_priority": 3,
            "hard_protected": 5,
            "demotable": 5,
            "expiring": 5,
            "offloadable": 5,
            "routed_reuse": 3,
        },
    ),
    "explicit_acceptance": (
        "accepted",
        {"hard_protected": 3, "demotable": 3, "expiring": 3, "offloadable": 3},
    ),
    "materialization_predicate": (
        "positions",
        {
            "best_effort": 5,
            "hard_protected": 5,
            "demotable": 5,
            "offloadable": 5,
            "routed_reuse": 5,
        },
    ),
    "footprint_accounting": ("capacity proof", {"hard_protected": 5}),
    "ordered_lifecycle_events": (
        "lifecycle",
        {"hard_protected": 8, "demotable": 8, "expiring": 8, "offloadable": 8},
    ),
    "claim_materialized_event": ("materialized", {"best_effort": 4, "hard_protected": 6}),
    "claim_demoted_before_loss": ("demoted", {"demotable": 6}),
    "claim_expired_boundary": ("reporting the expiry", {"expiring": 7}),
    "offload_restorability": ("reused", {"offloadable": 12}),
    "restoration_failure_outcome": ("outcome", {"offloadable": 13}),
    "victim_exclusion_before_violation": ("victim", {"hard_protected": 7}),
    "explicit_conflict_action": ("action", {"hard_protected": 7}),
    "blocking_claim_ids": ("names no claim, too many claims, or others", {"hard_protected": 8}),
    "claim_harm_attribution": (
        "lost",
        {"hard_protected": 7, "demotable": 7, "expiring": 7, "offloadable": 7},
    ),
    "claim_scoped_telemetry": ("loss", {"best_effort": 5, "soft_priority": 5, "routed_reuse": 5}),
    "priority_influence": ("priority", {"soft_priority": 5}),
    "route_cost_attribution": ("cost", {"routed_reuse": 6}),
    "placement_attribution": ("placement", {"routed_reuse": 5}),
    "reuse_routing_attribution": ("hit", {"routed_reuse": 8}),
}
"""A text of the reason for which a sample breaks an obligation, and the line, by its mode."""


class Pair(NamedTuple):
    """A kept and a broken trace: a row of the table beside the traces, or samples."""

    obligation: str
    dialect: str
    mode: Mode
    line: int
    because: str

    def path(self, ending: str) -> Path:
        """The kept or the broken trace."""
        if self.dialect == "canonical":
            return FOLDER / self.mode / f"{self.obligation}.{ending}.jsonl"
        return TRACES / f"{self.obligation}.{self.dialect}.{ending}.jsonl"


def pairs() -> list[Pair]:
    """The samples, and the rows of the table."""
    found = [
        Pair(name, "canonical", Mode(mode), line, because)
        for name, (because, lines) in BREAKS.items()
        for mode, line in lines.items()
    ]
    for text in (TRACES / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        if cells[0] in OBLIGATIONS:
            name, dialect, mode, _, _, line, because = cells
            found.append(Pair(name, dialect, Mode(mode), int(line), because))
    return found


PAIRS = pairs()
IDS = [f"{pair.obligation}-{pair.dialect}-{pair.mode}" for pair in PAIRS]


def judged(path: Path, mode: Mode) -> Report:
    return check([str(path)], mode, Bundle.CONTRACT)


def judge(pair: Pair, ending: str) -> Report:
    return judged(pair.path(ending), pair.mode)


class TestTable:
    """The table and the files agree."""

    def test_every_obligation(self) -> None:
        """Each of the 19 obligations has a pair in each of its modes, 41 in all."""
        listed = {(each.mode, each.obligation) for each in chosen()}
        tabled = {(pair.mode, pair.obligation) for pair in PAIRS if pair.dialect == "canonical"}
        assert listed == tabled
        assert (19, 41) == (len({name for _, name in listed}), len(listed))
        assert set(OBLIGATIONS) == {name for _, name in listed}

    def test_every_file(self) -> None:
        """Each trace belongs to a pair, and each pair has its two traces."""
        expected = {pair.path(ending) for pair in PAIRS for ending in ("kept", "broken")}
        assert expected == {*TRACES.glob("*.jsonl"), *FOLDER.rglob("*.jsonl")}

    @pytest.mark.parametrize("pair", PAIRS, ids=IDS)
    def test_dialect(self, pair: Pair) -> None:
        """Each line is of the dialect that the row names, known, and stands for something."""
        for ending in ("kept", "broken"):
            lines = pair.path(ending).read_text(encoding="utf-8").splitlines()
            sign = {"canonical": '"kind"', "connector": '"monotonic_ns"', "allocator": '"run_id"'}
            assert all(sign[pair.dialect] in line for line in lines)
            assert not judge(pair, ending).events.unknown


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
class TestVerdicts:
    """What the monitor makes of them."""

    def test_kept(self, pair: Pair) -> None:
        """The kept trace exercises its obligation, satisfies it and breaks nothing."""
        conclusion = judge(pair, "kept")
        assert Verdict.SATISFIED is conclusion.obligations[pair.obligation]
        assert ModeVerdict.KEPT is conclusion.verdict, conclusion.why

    def test_broken(self, pair: Pair) -> None:
        """The broken trace violates its obligation at the line of the table, for its reason."""
        conclusion = judge(pair, "broken")
        assert ModeVerdict.VIOLATED is conclusion.verdict
        assert Verdict.VIOLATED is conclusion.obligations[pair.obligation]
        findings = [claim.obligations[pair.obligation] for claim in conclusion.claims]
        for finding in [f for f in findings if f.verdict is Verdict.VIOLATED]:
            assert finding.at is not None
            assert pair.line == finding.at.line
            assert pair.because in finding.why
            assert finding.allowed


class TestEdges:
    """Traces at the edge of an obligation, decided by the papers' text."""

    def path(self, name: str) -> Path:
        return TRACES / "edges" / f"{name}.jsonl"

    def test_deferral_without_blockers(self) -> None:
        """A conflict that is met by a deferral alone owes the blocking ids like a refusal."""
        conclusion = judged(self.path("deferral_without_blockers"), Mode.HARD_PROTECTED)
        assert Verdict.VIOLATED is conclusion.obligations["blocking_claim_ids"]

    @pytest.mark.parametrize("name", ["eviction_under_a_foreign_name", "eviction_without_blocks"])
    def test_odd_evictions(self, name: str) -> None:
        """An eviction that names the wrong claim, or no block, is no reason for a pass."""
        try:
            conclusion = judged(self.path(name), Mode.HARD_PROTECTED)
        except InputError:
            return
        assert ModeVerdict.KEPT is not conclusion.verdict

    @pytest.mark.parametrize(
        ("name", "mode", "broken"),
        [
            ("reported_before_acceptance", "hard_protected", "AL"),
            ("demoted_after_the_loss", "demotable", "DH"),
            ("recomputed_without_an_outcome", "offloadable", "RFH"),
            ("victims_of_a_request_that_does_not_fit", "hard_protected", "VXH"),
        ],
    )
    def test_several(self, name: str, mode: str, broken: str) -> None:
        """One fault that breaks several obligations is a violation of each."""
        conclusion = judged(self.path(name), Mode(mode))
        found = [n for n, v in conclusion.obligations.items() if v is Verdict.VIOLATED]
        assert broken == "".join(OBLIGATIONS[each].code for each in found)

    @pytest.mark.parametrize("name", ["released_before_the_restore", "refused_before_the_restore"])
    def test_nothing_reused(self, name: str) -> None:
        """A restore is owed before a reuse; where nothing is reused none is missing."""
        conclusion = judged(self.path(name), Mode.OFFLOADABLE)
        assert Verdict.VIOLATED is not conclusion.obligations["offload_restorability"]

    @pytest.mark.parametrize(
        ("name", "obligation", "verdict"),
        [
            ("restore_flag_without_a_failure", "blocking_claim_ids", "violated"),
            ("acceptance_rewrites_the_owner", "ordered_lifecycle_events", "violated"),
            ("answered_by_another_refusal", "claim_harm_attribution", "violated"),
            ("told_and_risen_again", "claim_materialized_event", "satisfied"),
            ("offloaded_in_a_conflict", "ordered_lifecycle_events", "satisfied"),
            ("offloaded_in_a_conflict", "explicit_conflict_action", "satisfied"),
            ("offloaded_after_the_loss", "ordered_lifecycle_events", "violated"),
            ("offloaded_without_a_request", "ordered_lifecycle_events", "violated"),
            ("offloaded_beside_a_request_that_fits", "ordered_lifecycle_events", "violated"),
            ("offloaded_in_a_conflict_without_a_copy", "ordered_lifecycle_events", "violated"),
            ("offloaded_while_the_registry_holds_it", "ordered_lifecycle_events", "violated"),
            ("offloaded_and_still_protected", "victim_exclusion_before_violation", "violated"),
            ("offloaded_with_copies_unobserved", "ordered_lifecycle_events", "inconclusive"),
        ],
    )
    def test_hard_protected(self, name: str, obligation: str, verdict: str) -> None:
        """No flag, no acceptance and no other request's refusal stands in for what is owed."""
        conclusion = judged(self.path(name), Mode.HARD_PROTECTED)
        assert verdict == conclusion.obligations[obligation]

    def test_offloaded(self) -> None:
        """An offload that ends responsibility in a conflict, before the loss, keeps the mode."""
        conclusion = judged(self.path("offloaded_in_a_conflict"), Mode.HARD_PROTECTED)
        assert ModeVerdict.KEPT is conclusion.verdict, conclusion.why

    @pytest.mark.parametrize("mode", [Mode.HARD_PROTECTED, Mode.DEMOTABLE])
    def test_two_modes(self, mode: Mode) -> None:
        """What was asked for in one mode and accepted in another is judged by neither."""
        conclusion = judged(self.path("acceptance_rewrites_the_mode"), mode)
        assert ModeVerdict.INCONCLUSIVE is conclusion.verdict
        assert "claim C asked for hard_protected and was accepted in demotable" == conclusion.why

    @pytest.mark.parametrize(
        ("name", "line"),
        [
            ("proof_misstates_the_residents", 5),
            ("proof_misstates_the_request", 5),
            ("proof_misstates_the_pool", 5),
            ("proof_adds_wrongly", 5),
            ("proof_misstates_the_shortfall", 5),
            ("proof_of_a_shortfall_where_all_fits", 5),
            ("proof_forgets_a_claim", 8),
        ],
    )
    def test_proof(self, name: str, line: int) -> None:
        """A capacity proof with one thing wrong breaks footprint_accounting, and nothing else."""
        conclusion = judged(self.path(name), Mode.HARD_PROTECTED)
        broken = {n for n, v in conclusion.obligations.items() if v is Verdict.VIOLATED}
        assert {"footprint_accounting"} == broken
        for claim in conclusion.claims:
            finding = claim.obligations["footprint_accounting"]
            assert finding.at is not None
            assert (line, True) == (finding.at.line, "capacity proof" in finding.why)

    def test_proof_after_a_release(self) -> None:
        """A claim that was released while the request waited is no part of its proof."""
        conclusion = judged(self.path("proof_after_a_release"), Mode.HARD_PROTECTED)
        assert ModeVerdict.KEPT is conclusion.verdict
        assert Verdict.SATISFIED is conclusion.obligations["footprint_accounting"]

    def test_silent_clock(self) -> None:
        """A duration in seconds is over when the stream's time says so, told or not."""
        conclusion = judged(self.path("silent_clock"), Mode.EXPIRING)
        assert Verdict.VIOLATED is conclusion.obligations["claim_expired_boundary"]

    @pytest.mark.parametrize(
        ("name", "field"), [("demotion_by_nobody", "by"), ("arrival_without_capacity", "usable")]
    )
    def test_says_too_little(self, name: str, field: str) -> None:
        """An event that leaves out what it is judged by is bad input, not a pass."""
        with pytest.raises(InputError) as caught:
            judged(self.path(name), Mode.HARD_PROTECTED)
        assert field == caught.value.field
