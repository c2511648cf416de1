"""Would a mistake in the specification be noticed? Mutants, and the checks that kill them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from proofs.mutation import pins, product, runs
from proofs.mutation.checks import CHECKS
from proofs.mutation.judge import alike, is_faithful, judged, trail
from proofs.mutation.operators import OPERATORS, Mutant, mutants
from proofs.mutation.outcomes import unchanged
from proofs.mutation.product import Compared, compare, difference, same_step
from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.language.machine import Observer, Rule
from spec.language.terms import FALSE, TRUE
from tests.proofs import recorded

OF_PLACES = {
    "best_effort": 511,
    "soft_priority": 390,
    "hard_protected": 1726,
    "demotable": 1096,
    "expiring": 1119,
    "offloadable": 2070,
    "routed_reuse": 708,
    "ledgers": 512,
    "terms": 1298,
    "world": 723,
    "auditor": 1258,
    "delivery": 198,
    "lowering": 593,
}
OF_OPERATORS = {
    "omit": 58,
    "negate": 274,
    "drop": 274,
    "always": 274,
    "weaken": 1536,
    "narrow": 1686,
    "widen": 335,
    "retarget": 1142,
    "remove": 530,
    "add": 801,
    "forget": 34,
    "compare": 204,
    "constant": 140,
    "sum": 17,
    "swap": 96,
    "tense": 219,
}


def mutant(mode: Mode, name: str) -> Mutant:
    return next(m for m in mutants(mode) if m.name == name)


def changed(mutant: Mutant) -> Observer:
    assert mutant.observer is not None
    return mutant.observer


def rule(mode: Mode, name: str) -> Rule:
    """The rule that a mutant changed, after the change."""
    found = mutant(mode, name)
    (after,) = {r.name: r for r in changed(found).rules if r not in found.original.rules}.values()
    return after


class TestOperators:
    """What mutants there are."""

    def test_counts(self) -> None:
        """Each mode and each operator has a pinned number of mutants, each with its own name."""
        found = {mode: list(mutants(mode)) for mode in Mode}

        assert {str(mode): len(each) for mode, each in found.items()}.items() <= OF_PLACES.items()
        assert OF_OPERATORS == Counter(m.operator for each in found.values() for m in each)
        assert set(OPERATORS) == set(OF_OPERATORS)
        for each in found.values():
            assert len(each) == len({m.name for m in each})

    def test_each_rule(self) -> None:
        """No rule and no obligation of a bundle goes without its mutants."""
        for mode, spec in MODES.items():
            names = {m.name for m in mutants(mode)}
            assert {f"{name}:omit-contract" for name in spec.names()} <= names
            assert not spec.added or {f"{name}:omit-paper" for name in spec.paper} <= names
            for observer in spec.bundle():
                for r in observer.rules:
                    for operator in ("negate", "drop", "always"):
                        assert f"{observer.name}.{r.name}:{operator}" in names

    def test_every_target(self) -> None:
        """Each rule is led to each state that it does not lead to."""
        for observer in MODES[Mode.HARD_PROTECTED].bundle():
            names = {m.name for m in mutants(Mode.HARD_PROTECTED) if m.original == observer}
            for r in observer.rules:
                targets = {s.name for s in observer.states} - {r.to}
                assert {f"{observer.name}.{r.name}:retarget-{t}" for t in targets} <= names

    @pytest.mark.parametrize("operator", ["negate", "drop", "always"])
    def test_guards(self, operator: str) -> None:
        """A guard is negated, never holds, or always holds."""
        name = "explicit_conflict_action.conflict_action_not_reported"
        (original,) = (
            r
            for r in OBLIGATIONS["explicit_conflict_action"].rules
            if r.name == "conflict_action_not_reported"
        )
        expected = {"negate": ~original.when, "drop": FALSE, "always": TRUE}[operator]
        after = rule(Mode.HARD_PROTECTED, f"{name}:{operator}")

        assert replace(original, when=expected) == after

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("weaken-1", "weaken, by e.mine"),
            ("narrow-1", "narrow, by e.kind in {claim_demoted}"),
            ("widen-1", "widen, by e.kind in {claim_released}"),
            ("retarget-idle", "it leads to idle, not acted"),
            ("add-idle", "it applies in idle too"),
        ],
    )
    def test_parts(self, name: str, says: str) -> None:
        """A mutant says which part of its rule it touches."""
        found = mutant(
            Mode.HARD_PROTECTED, f"explicit_conflict_action.demotion_or_expiry_reported:{name}"
        )

        assert f"explicit_conflict_action, rule 'demotion_or_expiry_reported': {says}" == found.says
        assert changed(found) != found.original

    def test_remove_and_forget(self) -> None:
        """A rule no longer applies in a state; a register stays as it is."""
        removed = rule(
            Mode.HARD_PROTECTED, "explicit_conflict_action.conflict_action_not_reported:remove-idle"
        )
        names = {m.name for m in mutants(Mode.HARD_PROTECTED) if m.operator == "forget"}

        assert ("owed", "settled") == removed.source
        assert names
        for name in names:
            register = name.rpartition("forget-")[2]
            assert register not in rule(Mode.HARD_PROTECTED, name).sets


class TestRuns:
    """The runs, and what is pinned of them."""

    def test_fresh(self) -> None:
        """The chains of stories are among the runs as the monitor hears them, and the hand-written
        traces are kept as it hears them."""
        assert set(recorded.chains()) <= set(runs.runs())
        assert recorded.handwritten() == runs.HAND.read_text(encoding="utf-8")

    def test_pinned(self) -> None:
        """The specification judges every run as pinned, and the file is as it would be written."""
        assert [] == pins.unlike()
        assert pins.page(runs.runs()) == runs.RUNS.read_text(encoding="utf-8")

    def test_faithful(self) -> None:
        """In some mode a faithful stream may tell each run, or all of it but the last event."""
        for line in runs.runs():
            last = len(runs.read_run(line).events)
            ends = {unchanged().ends(mode, line) for mode in Mode}
            assert ends & {0, last} or any(is_faithful(alike(mode), line) for mode in Mode), line

    def test_traces(self) -> None:
        """Of each hand-written trace the mode's obligations make what is written beside it."""
        for trace in runs.traces():
            for name in MODES[Mode(trace.mode)].names():
                found = mutant(Mode(trace.mode), f"{name}:omit-contract")
                same = replace(found, rules=found.original.rules)
                assert CHECKS["traces"](same) is None, (trace.name, name)

    def test_trail(self) -> None:
        """Verdicts are written as their changes."""
        line = "2 claim_registered claim_committed:footprint=3 block_cached:lead=3"

        assert "2p 3v" == trail(judged("plain", "explicit_acceptance", line))

    def test_words(self) -> None:
        """A line is read and written back the same; a word that means nothing is refused."""
        for line in runs.runs():
            run = runs.read_run(line)
            events = [(e.kind, {n: getattr(e, n) for n in runs.EVENT_FIELDS}) for e in run.events]
            assert line == runs.write_run(run.threshold, events)
        for word in ("claim_sung", "claim_harmed:loud=1"):
            with pytest.raises(ValueError, match=word.rpartition(":")[2].partition("=")[0]):
                runs.read_run(f"2 {word}")


class TestChecks:
    """Each named check kills."""

    def test_structure(self) -> None:
        """A rule out of a violated state does not pass the observer's own validation."""
        found = mutant(Mode.EXPIRING, "claim_identity.identity_matches:add-violated")

        assert "claim_identity.identity_matches: violated is for good" == CHECKS["structure"](found)

    def test_theorem(self) -> None:
        """Without the rule against untrue acceptance an auditor believes what is not so."""
        found = CHECKS["theorem"](
            mutant(Mode.EXPIRING, "explicit_acceptance.acceptance_reported_without_commitment:drop")
        )

        assert found is not None
        assert found.startswith("responsibility fails after ")

    def test_theorem_holds(self) -> None:
        """No run breaks the theorem of an obligation that was not changed."""
        for mode in Mode:
            for name in MODES[mode].names():
                found = mutant(mode, f"{name}:omit-contract")
                assert CHECKS["theorem"](replace(found, rules=found.original.rules)) is None

    def test_traces(self) -> None:
        """A rule that is gone leaves the broken trace of its obligation uncondemned."""
        found = mutant(
            Mode.HARD_PROTECTED, "victim_exclusion_before_violation.evicted_while_responsible:drop"
        )

        assert "victim_exclusion_before_violation.broken" == CHECKS["traces"](found)

    def test_pins(self) -> None:
        """A guard that is negated gives some run another verdict than the pinned one."""
        found = mutant(
            Mode.HARD_PROTECTED, "explicit_conflict_action.conflict_action_not_reported:negate"
        )

        assert CHECKS["pins"](found) in runs.runs()

    def test_omitted(self) -> None:
        """Each obligation of each bundle is the only one to condemn some run."""
        omitted = [m for mode in Mode for m in mutants(mode) if m.operator == "omit"]

        assert {None} != {CHECKS["pins"](m) for m in omitted}
        assert [] == [m.name for m in omitted if CHECKS["pins"](m) is None]


class TestEquivalent:
    """What is no change at all."""

    STEP = "claim_scoped_telemetry.loss_not_reported:weaken-13"
    RUN = "claim_scoped_telemetry.loss_reported_while_predicate_true:remove-fallen"

    def test_step(self) -> None:
        """No step differs: from no state at all, or from none that a run can come to."""
        both = [mutant(Mode.BEST_EFFORT, name) for name in (self.STEP, self.RUN)]
        found = same_step(Mode.BEST_EFFORT, both[0].original, [changed(m) for m in both])

        assert [Compared.STEP, Compared.REACHED] == found

    def test_run(self) -> None:
        """What no run can reach makes no difference, by an invariant that Spacer finds."""
        found = mutant(Mode.BEST_EFFORT, self.RUN)

        assert Compared.RUN is compare(found.mode, found.original, changed(found))

    def test_different(self) -> None:
        """A mutant that judges otherwise is not taken for equivalent, and a run shows it."""
        found = mutant(
            Mode.BEST_EFFORT, "claim_scoped_telemetry.loss_reported_while_predicate_true:drop"
        )
        run = difference(found.mode, found.original, changed(found), plain=False)

        assert Compared.DIFFERENT is compare(found.mode, found.original, changed(found))
        assert run is not None

    def test_unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the solver's work runs out, nothing is taken for equivalent."""
        monkeypatch.setattr(product, "RLIMIT", 1)
        monkeypatch.setattr(product, "agree", lambda *_: False)
        found = mutant(Mode.BEST_EFFORT, self.RUN)

        assert [None] == same_step(found.mode, found.original, [changed(found)])
        assert Compared.UNKNOWN is compare(found.mode, found.original, changed(found))
