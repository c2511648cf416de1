"""Invariants that are kept: where one still proves what is asked, it is not searched for again."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from proofs.checks.cores import proof_of, question_of, rests_on
from proofs.checks.lemmas import LEMMAS
from proofs.checks.necessity import question_without
from proofs.engines.answers import Question
from proofs.engines.invariants import recorded, spacer
from proofs.engines.invariants.recheck import Invariant, Proof, ProofResult
from proofs.engines.invariants.recorded import file_of, prove, recall
from proofs.engines.names import EngineName
from proofs.engines.portfolio import Auto, Recorded
from proofs.logic.encode import Integers
from proofs.logic.smtlib import INVARIANT, Writer, show, sort_of
from proofs.model.of_mode import Model
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from tests.proofs.goldens import WRITE
from tests.proofs.pinned import checked, checked_cores, checked_guards

pytestmark = pytest.mark.slow

SMALL = Question(Mode.BEST_EFFORT)


def redundant(mode: Mode) -> list[str]:
    found = {**checked(mode).necessary, **checked_guards(mode)}
    return [name for name, without in found.items() if without.result == "redundant"]


def possible(mode: Mode) -> Iterator[Question]:
    """What an invariant may be kept for: the contract, the contract without a redundant part, and
    each clause from its core."""
    yield Question(mode)
    yield from (question_without(mode, name) for name in redundant(mode))
    for clause, core in checked_cores(mode).core.items():
        yield question_of(mode, clause, frozenset(core))


def useful(mode: Mode) -> Iterator[Question]:
    """The contract; the contract without what its own proof uses though it is redundant; and each
    clause of the contract from less than that proof uses. The solver chooses what a proof uses."""
    rests = rests_on(mode, proof_of(mode))
    used = frozenset[str]().union(*(each.names for each in rests.values()))
    yield Question(mode)
    yield from (question_without(mode, name) for name in redundant(mode) if name in used)
    for clause, core in checked_cores(mode).core.items():
        if frozenset(core) != rests[clause].obligations:
            yield question_of(mode, clause, frozenset(core))


def keep(name: str, system: Model, invariant: Invariant) -> None:
    state = system.state("")
    sorts = {str(variable): sort_of(variable) for variable in state.values()}
    formula = invariant.at(state)
    body = Writer([formula], share=False).tree(formula)
    tree = ("define-fun", INVARIANT, tuple(sorts.items()), "Bool", body)
    file_of(name).write_text(show(tree) + "\n", "utf-8")


class TestFresh:
    """The files of the project."""

    @pytest.mark.parametrize("mode", Mode)
    def test_proves(self, mode: Mode) -> None:
        """Each file proves what its name asks, and each contract has one (found anew, where the
        goldens are written)."""
        if WRITE in os.environ:
            self.write(mode)
        assert file_of(Question(mode).name).exists()
        for question in possible(mode):
            if file_of(question.name).exists():
                assert recall(question.name, question.model(Integers())) is not None, question.name

    def write(self, mode: Mode) -> None:
        lacking = {
            question.name: question.model(Integers())
            for question in (*possible(mode), *useful(mode))
            if recall(question.name, question.model(Integers())) is None
        }
        for name in [question.name for question in useful(mode) if question.name in lacking]:
            system = lacking.pop(name)
            found = spacer.prove(system).invariant
            assert found is not None
            keep(name, system, found)
        for name in lacking:
            file_of(name).unlink(missing_ok=True)

    def test_no_other(self) -> None:
        """There is no file of anything that is not proved."""
        names = {question.name for mode in Mode for question in possible(mode)}
        names |= {f"lemma {each.name}" for each in LEMMAS}

        assert {file.name for file in recorded.FOLDER.iterdir()} <= {file_of(n).name for n in names}

    def test_lemmas(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """No lemma has to be searched for (written anew where the goldens are)."""

        def search(name: str, system: Model) -> Proof:
            found = spacer.prove(system)
            assert WRITE in os.environ, f"no invariant is kept for {name}"
            assert found.invariant is not None
            keep(name, system, found.invariant)
            return found

        monkeypatch.setattr(
            "proofs.checks.lemmas.prove",
            lambda name, system: recall(name, system) or search(name, system),
        )
        assert all(lemma.prove().result == "proved" for lemma in LEMMAS)


class TestNotBelieved:
    """A file that does not prove what is asked."""

    @pytest.fixture(autouse=True)
    def elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A copy of one file, to be spoiled."""
        shutil.copy(file_of(SMALL.name), tmp_path)
        monkeypatch.setattr(recorded, "FOLDER", tmp_path)

    def test_copy_is_good(self) -> None:
        """What the tests below spoil was good."""
        assert EngineName.RECORDED is Auto(8).answer(SMALL).engine

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("\n  (and", "\n  (or"),
            ("was.registered Bool", "was.registered Int"),
            ("(define-fun Inv", "(define-fun Other"),
            ("(and", "(and was.unheard_of"),
            ("(and", "((and"),
        ],
    )
    def test_spoiled(self, old: str, new: str) -> None:
        """A doctored file proves nothing: Spacer is asked, and says the same as ever."""
        file = file_of(SMALL.name)
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), "utf-8")

        assert recall(SMALL.name, SMALL.model(Integers())) is None
        assert ProofResult.UNKNOWN is Recorded().answer(SMALL).result
        answer = Auto(8).answer(SMALL)
        assert (ProofResult.PROVED, EngineName.SPACER) == (answer.result, answer.engine)

    def test_unreadable(self) -> None:
        """A file that is no text, or no file, proves nothing either."""
        file_of(SMALL.name).write_bytes(b"\xff")
        assert recall(SMALL.name, SMALL.model(Integers())) is None
        file_of(SMALL.name).unlink()
        file_of(SMALL.name).mkdir()
        assert recall(SMALL.name, SMALL.model(Integers())) is None

    def test_of_another_question(self) -> None:
        """The invariant of the contract does not prove the bundle without an obligation."""
        less = Question(Mode.BEST_EFFORT, without=frozenset({"claim_identity"}))
        shutil.copy(file_of(SMALL.name), file_of(less.name))

        assert ProofResult.REFUTED is prove(less.name, less.model(Integers())).result

    def test_missing(self) -> None:
        """Where nothing is kept, the answer is unknown, or Spacer's."""
        question = Question(Mode.BEST_EFFORT, Bundle.PAPER)

        assert ProofResult.UNKNOWN is Recorded().answer(question).result
        assert ProofResult.PROVED is prove(question.name, question.model(Integers())).result
