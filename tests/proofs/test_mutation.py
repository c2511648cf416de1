"""Would a mistake in the specification be noticed? Mutants, the checks that kill them, the run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import typer

from proofs.mutation import run as running
from proofs.mutation.checks import consistency, stories, structure, theorem
from proofs.mutation.commands import register
from proofs.mutation.corpus import corpus, tell
from proofs.mutation.operators import OPERATORS, Mutant, mutants
from proofs.mutation.product import Argument, equivalent
from proofs.mutation.run import Campaign, Fate, campaign, count, exit_code, expect_pinned, judge
from proofs.mutation.trails import Judge, constants, made, pinned
from spec.claims import Mode
from spec.cli import new_app
from spec.cli import run as run_app
from spec.digest import spec_digest
from spec.errors import SpecError
from spec.modes import MODES

COUNTS = {
    Mode.BEST_EFFORT: 0,
}
EVERY = 61
SAMPLE = {"stories": 0}


def mutant(mode: Mode, name: str) -> Mutant:
    return next(m for m in mutants(mode) if m.name == name)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a call."""
    app: typer.Typer = new_app("proofs", "Proofs.")
    register(app)
    code = run_app(app, ["mutate", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


class TestOperators:
    """What mutants there are."""

    def test_counts(self) -> None:
        """Each mode has a pinned number of mutants, each with a name of its own."""
        found = {mode: [m.name for m in mutants(mode)] for mode in Mode}

        assert COUNTS == {mode: len(names) for mode, names in found.items()}
        assert all(len(names) == len(set(names)) for names in found.values())
        assert COUNTS[Mode.EXPIRING] == count([Mode.EXPIRING])

    def test_each_operator_is_used(self) -> None:
        """The named list holds what is applied, and a mutant's name ends in its operator."""
        found = list(mutants(Mode.HARD_PROTECTED))

        assert set(OPERATORS) == {m.operator for m in found}
        assert all(m.name.rpartition(":")[2].startswith(m.operator) for m in found)

    def test_each_rule_is_negated_and_dropped(self) -> None:
        """No rule and no obligation of a contract bundle goes without its mutants."""
        for mode in Mode:
            names = {m.name for m in mutants(mode)}
            for observer in MODES[mode].bundle():
                assert f"{observer.name}:omit" in names
                for rule in observer.rules:
                    assert f"{observer.name}.{rule.name}:negate" in names
                    assert f"{observer.name}.{rule.name}:drop" in names

    def test_every_target(self) -> None:
        """Each rule is led to each state that it does not lead to."""
        for observer in MODES[Mode.HARD_PROTECTED].bundle():
            names = {m.name for m in mutants(Mode.HARD_PROTECTED) if m.original == observer}
            for rule in observer.rules:
                targets = {s.name for s in observer.states} - {rule.to}
                assert {f"{observer.name}.{rule.name}:retarget-{t}" for t in targets} <= names


class TestCorpus:
    """The streams, and what is pinned of them."""

    def test_pinned(self) -> None:
        """The specification judges every stream as pinned."""
        expect_pinned()
        assert pinned() == made()

    def test_unlike_the_pins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A specification that judges a stream otherwise is refused with the stream's line."""
        monkeypatch.setattr(
            running, "made", lambda: {"plain": {"claim_identity": {"accepted": ""}}}
        )
        with pytest.raises(SpecError, match="no longer judges 'accepted'"):
            expect_pinned()

    def test_lines(self) -> None:
        """No stream is told twice, and a word that is neither story nor kind is refused."""
        assert len(corpus()) == len({told.line for told in corpus()})
        for word in ("claim_sung", "accepted@z"):
            with pytest.raises(ValueError, match=word.partition("@")[0]):
                tell(word)

    def test_word(self) -> None:
        """A word can name fields, another claim, another request and a foreign name."""
        (event,) = tell("claim_restored:from_tier@b/2").events
        (foreign,) = tell("claim_harmed!").events

        assert ("claim:b", "request:2", True) == (
            event.claim_id,
            event.request_id,
            event.from_tier,
        )
        assert ("claim:unheard-of", "object of claim:a") == (foreign.claim_id, foreign.object_id)

    def test_others_do_not_matter(self) -> None:
        """What concerns another claim alone changes nothing about this one."""
        mode = Mode.DEMOTABLE
        for observer in MODES[mode].bundle():
            judge_one = Judge(mode, observer)
            alone = judge_one.trail(tell("accepted filled demoted"))
            beside = judge_one.trail(tell("accepted filled demoted accepted@b filled@b evicted@b"))
            assert alone == ", ".join(t for t in beside.split(", ") if t.startswith("a"))


class TestChecks:
    """Each named check kills."""

    def test_structure(self) -> None:
        """A rule out of a violated state does not pass the observer's own validation."""
        found = structure(mutant(Mode.EXPIRING, "claim_identity.bound:add-violated"))

        assert found == "claim_identity.bound: violated is for good"

    def test_stories(self) -> None:
        """A guard that is negated gives some stream another verdict than the pinned one."""
        line = stories(mutant(Mode.HARD_PROTECTED, "explicit_conflict_action.silent:negate"))

        assert line in {told.line for told in corpus()}

    def test_stories_miss_an_obligation(self) -> None:
        """Each obligation of each bundle is the only one to condemn some stream, but for these."""
        missed = {
            (mode, name)
            for mode in Mode
            for name in MODES[mode].names()
            if stories(mutant(mode, f"{name}:omit")) is None
        }

        assert set() == missed

    def test_theorem(self) -> None:
        """Without the rule against untrue acceptance an auditor believes what is not so."""
        found = theorem(mutant(Mode.EXPIRING, "explicit_acceptance.untrue:drop"))

        assert found is not None
        assert "responsibility refuted by" in found

    def test_consistency(self) -> None:
        """Where acceptance no longer satisfies, no run satisfies the bundle."""
        lost = mutant(Mode.EXPIRING, "explicit_acceptance.accepted:retarget-owed")

        assert "no witness of up to 12 events" == consistency(lost)


class TestEquivalent:
    """What is no change at all."""

    def test_step(self) -> None:
        """A source that another rule of the same kind covers makes no difference in any step."""
        found = mutant(Mode.BEST_EFFORT, "claim_scoped_telemetry.invented:drop")

        assert Argument.STEP is equivalent(found.mode, found.original, found.observer())

    def test_different(self) -> None:
        """A mutant that judges otherwise is not taken for equivalent."""
        found = mutant(Mode.EXPIRING, "explicit_acceptance.untrue:drop")

        assert equivalent(found.mode, found.original, found.observer()) is None


class TestCampaign:
    """Many mutants, and going on."""

    def test_sample(self) -> None:
        """Of a fixed sample each mutant is killed or equivalent, by a pinned count of checks."""
        sample = [m for mode in Mode for m in mutants(mode)][::EVERY]
        found = [judge(m) for m in sample]

        assert SAMPLE == Counter(by or result for result, by, _ in found)

    def test_resume(self, tmp_path: Path) -> None:
        """What the file has is not judged again; a line that was cut short is left out."""
        file = tmp_path / "deep" / "fates.jsonl"
        first = campaign([Mode.EXPIRING], file, limit=3)
        with file.open("ab") as torn:
            torn.write(b'{"spec"')
        second = campaign([Mode.EXPIRING], file, limit=2)

        assert [3, 5] == [len(first.fates), len(second.fates)]
        assert first.fates == second.fates[:3]
        assert 5 == len(file.read_bytes().splitlines())
        assert count([Mode.EXPIRING]) == 5 + second.left
        assert 3 == exit_code(second)

    def test_foreign_lines(self, tmp_path: Path) -> None:
        """Fates of another specification, survivors, and kills by a lost stream do not count."""
        file = tmp_path / "fates.jsonl"
        (fate,) = campaign([Mode.EXPIRING], file, limit=1).fates
        line = json.loads(file.read_bytes())
        changes = ({"spec": "0"}, {"result": "survived"}, {"by": "stories", "detail": "gone"})
        for change in changes:
            file.write_text(json.dumps({**line, **change}) + "\n")
            campaign([Mode.EXPIRING], file, limit=1)
            *_, last = file.read_bytes().splitlines()
            assert 2 == len(file.read_bytes().splitlines())
            assert fate.result == json.loads(last)["result"]

    def test_exit_codes(self) -> None:
        """All killed is 0, a survivor 1, some left out 3; a survivor outweighs those."""
        fate = Fate(spec_digest(), "m", "o:drop", "drop", "", "killed", "stories", "", 0.0)
        lives = Fate(spec_digest(), "m", "o:drop", "drop", "", "survived", "", "", 0.0)

        assert 0 == exit_code(Campaign([fate], 0))
        assert 1 == exit_code(Campaign([fate, lives], 1))
        assert 3 == exit_code(Campaign([fate], 1))


class TestCommand:
    """The command line."""

    def test_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The text counts the kills of each check and says how many were not judged."""
        code, out, err = call(capsys, "expiring", "--limit", "4")

        assert (3, "") == (code, err)
        assert "structure" in out
        assert f"{count([Mode.EXPIRING]) - 4} mutants were not judged." in out

    def test_survivor(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A survivor is named and exits 1."""
        monkeypatch.setattr(running, "judge", lambda _: ("survived", "", ""))
        code, out, _ = call(capsys, "expiring", "--limit", "1")

        assert 1 == code
        assert "survived: expiring, claim_identity:omit: " in out

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The JSON has every fate, the counts, and the specification's digest."""
        code, out, _ = call(capsys, "expiring", "--limit", "4", "--format", "json")

        page = json.loads(out)
        assert 3 == code
        assert ("resident-claims/mutation/1", spec_digest()) == (page["schema"], page["spec"])
        assert 4 == len(page["fates"]) == sum(page["tally"]["expiring"].values())

    def test_bad_input(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """An unknown mode, a limit of 0, a corrupt file and a folder exit 2 with one line."""
        corrupt = tmp_path / "corrupt.jsonl"
        corrupt.write_text('{"spec": 1}\n')
        for arguments in (
            ("expirin",),
            ("--limit", "0"),
            ("expiring", "--resume", str(corrupt)),
            ("expiring", "--resume", str(tmp_path)),
        ):
            code, out, err = call(capsys, *arguments)
            assert (2, "", 1) == (code, out, err.count("\n"))

    def test_constants(self) -> None:
        """Modes that share their constants share their trails."""
        assert constants(Mode.DEMOTABLE) == constants(Mode.OFFLOADABLE) == "plain"
        assert "lapses" == constants(Mode.EXPIRING)
