"""The campaign of mutants, the file from which it resumes, and its command."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
import z3

from proofs.__main__ import main
from proofs.mutation import pins
from proofs.mutation.campaign import command, run
from proofs.mutation.campaign.command import Mutation
from proofs.mutation.campaign.run import Fate, exit_code, tally
from proofs.mutation.campaign.state import State, usual_place
from proofs.mutation.detection.checks import CHECKS
from proofs.mutation.mutants.changes import WAYS
from proofs.mutation.mutants.rules import OPERATORS, Mutant, mutants
from proofs.mutation.runs import lines
from spec.claims.states import Mode
from spec.digest import spec_digest
from spec.language.errors import SpecError
from tests.proofs.mutation.shared import OF_OPERATORS, OF_PLACES, OF_WAYS, mutant
from tests.proofs.mutation_figures import grouped, recorded

SAMPLE = {
    "structure": 1,
    "theorem": 1,
    "frame": 0,
    "necessity": 0,
    "traces": 4,
    "pins": 13,
    "equivalent": 7,
    "survived": 0,
    "unknown": 0,
}
EVERY = 149
SAMPLED = ("best_effort", "routed_reuse", "hard_protected", "delivery", "lowering")
DOCS = Path(__file__).parents[4] / "docs"
FEW = list(mutants(Mode.EXPIRING))[10:16]
Capture = pytest.CaptureFixture[str]


def deafen(monkeypatch: pytest.MonkeyPatch) -> None:
    """No check but that of the structure notices anything."""
    for name in CHECKS.keys() - {"structure"}:
        monkeypatch.setitem(CHECKS, name, lambda _: None)


class TestCampaign:
    """Many mutants."""

    @pytest.mark.slow
    @pytest.mark.deep
    def test_sample(self) -> None:
        """Of a fixed sample of rules and tables each mutant is killed or equivalent, by a pinned
        count of checks."""
        sample = [each for place in SAMPLED for each in run.everything(place)][::EVERY]
        fates = list(run.campaign(sample))

        assert {run.key_of(each) for each in sample} == {(f.mode, f.mutant) for f in fates}
        assert SAMPLE == tally(fates)
        assert "false" == z3.get_param("ctrl_c"), "Z3 keeps interrupts to itself"
        assert 0 == exit_code(fates, len(sample))

    @pytest.mark.slow
    def test_survivor(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A change that no check notices, and that is one, survives; a run shows the change."""
        deafen(monkeypatch)
        (fate,) = run.campaign(
            [
                mutant(
                    Mode.EXPIRING, "explicit_acceptance.acceptance_reported_without_commitment:drop"
                )
            ]
        )

        assert ("survived", []) == (fate.result, fate.by)
        assert fate.detail.endswith("differ: 1 claim_accepted")
        assert 1 == exit_code([fate], 1)

    def test_omitted_survivor(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An obligation whose loss no check notices survives."""
        deafen(monkeypatch)
        (fate,) = run.campaign([mutant(Mode.EXPIRING, "explicit_acceptance:omit-paper")])

        assert "survived" == fate.result

    def test_unlike_the_pins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A specification that judges a run otherwise than as pinned is refused."""
        monkeypatch.setattr(pins, "runs", lambda: {"1 claim_accepted": {}})
        with pytest.raises(SpecError, match="not judged as pinned; the first: 1 claim_accepted"):
            list(run.campaign(FEW))

    def test_exit_codes(self) -> None:
        """All killed is 0, unknown or unfinished 3, a survivor 1 whatever else there is."""

        def fate(result: str) -> Fate:
            return Fate("m", "o:drop", "drop", "", result, [], "", 0.0)

        killed, survived, unknown = map(fate, ("killed", "survived", "unknown"))

        assert 0 == exit_code([killed, fate("equivalent")], 2)
        assert 1 == exit_code([killed, unknown, survived], 4)
        assert 3 == exit_code([killed, unknown], 2)
        assert 3 == exit_code([killed], 2)
        assert 3 == exit_code([], 0)


class TestState:
    """Going on from a file."""

    def judge(self, capsys: Capture) -> tuple[int, str, str]:
        code = main(["mutate", "expiring", "--state", "fates"])
        return code, *capsys.readouterr()

    @pytest.fixture(autouse=True)
    def few(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(command, "everything", lambda _: FEW)
        monkeypatch.chdir(tmp_path)

    def test_resume(self, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        """What the file has is not judged again; a last line that was cut short is."""
        _, first, _ = self.judge(capsys)
        lines = Path("fates").read_bytes().splitlines(keepends=True)
        Path("fates").write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
        judged_again: list[Mutant] = []
        whole = run.campaign
        monkeypatch.setattr(
            command, "campaign", lambda left: judged_again.extend(left) or whole(left)
        )
        code, second, _ = self.judge(capsys)

        assert 0 == code
        assert first == second
        assert 1 == len(judged_again)
        assert 1 + len(FEW) == len(lines) == len(Path("fates").read_bytes().splitlines())

    def test_cut_in_the_first_line(self, capsys: Capture) -> None:
        """A file whose first line was cut short is begun anew."""
        self.judge(capsys)
        Path("fates").write_bytes(Path("fates").read_bytes()[:30])

        assert 0 == self.judge(capsys)[0]
        assert 1 + len(FEW) == len(Path("fates").read_bytes().splitlines())

    def test_interrupted(self, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        """An interrupt keeps what was judged, says what is left and exits 3."""
        whole = run.campaign

        def interrupted(left: list[Mutant]):  # type: ignore[no-untyped-def]
            yield next(whole(left))
            raise KeyboardInterrupt

        monkeypatch.setattr(command, "campaign", interrupted)
        code, out, _ = self.judge(capsys)

        assert 3 == code
        assert f"unfinished: {len(FEW) - 1}" in out
        assert 2 == len(Path("fates").read_bytes().splitlines())

    @pytest.mark.parametrize("which", ["spec", "runs", "code", "tool"])
    def test_foreign(self, capsys: Capture, which: str) -> None:
        """The fates of another specification, other runs, other code or another version exit 2."""
        self.judge(capsys)
        head, rest = Path("fates").read_text().split("\n", 1)
        foreign = json.dumps({**json.loads(head), which: "0"}) + "\n" + rest
        Path("fates").write_text(foreign)
        code, out, err = self.judge(capsys)

        assert (2, "", 1) == (code, out, err.count("\n"))
        assert "is about another specification, other runs or other code" in err
        assert foreign == Path("fates").read_text()

    def test_endless(self, capsys: Capture) -> None:
        """A device that never ends is no campaign."""
        code = main(["mutate", "expiring", "--state", "/dev/zero"])

        assert 2 == code
        assert "it is a device" in capsys.readouterr().err

    def test_pipe(self, capsys: Capture) -> None:
        """A pipe is not opened, for nobody may ever write to it."""
        os.mkfifo("fates")
        code, out, err = self.judge(capsys)

        assert (2, "") == (code, out)
        assert "cannot read fates: it is a pipe" in err

    @pytest.mark.parametrize(
        ("result", "by", "detail"),
        [
            ("killed", [], "x"),
            ("killed", ["hearsay"], "x"),
            ("equivalent", [], "\x1b[31mpwned"),
            ("equivalent", ["pins"], "from every state each event leads both to the same state"),
        ],
    )
    def test_no_fate(self, capsys: Capture, result: str, by: list[str], detail: str) -> None:
        """A fate that no check and no solver gives is not counted, and not printed."""
        about = (str(FEW[0].mode), FEW[0].name, FEW[0].operator, FEW[0].says)
        State(Path("fates")).add(Fate(*about, result, by, detail, 0.0))
        code, out, err = self.judge(capsys)

        assert (2, "") == (code, out)
        assert "fates, line 2: it is not a result of a campaign" in err

    def test_code(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where a clause of the theorem is written otherwise, fates are kept apart."""
        (tmp_path / "proofs").mkdir()
        monkeypatch.setattr("proofs.mutation.campaign.state._ROOT", tmp_path)
        places = set()
        for text in ("CLAUSES = 1", "CLAUSES = 2"):
            (tmp_path / "proofs" / "theorems.py").write_text(text)
            places.add(usual_place())
        assert 2 == len(places)

    def test_settled_alone(self) -> None:
        """A survivor is judged again, and so is a mutant that now changes something else."""
        state = State(Path("fates"))
        about = (str(FEW[0].mode), FEW[0].name, FEW[0].operator)
        for says, result in ((FEW[0].says, "survived"), ("other", "killed")):
            state.add(Fate(*about, says, result, ["pins"], "", 0.0))
            assert {} == State(Path("fates")).known(FEW)
        state.add(Fate(*about, FEW[0].says, "killed", ["pins"], "", 0.0))

        assert [about[:2]] == list(State(Path("fates")).known(FEW))

    @pytest.mark.parametrize(
        "content",
        [b'{"spec": 1}\n', b'{"kind":"', b'{"tool":"\xff"}\n', b"\0" * 20, b"[" * 100_000 + b"\n"],
        ids=["fields", "cut", "text", "binary", "depth"],
    )
    def test_no_campaign(self, capsys: Capture, content: bytes) -> None:
        """A file that holds other things exits 2 with one line, and stays as it is."""
        Path("fates").write_bytes(content)
        code, out, err = self.judge(capsys)

        assert (2, "", 1) == (code, out, err.count("\n"))
        assert content == Path("fates").read_bytes()


class TestCommand:
    """The command line, with a few mutants."""

    @pytest.fixture(autouse=True)
    def few(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(command, "everything", lambda _: FEW)
        monkeypatch.chdir(tmp_path)

    def test_text(self, capsys: Capture) -> None:
        """The text counts the kills of each check and says that none survived."""
        code = main(["mutate", "expiring"])
        out, err = capsys.readouterr()

        assert (0, "") == (code, err)
        assert all(f"{name}: " in out for name in CHECKS)
        assert "survived: none" in out
        assert out.startswith("every mutant is killed or equivalent: of ")
        assert max(map(len, out.splitlines())) <= 80
        assert [1 + len(FEW)] == [len(f.read_bytes().splitlines()) for f in Path("build").iterdir()]

    @pytest.mark.slow
    def test_survivor(self, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        """A survivor is named, with the run that shows the change, and exits 1."""
        deafen(monkeypatch)
        monkeypatch.setattr(
            command,
            "everything",
            lambda m: [
                mutant(m, "explicit_acceptance.acceptance_reported_without_commitment:drop")
            ],
        )
        code = main(["mutate", "expiring"])
        out = capsys.readouterr().out

        assert 1 == code
        name = "explicit_acceptance.acceptance_reported_without_commitment:drop"
        assert f"survived: 1\n  expiring, {name}: " in out
        assert "verdicts differ: 1 claim_accepted\n" in out

    def test_json(self, capsys: Capture) -> None:
        """The JSON has every fate, the counts, and the specification's digest."""
        code = main(["mutate", "expiring", "--format", "json"])
        out = capsys.readouterr().out
        told = json.loads(out)

        assert 0 == code
        assert msgspec.json.decode(out, type=Mutation)
        assert ("resident-claims/mutation/1", spec_digest()) == (told["schema"], told["spec"])
        assert len(FEW) == len(told["fates"]) == sum(told["tally"]["expiring"].values())
        assert 0 == told["unfinished"]

    @pytest.mark.parametrize("arguments", [["expirin"], ["--state", "."]], ids=["mode", "folder"])
    def test_bad_input(self, capsys: Capture, arguments: list[str]) -> None:
        """An unknown mode and a folder exit 2 with one line."""
        code = main(["mutate", *arguments])
        out, err = capsys.readouterr()

        assert (2, "", 1) == (code, out, err.count("\n"))


class TestPage:
    """docs/mutation.md"""

    PAGE = (DOCS / "mutation.md").read_text(encoding="utf-8")

    def test_operators(self) -> None:
        """The page lists each operator, what it does, and how many mutants it makes."""
        for name, says in (OPERATORS | WAYS).items():
            rules, others = OF_OPERATORS.get(name, 0), OF_WAYS.get(name, 0)
            assert f"| `{name}` | {says} | {rules:,} | {others:,} |" in self.PAGE

    def test_counts(self) -> None:
        """The page says how many mutants and runs there are."""
        assert f"{len(lines.runs()):,} runs" in self.PAGE
        assert f"{sum(OF_PLACES.values()):,} mutants" in self.PAGE

    def test_figures(self) -> None:
        """Each figure on the page is the one that was recorded, before the present specification.

        The campaign has not been repeated, so no figure is compared with the present mutants.
        """
        assert "was run before the present specification and has not been repeated" in self.PAGE
        found = recorded()
        every: Counter[str] = Counter()
        for mode, fates in found.tally.items():
            every.update(fates)
            assert 1 == self.PAGE.count(_row(mode, fates))
        assert 1 == self.PAGE.count(_row("all", every))
        reasons = sum(every[check] for check in CHECKS if check != "pins")
        total, pins, same = every.total(), every["pins"], every["equivalent"]
        assert (
            f"Of its {total:,} mutants {reasons:,} were killed for a reason, {pins:,} only because "
            f"a pinned verdict was another one, {same:,} were shown to be no change, and "
            f"{every['survived']:,} survived."
        ) in self.PAGE
        assert (
            f"of the {pins:,} of the last campaign it is known only that they change a verdict"
            in self.PAGE
        )
        assert 0 == every["unknown"]
        for check in CHECKS:
            assert f" | {every[check]:,} | {found.alone[check]:,} |\n" in self.PAGE
        for number in found.equivalent.values():
            assert f" | {number:,} |\n" in self.PAGE
        assert every["equivalent"] == sum(found.equivalent.values())

    def test_survivors(self) -> None:
        """Each survivor is on the page, by name; no rule of an obligation has one."""
        found = recorded()
        counts = {place: fates["survived"] for place, fates in found.tally.items()}
        left = {place: len(found.survivors.get(place, ())) for place in found.tally}

        assert counts == left
        assert not set(Mode) & set(found.survivors)
        for place, names in found.survivors.items():
            assert f"**{place}**, {len(names):,}: " in self.PAGE
            assert "; ".join(grouped(names)) in self.PAGE


def _row(name: str, fates: Mapping[str, int]) -> str:
    columns = (*CHECKS, "equivalent", "survived")
    counts = (sum(fates.values()), *(fates.get(column, 0) for column in columns))
    return f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |\n"
