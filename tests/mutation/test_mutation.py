"""Mistakes are planted as the generator says, and noticed, shown to change no step, or printed."""

from __future__ import annotations

import sys

import pytest
import z3

from proofs.logic.encode import Integers
from tests.mutation.__main__ import fate, main
from tests.mutation.comparison import Original, _model, always
from tests.mutation.killers import TARGETS, modes_of
from tests.mutation.mistakes import Mistake, mistakes, path_of
from tests.mutation.planting import planted

WORLD = "proofs.model.environment"
PAIR = "proofs.model.pair"


def replaced(module: str, there: str, mistake: str) -> Mistake:
    """A mistake by hand."""
    source = path_of(module).read_text(encoding="utf-8")
    assert 1 == source.count(there)
    return Mistake(0, "by hand", source.replace(there, mistake))


class TestMistakes:
    def test_operators(self) -> None:
        """A term has its operators, its parts, its kinds and its numbers changed."""
        found = {m.says for m in mistakes("spec.contract.obligations.ends")}

        assert {
            *(
                "BitAnd is BitOr",
                "1 is 2",
                "now is was",
                "the guard is negated",
                "e.mine is left out",
            ),
            *("CLAIM_COMMITTED is CLAIM_RETIRED", "'ordered' is violated", "sets is left out"),
            *("argument 0 is left out", "part 0 is left out", "ne is eq"),
        } <= found

    @pytest.mark.parametrize("module", ["spec.contract.facts", "proofs.logic.connectives"])
    def test_one_thing(self, module: str) -> None:
        """Each mistake is another source, which can be compiled."""
        sources = [m.source for m in mistakes(module)]

        assert len(sources) == len({*sources}) > 10
        for source in sources:
            compile(source, module, "exec")

    def test_targets(self) -> None:
        """Each target is a module, and some mistake can be made in it."""
        for module in TARGETS:
            assert path_of(module).exists()
        assert mistakes("spec.lowering.obligations")


class TestPlanted:
    def test_answers(self) -> None:
        """The answer, an exception and the end of the time are different."""
        module, source = WORLD, path_of(WORLD).read_text(encoding="utf-8")

        def late() -> str:
            while True:
                pass

        assert "fine" == planted(module, source, lambda: "fine")
        assert "raised: KeyError" == planted(module, source, lambda: {}["x"])
        assert "raised: SyntaxError" == planted(module, "(", _imports)
        assert "NOT NOTICED: ended by signal 27: " == planted(module, source, late, seconds=1)
        assert WORLD in sys.modules


def _imports() -> str:
    import proofs.model.environment as world

    return str(world)


class TestFate:
    def test_nothing(self) -> None:
        """Without a mistake nothing is noticed, and nothing is changed."""
        for module in (WORLD, PAIR):
            source = path_of(module).read_text(encoding="utf-8")
            original = Original(modes_of(module))
            assert "same" == fate(module, Mistake(0, "none", source), original)

    @pytest.mark.parametrize(
        ("there", "mistake"),
        [
            ("was.lead <= e.lead", "was.lead < e.lead"),
            ("e.by <= 1", "e.by < 1"),
            ('Register("other", Sort.BOOL, False)', 'Register("other", Sort.BOOL, True)'),
        ],
    )
    def test_recorded(self, there: str, mistake: str) -> None:
        """Another fact, or another event that a trace can state, is noticed by a recorded run."""
        assert fate(WORLD, replaced(WORLD, there, mistake), None).startswith("recorded runs: ")

    def test_probes(self) -> None:
        """An obligation that another depth supplies is noticed by a probe."""
        module = "spec.contract.obligations.offload"
        mistake = replaced(module, "Depth.STORAGE_RESTORABILITY", "Depth.CLAIM_REGISTRY")

        assert "probes: claim_registry supplies" == fate(module, mistake, None)

    def test_pair(self) -> None:
        """A system that does not judge the second claim is noticed by a run of two claims."""
        there = "{name: z3.And(kept, b.keeps[name]) for name, kept in a.keeps.items()}"

        assert "recorded runs: soft_priority" == fate(PAIR, replaced(PAIR, there, "a.keeps"), None)

    def test_statement(self) -> None:
        """A system that may begin with the choice of a victim is not the statement of its page."""
        there = "parts += [z3.Not(state[_RESET]), z3.Not(state[_EITHER])]"
        mistake = replaced(PAIR, there, "parts += [z3.Not(state[_RESET])]")
        found = fate(PAIR, mistake, Original(("soft_priority",)))

        assert "statement: soft_priority, two claims failed" == found

    @pytest.mark.parametrize(
        ("module", "there", "mistake", "found"),
        [
            ("theorem", "in after.items()}", "in self._state.items()}", "consecution.smt2 asks"),
            ("runs", "*keeps, *there)", "*keeps)", "state 0 asks something else: event 1"),
            pytest.param(
                *("lemmas", "[z3.Not(formula)]", "[formula]", "lemma.no-lemma.smt2 asks"),
                marks=pytest.mark.slow,
            ),
            ("strategy", "questions(mode)", "questions(mode, frozenset())", "receptive.smt2"),
            pytest.param(
                *("page", '("pop", "1"),', "", "lemma.no-lemma.smt2 asks something else: two"),
                marks=pytest.mark.slow,
            ),
        ],
    )
    def test_certificate(self, module: str, there: str, mistake: str, found: str) -> None:
        """A certificate that asks something else is noticed."""
        name = f"proofs.certificates.{module}"

        assert fate(name, replaced(name, there, mistake), None).startswith(f"certificate: {found}")

    def test_tests(self) -> None:
        """A mistake in partial evaluation is noticed by the tests of it, which load it planted."""
        module = "spec.language.partial_evaluation"
        mistake = replaced(module, "all(each(look) for each in every)", "True")

        assert "tests: tests/spec/language/test_evaluation.py" == fate(module, mistake, None)

    @pytest.mark.slow
    def test_no_mistake(self) -> None:
        """Certificates ask what they have to ask, by every killer."""
        name = "proofs.certificates.page"

        assert "same" == fate(name, replaced(name, "Each must be", "Each must be"), None)

    def test_always(self) -> None:
        """What the comparison of steps takes to be true of every state is true of the first ones,
        and stays true.
        """
        for mode in ("hard_protected", "offloadable", "routed_reuse", "soft_priority"):
            model = _model(mode, Integers())
            state = model.state("")
            step, solver = model.step(state, model.event("")), z3.SolverFor("QF_LIA")
            after = {name: step.following.get(name, value) for name, value in state.items()}
            first = z3.And(model.initial(state), z3.Not(always(state)))
            later = z3.And(step.possible, always(state), z3.Not(always(after)))
            assert z3.unsat == solver.check(z3.Or(first, later))

    def test_unchanged(self) -> None:
        """A mistake that changes no step of a mode's system is the same."""
        mistake = replaced(WORLD, "e.shared <= was.footprint,", "was.footprint >= e.shared,")

        assert "same" == fate(WORLD, mistake, Original(("routed_reuse",)))

    @pytest.mark.slow
    def test_unreached(self) -> None:
        """A mistake about a state of an obligation in which its guard never holds is the same."""
        module = "spec.contract.obligations.offload"
        there = 'source=("idle", "failed", "excused"),\n            why="a restore'
        mistake = replaced(module, there, there.replace(', "excused"', ""))

        assert "same" == fate(module, mistake, Original(("offloadable",)))

    def test_unstated(self) -> None:
        """One about a field that no event of its kind has is the same."""
        module = "spec.contract.obligations.identity"
        mistake = replaced(module, "kind(Kind.CLAIM_ACCEPTED) & e.overstates", "e.overstates")
        original = Original(("demotable",))

        assert not planted(module, mistake.source, original.differs)

    def test_shown(self) -> None:
        """One that changes something has a run that shows it."""
        mistake = replaced(WORLD, "~req_was.seen)", "~req_was.arrived)")
        original = Original(("routed_reuse",))

        def ask() -> str:
            return f"{original.differs()}: {original.shown('routed_reuse')}"

        found = planted(WORLD, mistake.source, ask)
        assert found.startswith("routed_reuse, possible: ")
        assert "request_arrived" in found

    @pytest.mark.deep
    @pytest.mark.parametrize("module", [m for m in TARGETS if m != "spec.stream.scopes"])
    def test_some(self, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of some mistakes in each module none survives."""
        monkeypatch.setattr(sys, "argv", ["", module, "--every", "40", "--from", "7"])
        with pytest.raises(SystemExit) as ended:
            main()

        assert 0 == ended.value.code
