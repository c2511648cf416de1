"""What a row rests on, what is left where only what traces show counts, and what is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.contract.supply import Depth
from spec.lowering.depths import PRECONDITIONS
from spec.lowering.reasons import upgrade, why_missing
from spec.lowering.relation import Row, lower
from spec.lowering.vocabulary import POSITIVE, Label, Rests
from tests.spec.lowering.described import (
    adapter,
    atoms,
    descriptor,
    evidence,
    item,
    items,
    run,
    signal,
)

PATCH = Depth.BACKEND_PATCH
MODE = Mode.OFFLOADABLE
NAMES = MODES[MODE].names()
GONE = {"gone": "it is not there"}
LAST = PRECONDITIONS[PATCH][-1]


def patched(stated: tuple[str, ...] = (), **parts: Any) -> Any:
    """A patch that is ready, and states these obligations of offloadable."""
    return descriptor(adapters=[adapter(PATCH, items(stated, MODE))], **parts)


def unready(stated: tuple[str, ...] = (), **parts: Any) -> Any:
    """The same without its last precondition."""
    offered = adapter(PATCH, items(stated, MODE))
    del offered["preconditions"][-1]
    return descriptor(adapters=[offered], signals=[signal("storage_tier")], **parts)


def rests(row: Row) -> dict[str, Rests]:
    return {supply.obligation: supply.rests_on for supply in row.supplied}


class TestRests:
    """What an obligation of a row rests on."""

    def test_declared(self) -> None:
        """Without evidence from traces everything is the descriptor's word."""
        assert dict.fromkeys(NAMES, Rests.DECLARED) == rests(lower(patched(NAMES), MODE, PATCH))

    def test_shown(self) -> None:
        """What a trace shows is shown, though the descriptor states it at the same depth."""
        row = lower(patched(NAMES), MODE, PATCH, evidence=evidence(MODE, NAMES[:3]))
        expected = {o: Rests.SHOWN if o in NAMES[:3] else Rests.DECLARED for o in NAMES}
        assert (expected, Label.SOUND_WITH_ADAPTER) == (rests(row), row.label)

    def test_native(self) -> None:
        """A trace shows nothing native: what is native rests on the descriptor's word."""
        made = patched(native=items(NAMES, MODE))
        row = lower(made, MODE, PATCH, evidence=evidence(MODE, NAMES))
        assert (Label.NATIVE_SOUND, {Rests.DECLARED}) == (row.label, set(rests(row).values()))


class TestRequired:
    """Rows in which nothing counts but what traces show."""

    @pytest.mark.parametrize(
        ("made", "label"),
        [
            (patched(NAMES), Label.SOUND_WITH_ADAPTER),
            (descriptor(native=items(NAMES, MODE)), Label.NATIVE_SOUND),
        ],
        ids=["adapter", "native"],
    )
    def test_declared(self, made: Any, label: Label) -> None:
        """A sound row that is only declared is approximate."""
        assert label is lower(made, MODE, PATCH).label
        row = lower(made, MODE, PATCH, require_evidence=True)
        assert (Label.APPROXIMATE, NAMES, ()) == (row.label, row.missing, row.supplied)

    def test_shown(self) -> None:
        """With each obligation shown it is sound, with an adapter, whatever is native."""
        shown = evidence(MODE, NAMES)
        for made in (patched(), patched(native=items(NAMES, MODE))):
            row = lower(made, MODE, PATCH, evidence=shown, require_evidence=True)
            assert Label.SOUND_WITH_ADAPTER is row.label
            assert {Rests.SHOWN} == set(rests(row).values())

    @pytest.mark.parametrize("name", NAMES)
    def test_each(self, name: str) -> None:
        """One obligation that is declared and not shown is missing."""
        shown = evidence(MODE, [o for o in NAMES if o != name])
        row = lower(patched(NAMES), MODE, PATCH, evidence=shown, require_evidence=True)
        assert ((name,), Label.APPROXIMATE) == (row.missing, row.label)
        assert "at backend_patch it is declared, and no trace shows it" == why_missing(row, name)

    def test_preconditions(self) -> None:
        """Preconditions are the descriptor's word, unless their anchors point nowhere."""
        offered = adapter(PATCH, [])
        offered["preconditions"][-1]["anchor"] = "gone"
        made = descriptor(adapters=[offered], anchors={"gone": run(path="gone.jsonl")})
        asked = {"evidence": evidence(MODE, NAMES), "require_evidence": True}
        assert lower(made, MODE, PATCH, **asked).label in POSITIVE
        row = lower(made, MODE, PATCH, **asked, nowhere=GONE)
        assert NAMES == row.missing
        expected = f"backend_patch lacks {LAST} (its anchor cannot be resolved); the traces show it"
        assert expected == why_missing(row, NAMES[0])
        assert f"first an anchor for {LAST} of backend_patch" == upgrade(row, NAMES[0])

    def test_atoms(self) -> None:
        """So are atoms: a row of soft_priority needs them beside what traces show."""
        mode, name = Mode.SOFT_PRIORITY, "priority_influence"
        asked = {"evidence": evidence(mode, MODES[mode].names()), "require_evidence": True}
        made = patched(observations=atoms("gone"), anchors={"gone": run(path="gone.jsonl")})
        assert lower(made, mode, PATCH, **asked).label in POSITIVE
        row = lower(made, mode, PATCH, **asked, nowhere=GONE)
        assert (name,) == row.missing
        assert "not shown in a run" in why_missing(row, name)

    def test_signals(self) -> None:
        """A signal whose anchor points nowhere makes nothing related."""
        made = descriptor(
            signals=[signal("storage_tier", anchor="gone")], anchors={"gone": run(path="gone")}
        )
        asked = {"require_evidence": True, "nowhere": GONE}
        assert Label.APPROXIMATE is lower(made, MODE, PATCH, require_evidence=True).label
        assert Label.UNKNOWN is lower(made, MODE, PATCH, **asked).label

    def test_not_asked(self) -> None:
        """Where it is not required, an anchor that points nowhere changes no label."""
        made = descriptor(
            adapters=[adapter(PATCH, items(NAMES, MODE, anchor="gone"))],
            anchors={"gone": run(path="gone.jsonl")},
        )
        row = lower(made, MODE, PATCH, nowhere=GONE)
        assert (Label.SOUND_WITH_ADAPTER, GONE) == (row.label, dict(row.nowhere))
        strict = lower(made, MODE, PATCH, nowhere=GONE, require_evidence=True)
        assert "at backend_patch its anchor cannot be resolved" == why_missing(strict, NAMES[0])

    @pytest.mark.parametrize("mode", Mode)
    def test_never_better(self, mode: Mode) -> None:
        """It takes away and adds nothing: no row is sound by it that was not before."""
        names = MODES[mode].names()
        for stated in ((), names[:2], names):
            for shown in ((), names[1:], names):
                made = descriptor(
                    adapters=[adapter(PATCH, items(stated, mode))], observations=atoms()
                )
                taken = evidence(mode, shown)
                before = lower(made, mode, PATCH, evidence=taken)
                after = lower(made, mode, PATCH, evidence=taken, require_evidence=True)
                assert after.label not in POSITIVE or before.label in POSITIVE
                assert (after.label in POSITIVE) == (set(shown) == set(names))


class TestAskedFor:
    """What would supply an obligation: preconditions before a run."""

    def test_precondition_first(self) -> None:
        """A precondition that is missing is named before a run is asked for, in both sentences."""
        row = lower(unready(), MODE, PATCH)
        name = "offload_restorability"
        assert f"backend_patch lacks {LAST}" == why_missing(row, name)
        expected = f"first an anchor for {LAST} of backend_patch; then a run of the claim that "
        assert upgrade(row, name).startswith(expected)

    def test_before_other_faults(self) -> None:
        """It stands before what else is wrong with what is stated."""
        weak = item("claim_identity", MODE, scope="docs_only")
        row = lower(unready(native=[weak]), MODE, PATCH)
        expected = f"backend_patch lacks {LAST}; natively its scope is docs_only"
        assert expected == why_missing(row, "claim_identity")

    @pytest.mark.parametrize("by", ["item", "trace"])
    def test_no_run(self, by: str) -> None:
        """Where there is a run already, no other is asked for."""
        made = unready(NAMES if by == "item" else ())
        shown = evidence(MODE, NAMES) if by == "trace" else None
        row = lower(made, MODE, PATCH, evidence=shown)
        assert NAMES == row.missing
        asked = {upgrade(row, name) for name in NAMES}
        assert {f"first an anchor for {LAST} of backend_patch"} == asked

    def test_many(self) -> None:
        """Many preconditions are named once, and counted where a run is asked for."""
        made = descriptor(adapters=[adapter(Depth.TELEMETRY_JOIN, [], hold=False)])
        row = lower(made, Mode.BEST_EFFORT, Depth.TELEMETRY_JOIN)
        why, ask = why_missing(row, "claim_identity"), upgrade(row, "claim_identity")
        assert all(each in why for each in PRECONDITIONS[Depth.TELEMETRY_JOIN])
        assert ask.startswith("first an anchor for the 9 preconditions that telemetry_join lacks;")

    def test_ready(self) -> None:
        """Where another adapter that may supply it is ready, a run is all that is missing."""
        offered = [adapter(Depth.CLAIM_REGISTRY, [], hold=False), adapter(PATCH, [])]
        row = lower(descriptor(adapters=offered), MODE, PATCH)
        assert upgrade(row, "claim_identity").startswith("a run of the claim")

    def test_no_adapter(self) -> None:
        """Where traces show it and no adapter is offered, one is asked for, and no run."""
        row = lower(descriptor(), MODE, PATCH, evidence=evidence(MODE, NAMES))
        asked = upgrade(row, "offload_restorability")
        where = "at storage_restorability or backend_patch"
        assert f"an adapter with all of its preconditions, {where}" == asked

    def test_atoms(self) -> None:
        """A run is still asked for where the atoms are missing."""
        mode = Mode.SOFT_PRIORITY
        row = lower(unready(), mode, PATCH, evidence=evidence(mode, MODES[mode].names()))
        asked = upgrade(row, "priority_influence")
        assert "; then a run of the claim" in asked
        assert "with pressure_controls_observed and retention_order_observed" in asked

    def test_required(self) -> None:
        """Where only what traces show counts, it is a trace that is asked for, and none native."""
        row = lower(patched(NAMES), MODE, PATCH, require_evidence=True)
        asked = upgrade(row, "offload_restorability")
        expected = "a trace of the claim that preserves restore_before_reuse, judged here, at "
        assert f"{expected}storage_restorability or backend_patch" == asked
