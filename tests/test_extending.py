"""The recipes of docs/extending.md: a toy of each is added to a copy of the tree, and works."""

import filecmp
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TOYS = Path(__file__).parent / "toys"
TRACES = TOYS / "traces"
PACKAGES = ("spec", "monitor", "models", "proofs", "runtime_hooks")
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = dict[str, str](re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))

Edit = Callable[[str], str]


def files_of(title: str) -> list[str]:
    """The files that a recipe lists."""
    return re.findall(r"^\* `([^`]+)`:", SECTIONS[title], re.M)


def commands_of(title: str) -> list[str]:
    """The commands that a recipe shows, in their order; a comment states an exit code but 0."""
    blocks = re.findall(r"```console\n(.*?)```", SECTIONS[title], re.S)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def toy(name: str) -> Edit:
    """A new file, as it lies among the toys."""
    text = (TOYS / name).read_text(encoding="utf-8")
    return lambda _: text


def before(line: str, more: str, times: int = 1) -> Edit:
    """Lines to stand before each of the `times` places where a line stands."""

    def edit(text: str) -> str:
        assert times == text.count(line)
        return text.replace(line, more + line)

    return edit


@dataclass(frozen=True)
class Toy:
    """A toy for one recipe: what to write into each file it lists, and the names it stands for.

    `on` is the toy of another recipe that it is added to.
    """

    title: str
    edits: dict[str, Edit]
    names: dict[str, str]
    on: "Toy | None" = None

    def named(self, text: str) -> str:
        """A text of the page with the toy's names in place of those in capitals."""
        for name, stands in self.names.items():
            text = re.sub(rf"\b{name}\b", stands, text)
        return text

    @property
    def listed(self) -> list[tuple[str, Edit]]:
        """Each file that the recipes list, by its name in the tree, with what to write into it."""
        own = [(self.named(name), self.edits[name]) for name in files_of(self.title)]
        return [*(self.on.listed if self.on else []), *own]


WARNED = """\
    CLAIM_WARNED = Row(
        "claim_warned",
        _REPORT,
        "the runtime reports that the claim may be lost soon",
        _MUST,
        fields="held",
    )
"""

OBLIGATION = Toy(
    "An obligation",
    {
        "spec/contract/obligations/NAME.py": toy("block_notice.py"),
        "spec/contract/obligations/__init__.py": before(
            "    ends,\n", "    block_notice,\n", times=2
        ),
    },
    {
        "NAME": "block_notice",
        "MODE": "expiring",
        "KEPT.jsonl": str(TRACES / "notice_kept.jsonl"),
        "BROKEN.jsonl": str(TRACES / "notice_broken.jsonl"),
    },
)
KIND = Toy(
    "A kind of event",
    {"spec/events/kinds.py": before("    # Reports about active work", WARNED)},
    {
        "MODE": "best_effort",
        "KEPT.jsonl": str(TRACES / "warned_kept.jsonl"),
        "BAD.jsonl": str(TRACES / "warned_bad.jsonl"),
    },
)
DIALECT = Toy(
    "A dialect",
    {
        "monitor/input/dialects/NAME.py": toy("terse.py"),
        "monitor/input/dialects/__init__.py": before(
            '    "canonical": "a trace",\n', '    "terse": "a terse trace",\n'
        ),
    },
    {
        "NAME": "terse",
        "MODE": "demotable",
        "KEPT.jsonl": str(TRACES / "terse_kept.jsonl"),
        "BROKEN.jsonl": str(TRACES / "terse_broken.jsonl"),
        "BAD.jsonl": str(TRACES / "terse_bad.jsonl"),
    },
)
RUNTIME = Toy(
    "A runtime",
    {"models/descriptors/NAME.yaml": toy("toy_runtime.yaml")},
    {"NAME": "toy_runtime"},
)
MODEL = Toy(
    "A model of a runtime",
    {
        "models/runtimes/NAME.py": toy("toy_cache.py"),
        "models/registry.py": before('    "micro": None,\n', '    "toy_cache": None,\n'),
    },
    {"NAME": "toy_cache", "TRACE": "build/toy"},
)
INFERRED = """

INFERENCES = (
    Inference(
        "pin of the toy -> hard_protected",
        "pin",
        Mode.HARD_PROTECTED,
        Shim(Mode.HARD_PROTECTED, frozenset({"pin"})),
        ToyCache,
        "a",
        premises=("pin",),
    ),
)
"""
IMPORTED = """\
from models.framework.inference import Inference
from models.framework.shims import Shim
from spec.claims.states import Mode
"""
ALPHABET = "from spec.events.alphabet import Kind\n"
INFERENCE = Toy(
    "A naive inference",
    {"models/runtimes/NAME.py": lambda text: before(ALPHABET, IMPORTED)(text) + INFERRED},
    {"NAME": "toy_cache", "MODE": "hard_protected"},
    on=MODEL,
)
EACH = (OBLIGATION, KIND, DIALECT, RUNTIME, MODEL, INFERENCE)


class Copy:
    """The packages and pages of the tree in another folder, with one toy added."""

    def __init__(self, folder: Path, added: Toy) -> None:
        self.folder, self.added = folder, added
        skipped = shutil.ignore_patterns("__pycache__", "*.pyc")
        for name in (*PACKAGES, "docs"):
            shutil.copytree(ROOT / name, folder / name, ignore=skipped)
        shutil.copy(ROOT / "pyproject.toml", folder)
        (folder / "build").mkdir()
        for name, edit in added.listed:
            file = folder / name
            text = file.read_text(encoding="utf-8") if file.exists() else ""
            file.write_text(edit(text), encoding="utf-8")

    def touched(self, *tops: str) -> set[str]:
        """The files that are not as they are in the tree."""
        return {
            name
            for top in tops
            for file in (self.folder / top).rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
            if not _same(ROOT / (name := file.relative_to(self.folder).as_posix()), file)
        }

    def run(self, command: str, *more: str) -> subprocess.CompletedProcess[str]:
        """What one command of the recipe does, in the copy."""
        python, *arguments = shlex.split(self.added.named(command), comments=True)
        assert "python" == python
        return subprocess.run(
            [sys.executable, *arguments, *more],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )

    def told(self, command: str) -> dict[str, Any]:
        """What one command says to programs."""
        found: dict[str, Any] = json.loads(self.run(command, "--format", "json").stdout)
        return found


def _same(one: Path, other: Path) -> bool:
    return one.exists() and filecmp.cmp(one, other, shallow=False)


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Toy], Copy]:
    """The copy with a toy in it, made once."""
    made: dict[str, Copy] = {}

    def copy(added: Toy) -> Copy:
        if added.title not in made:
            made[added.title] = Copy(tmp_path_factory.mktemp("tree"), added)
        return made[added.title]

    return copy


class TestPage:
    """What the page lists."""

    def test_recipes(self) -> None:
        """There is a recipe for each toy, and one for a version of vLLM."""
        assert [*(each.title for each in EACH), "A vLLM version"] == list(SECTIONS)

    @pytest.mark.parametrize("title", SECTIONS)
    def test_files_exist(self, title: str) -> None:
        """Each file that it names is in the tree; of a new one, the folder and one like it."""
        named = re.findall(r"`((?:spec|monitor|proofs|models|tests|runtime_hooks)/[\w./]+)`", PAGE)
        for name in [*named, *files_of(title)]:
            file = ROOT / name
            others = list(file.parent.glob(f"*{file.suffix}"))
            assert others if "NAME" in name else file.exists(), name

    @pytest.mark.parametrize("added", EACH, ids=lambda each: each.title)
    def test_lists(self, added: Toy) -> None:
        """The toy is written into the files that the recipe lists, and into no other."""
        assert sorted(added.edits) == sorted(files_of(added.title))


@pytest.mark.slow
class TestToys:
    """Each toy in its copy."""

    @pytest.mark.parametrize("added", EACH, ids=lambda each: each.title)
    def test_touched(self, added: Toy, copies: Callable[[Toy], Copy]) -> None:
        """Exactly the files of the list are touched; the commands write pages and nothing else."""
        copy = copies(added)
        assert {name for name, _ in added.listed} == copy.touched(*PACKAGES)

    @pytest.mark.parametrize("added", EACH, ids=lambda each: each.title)
    def test_commands(self, added: Toy, copies: Callable[[Toy], Copy]) -> None:
        """Each command of the recipe exits as it should: 1 of what is broken, 2 of bad input."""
        copy, codes = copies(added), {"BROKEN.jsonl": 1, "BAD.jsonl": 2, "# exits 1": 1}
        for command in commands_of(added.title):
            code = next((code for name, code in codes.items() if name in command), 0)
            done = copy.run(command)
            assert code == done.returncode, f"{command}: {done.stdout}{done.stderr}"
            assert "Traceback" not in done.stderr
        assert {name for name, _ in added.listed} == copy.touched(*PACKAGES)

    def test_obligation(self, copies: Callable[[Toy], Copy]) -> None:
        """It is kept, violated where the notice is missing, and no clause of the theorem needs it.

        The theorem is proved with it, somebody can always keep it, the story of its mode exercises
        it, and each of its states and rules is reached.
        """
        copy = copies(OBLIGATION)
        kept, broken = (
            copy.told(f"python -m monitor check {name}.jsonl --mode MODE")
            for name in ("KEPT", "BROKEN")
        )
        (check,) = copy.told("python -m proofs check MODE --full")["checks"]
        shown = copy.told("python -m spec show NAME")

        assert ("kept", "satisfied") == (kept["verdict"], kept["obligations"]["block_notice"])
        assert ["block_notice"] == [
            name for name, verdict in broken["obligations"].items() if verdict == "violated"
        ]
        assert ("proved", "proved") == (check["sound"]["result"], check["receptive"]["result"])
        assert "tell the lost blocks" in check["receptive"]["moves"]
        assert "redundant" == check["necessary"]["block_notice"]["result"]
        assert ["block_notice"] == list(check["redundancy"]["known"])
        assert {"found"} == {each["result"] for each in check["consistent"]["tales"]}
        assert [] == check["consistent"]["reached"]["missing"]
        assert "block_notice" == shown["name"]

    def test_tests(self, copies: Callable[[Toy], Copy]) -> None:
        """Of the tests of the contract and of the relation those fail that the page names."""
        copy, tests = (
            copies(OBLIGATION),
            ("tests/spec/contract", "tests/spec/lowering/test_relation.py"),
        )
        shutil.copytree(ROOT / "tests", copy.folder / "tests", dirs_exist_ok=True)
        done = copy.run(f"python -m pytest -q -p no:cacheprovider -m 'not slow' {' '.join(tests)}")
        failed = set(re.findall(r"^FAILED (\S+?)::\w+::(\w+)", done.stdout, re.M))
        (row,) = re.findall(r"^\| sizes of bundles and counts .*$", PAGE, re.M)
        assert {test for _, test in failed} <= set(re.findall(r"`(test_\w+)`", row)), done.stdout
        assert {file for file, _ in failed} <= set(re.findall(r"`(tests/[\w/]+\.py)`", row))
        assert "test_sizes" in {test for _, test in failed}

    @pytest.mark.deep
    def test_without_its_answer(self, copies: Callable[[Toy], Copy], tmp_path: Path) -> None:
        """A pending state that nothing answers is found: the theorem of receptiveness fails."""
        text = (TOYS / "block_notice.py").read_text(encoding="utf-8")
        dumb = re.sub(r"        answers=\(.*?\n        \),\n", "", text, flags=re.S)
        assert dumb != text
        edits = {**OBLIGATION.edits, "spec/contract/obligations/NAME.py": lambda _: dumb}
        copy = Copy(tmp_path / "tree", Toy(OBLIGATION.title, edits, OBLIGATION.names))
        (check,) = copy.told("python -m proofs check MODE --full")["checks"]

        assert "refuted" == check["receptive"]["result"]
        assert "strategy: there is a move" in check["receptive"]["failed"]

    def test_kind(self, copies: Callable[[Toy], Copy]) -> None:
        """It is in the theorem's environment, on the page, and concerns the claim it names."""
        copy = copies(KIND)
        kept = copy.told("python -m monitor check KEPT.jsonl --mode MODE")
        (check,) = copy.told("python -m proofs check MODE --full")["checks"]
        nobody = copy.run("python -m monitor check BAD.jsonl --mode MODE")
        assert 0 == copy.run("python -m spec docs").returncode

        assert ("kept", 4) == (kept["verdict"], kept["events"]["read"])
        assert "claim_warned" in check["world"]
        assert ("proved", "proved") == (check["sound"]["result"], check["receptive"]["result"])
        assert "claim_warned names no claim" in nobody.stderr
        assert "`claim_warned`" in (copy.folder / "docs" / "events.md").read_text("utf-8")

    def test_dialect(self, copies: Callable[[Toy], Copy]) -> None:
        """Its lines are judged by what they stand for, and a strange field is named."""
        copy = copies(DIALECT)
        kept, broken = (
            copy.told(f"python -m monitor check {name}.jsonl --mode MODE")
            for name in ("KEPT", "BROKEN")
        )
        bad = copy.run("python -m monitor check BAD.jsonl --mode MODE")

        assert ("kept", "violated") == (kept["verdict"], broken["verdict"])
        assert "not kept: claim_demoted_before_loss" == broken["why"]
        assert "colour: no such field" in bad.stderr

    def test_runtime(self, copies: Callable[[Toy], Copy]) -> None:
        """It has a row for each mode, none of them positive."""
        rows = copies(RUNTIME).told("python -m proofs lower NAME")

        assert "toy_runtime" in json.dumps(rows)
        assert not re.search(r'"(native_sound|sound_with_adapter)"', json.dumps(rows["rows"]))

    def test_model(self, copies: Callable[[Toy], Copy]) -> None:
        """Its states are counted, its runs are its own, and the page of models has it."""
        copy = copies(MODEL)
        shown = copy.told("python -m models show NAME")
        assert 0 == copy.run("python -m models walk NAME -o TRACE.jsonl").returncode
        found = copy.told("python -m proofs accepts NAME TRACE.jsonl")
        assert 0 == copy.run("python -m models docs").returncode

        assert (7, 8) == (shown["states"], shown["transitions"])
        assert "accepted" == found["verdict"]
        assert "## toy_cache\n" in (copy.folder / "docs" / "models.md").read_text("utf-8")

    def test_inference(self, copies: Callable[[Toy], Copy]) -> None:
        """It is refuted by the run in which the pinned block is evicted, and by no hand."""
        copy = copies(INFERENCE)
        (check,) = copy.told("python -m proofs check MODE --runtime NAME")["checks"]
        (row,) = copy.told("python -m proofs counterexamples --runtime NAME")["rows"]

        answers = {each["obligation"]: each for each in check["obligations"]}
        victim = answers["victim_exclusion_before_violation"]
        assert "broken" == victim["answer"]
        *_, last = victim["run"]
        assert "serve(r2)" == last
        assert {"arrive(r1)", "serve(r1)", "pin(a)", "arrive(r2)", last} == {*victim["run"]}
        assert "pin of the toy -> hard_protected" == row["inference"] == check["inference"]
        assert "violated" == row["verdict"]
        assert "victim_exclusion_before_violation" in row["broken"]
