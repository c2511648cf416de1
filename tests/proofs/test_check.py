"""The questions about each mode: consistent, sound, carried by the paper, and all of it needed."""

import msgspec
import pytest

from proofs.check import DEPTH, Checks, check_mode, exit_code
from proofs.engines.background import second_process
from proofs.engines.invariants.recheck import Invariant, ProofResult, recheck
from proofs.engines.invariants.spacer import prove
from proofs.logic.encode import Integers
from proofs.model.of_mode import model_of
from proofs.report.verdict import verdict
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.proofs.pinned import NECESSARY, checked, command

pytestmark = pytest.mark.slow

# The fewest events in which a mode's whole bundle is exercised and satisfied.
WITNESS = {
    Mode.BEST_EFFORT: 3,
    Mode.SOFT_PRIORITY: 6,
    Mode.HARD_PROTECTED: 8,
    Mode.DEMOTABLE: 7,
    Mode.EXPIRING: 6,
    Mode.OFFLOADABLE: 11,
    Mode.ROUTED_REUSE: 8,
}

# What the papers' bundles do not carry: clauses that fail, and the fewest events that show one.
PAPER = {
    Mode.HARD_PROTECTED: ({"usefulness"}, 2),
    Mode.DEMOTABLE: ({"usefulness", "harm"}, 3),
    Mode.EXPIRING: ({"harm"}, 3),
}


class TestContract:
    """The completed bundles."""

    @pytest.mark.parametrize("mode", Mode)
    def test_witnessed_and_proved(self, mode: Mode) -> None:
        """Each mode has a shortest witness of a pinned length and is proved without a bound."""
        check = checked(mode)

        assert "witnessed" == check.consistent.result
        assert WITNESS[mode] == len(check.consistent.story)
        assert ("proved", "recorded", None, True) == (
            check.sound.result,
            check.sound.engine,
            check.sound.bound,
            check.sound.rechecked,
        )
        assert 0 == exit_code([check])

    def test_full_check_of_every_mode(self) -> None:
        """`check --full --all` asks everything of every mode, and exits 0."""
        code, output = command()
        checks = msgspec.json.decode(output, type=Checks).checks

        assert 0 == code
        assert list(Mode) == [check.mode for check in checks]
        for check in checks:
            assert "holds" == verdict(check)
            asked = (check.receptive, check.paper, check.guards, check.core, check.unused)
            assert None not in (*asked, check.consistent.scenarios, check.consistent.reached)

    @pytest.mark.parametrize("mode", Mode)
    def test_what_is_not_asked(self, mode: Mode) -> None:
        """A check that is not full says of a mode what a full one says, less what it leaves out."""
        short, full = check_mode(mode), checked(mode)

        assert 0 == exit_code([short])
        assert (full.redundancy, full.lemmas) == (short.redundancy, short.lemmas)
        assert {name: (each.result, each.length) for name, each in full.necessary.items()} == {
            name: (each.result, each.length) for name, each in short.necessary.items()
        }
        assert full.consistent.witness == short.consistent.witness
        left = (short.receptive, short.paper, short.guards, short.core, short.in_every_core)
        assert {None} == {*left, short.unused, short.consistent.scenarios, short.consistent.reached}

    def test_proved_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The proof of the contract is what its clauses are traced to; it is asked for once."""
        monkeypatch.setattr(
            "proofs.check.proof_of", lambda _: pytest.fail("it was asked for again")
        )
        assert "proved" == check_mode(Mode.BEST_EFFORT).sound.result


class TestPaper:
    """The bundles as the papers print them."""

    @pytest.mark.parametrize("mode", Mode)
    def test_gaps(self, mode: Mode) -> None:
        """Each clause is proved by itself, or refuted in a pinned number of events."""
        paper = checked(mode).paper
        assert paper is not None
        gaps, length = PAPER.get(mode, (set(), 0))

        found = {n: (c.result, c.length) for n, c in paper.clauses.items()}
        assert set(checked(mode).sound.clauses) == set(found)
        for name, result in found.items():
            assert result == (("refuted", length) if name in gaps else ("proved", None))
        for name in gaps:
            assert length == len(paper.clauses[name].story)
            assert paper.clauses[name].trace

    @pytest.mark.parametrize("mode", PAPER)
    def test_refuted_bundle(self, mode: Mode) -> None:
        """Asked about a bundle with gaps, the check is refuted by its shortest run and exits 1."""
        clauses, length = PAPER[mode]
        check = check_mode(mode, Bundle.PAPER)

        assert "refuted" == check.sound.result
        assert check.sound.failed
        assert clauses >= set(check.sound.failed)
        assert length == check.sound.bound == len(check.sound.story)
        assert 1 == exit_code([check])

    @pytest.mark.parametrize("mode", Mode)
    def test_additions(self, mode: Mode) -> None:
        """What the contract adds is listed with its reason; where nothing is, one proof serves."""
        check = checked(mode)

        assert dict(MODES[mode].added) == {added.obligation: added.why for added in check.added}
        assert check.paper is not None
        assert check.paper.is_contract == (not check.added)

    def test_bundles_differ_where_something_was_added(self) -> None:
        """The papers' bundle is refuted in exactly the modes that the contract adds to."""
        assert set(PAPER) == {mode for mode, spec in MODES.items() if spec.added}


class TestSecondProcess:
    def test_same_answer(self) -> None:
        """A second process changes the time that a check takes, and nothing that it says."""
        with second_process() as worker:
            check = check_mode(Mode.EXPIRING, full=True, worker=worker)

        alone = checked(Mode.EXPIRING)
        assert alone.consistent.story == check.consistent.story
        assert alone.paper is not None
        assert check.paper is not None
        assert alone.paper.clauses == check.paper.clauses
        assert NECESSARY[Mode.EXPIRING] == {n: w.length for n, w in check.necessary.items()}


class TestTrust:
    """What stands between an engine's answer and the word "proved"."""

    def test_recheck_refuses_what_is_no_invariant(self) -> None:
        """Neither "anything" nor "nothing" passes as an invariant of hard_protected."""
        import z3

        model = model_of(Mode.HARD_PROTECTED, Bundle.CONTRACT, Integers())

        assert "implication" == recheck(model, Invariant(lambda _: z3.BoolVal(True)))
        assert "initiation" == recheck(model, Invariant(lambda _: z3.BoolVal(False)))

    def test_recheck_refuses_what_is_not_preserved(self) -> None:
        """A predicate that the first event can leave fails consecution."""
        model = model_of(Mode.EXPIRING, Bundle.CONTRACT, Integers())
        import z3

        assert "consecution" == recheck(
            model, Invariant(lambda state: z3.Not(state["was.committed"]))
        )

    def test_work_limit_is_unknown(self) -> None:
        """Running out of work is unknown, not proved and not refuted."""
        model = model_of(Mode.HARD_PROTECTED, Bundle.CONTRACT, Integers())

        proof = prove(model, rlimit=1000)

        assert ProofResult.UNKNOWN is proof.result

    def test_no_witness_is_no_pass(self) -> None:
        """A depth too small for a witness finds none, and exits 3."""
        check = check_mode(Mode.EXPIRING, depth=2)

        assert ("not found", 2) == (check.consistent.result, check.consistent.depth)
        assert 3 == exit_code([check])

    def test_nothing_checked_is_no_pass(self) -> None:
        """An empty list of checks exits 3."""
        assert 3 == exit_code([])

    def test_default_depth_reaches_every_witness(self) -> None:
        """The default depth is enough for the longest of the shortest witnesses."""
        assert max(WITNESS.values()) <= DEPTH
