"""Tests of spec.installed, and of what each package does where it cannot work."""

from __future__ import annotations

import ast
import shutil
import tomllib
from pathlib import Path

import pytest

from monitor.native import core
from spec.cli.console import COMMANDS
from spec.installed import EXTRAS, NEEDS, fault_of
from tests.installation import CORE, ROOT, WHEEL, call, environment, without

STRANGER = 'raise SystemExit("a stranger ran")\n'
SAMPLE = str(ROOT / "monitor" / "samples" / "offloadable_restore.jsonl")
CHECK = ("-m", "monitor", "check", SAMPLE, "--mode", "offloadable")
LABEL = ("-m", "proofs", "lower", "vllm_upstream", "--mode", "offloadable")
DOCTOR = ("-m", "runtime_hooks", "doctor")
PLUGIN = "import logging, runtime_hooks.entry as e; e.register(); print('the engine runs')"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def imported(package: str) -> set[str]:
    """The top-level names that the modules of a package import, wherever in a module."""
    names = set()
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names


def strange(folder: Path, path: str) -> Path:
    """A folder with a stranger's module in it."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(STRANGER)
    return folder


class TestNeeds:
    """What a package imports of the others."""

    @pytest.mark.slow
    @pytest.mark.parametrize("package", NEEDS)
    def test_needs(self, package: str) -> None:
        """NEEDS names exactly the packages that its modules import."""
        assert set(NEEDS[package]) == (imported(package) & NEEDS.keys()) - {package}

    @pytest.mark.parametrize("package", NEEDS)
    def test_none(self, package: str) -> None:
        """Nothing is wrong here."""
        assert fault_of(package) is None


class TestShadowed:
    """A package of the same name lies in the working folder."""

    @pytest.mark.parametrize(
        ("path", "command"),
        [
            ("models/__init__.py", LABEL),
            ("models.py", LABEL),
            ("monitor.py", LABEL),
            ("monitor/__init__.py", DOCTOR),
            ("spec/__init__.py", LABEL),
            ("spec/__init__.py", CHECK),
            ("spec.py", DOCTOR),
        ],
    )
    def test_module(self, path: str, command: tuple[str, ...], tmp_path: Path) -> None:
        """`python -m` says which path shadows us, in one line, and exits with 70."""
        done = call(*command, cwd=strange(tmp_path, path))
        name = path.removesuffix(".py").removesuffix("/__init__")
        assert (70, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))
        assert f"error: {tmp_path / path} is imported as {name}, and shadows" in done.stderr
        assert "or as the command resident-claims" in done.stderr

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("path", "command"),
        [
            ("models/__init__.py", CHECK),
            ("proofs.py", CHECK),
            ("monitor.py", ("-m", "spec", "list")),
        ],
    )
    def test_not_needed(self, path: str, command: tuple[str, ...], tmp_path: Path) -> None:
        """What a package does not import may have any name."""
        assert 0 == call(*command, cwd=strange(tmp_path, path)).returncode

    def test_data_folder(self, tmp_path: Path) -> None:
        """A folder of files that are no Python shadows nothing."""
        for name in NEEDS:
            (tmp_path / name).mkdir()
        assert 0 == call(*LABEL, cwd=tmp_path).returncode

    def test_script(self, tmp_path: Path) -> None:
        """The command `resident-claims` does not look into the working folder."""
        for path in ("models.py", "monitor.py", "spec/__init__.py", "proofs/__init__.py"):
            strange(tmp_path, path)
        words = ("label", "vllm_upstream", "--mode", "offloadable")
        done = call("resident-claims", *words, cwd=tmp_path)
        assert 0 == done.returncode, done.stderr
        assert "vllm_upstream" in done.stdout

    def test_script_on_path(self, tmp_path: Path) -> None:
        """Where the stranger is on Python's path, `resident-claims` exits with 70."""
        env = environment(strange(tmp_path, "models.py"))
        done = call("resident-claims", "label", "--all", cwd=tmp_path, env=env)
        assert (70, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))
        assert f"error: {tmp_path / 'models.py'} is imported as models" in done.stderr
        assert "PYTHONPATH" in done.stderr

    def test_library(self, tmp_path: Path) -> None:
        """Another program gets an ImportError with the same words, and may go on."""
        code = "try: import proofs\nexcept ImportError as error: print(error)"
        done = call("-c", code, cwd=strange(tmp_path, "models.py"))
        assert 0 == done.returncode, done.stderr
        assert done.stdout.startswith(f"{tmp_path / 'models.py'} is imported as models")

    def test_overwritten(self, tmp_path: Path) -> None:
        """A package that another installation wrote over ours is noticed too."""
        for name in NEEDS:
            shutil.copytree(ROOT / name, tmp_path / name)
        strange(tmp_path, "models/__init__.py")
        done = call(*LABEL, cwd=tmp_path)
        assert (70, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))
        assert "models/__init__.py was written by another package called models" in done.stderr


class TestPlugin:
    """The plugin where it cannot work."""

    @pytest.mark.parametrize("path", ["monitor.py", "spec/__init__.py"])
    def test_shadowed(self, path: str, tmp_path: Path) -> None:
        """The engine runs, and the log says why the plugin is off, without a traceback."""
        env = {**environment(), "RESIDENT_CLAIMS": "1"}
        done = call("-c", PLUGIN, cwd=strange(tmp_path, path), env=env)
        assert (0, "the engine runs\n") == (done.returncode, done.stdout)
        assert f"resident-claims is not armed: {tmp_path / path} is imported as" in done.stderr
        assert 1 == done.stderr.count("\n")

    def test_off(self, tmp_path: Path) -> None:
        """A plugin that is off says nothing."""
        done = call("-c", PLUGIN, cwd=strange(tmp_path, "monitor.py"))
        assert (0, "the engine runs\n", "") == (done.returncode, done.stdout, done.stderr)

    def test_dependency(self, tmp_path: Path) -> None:
        """A dependency that is missing is logged, and the engine runs."""
        env = {**environment(without(tmp_path, "msgspec")), "RESIDENT_CLAIMS": "1"}
        done = call("-c", PLUGIN, cwd=tmp_path, env=env)
        assert (0, "the engine runs\n") == (done.returncode, done.stdout)
        assert "resident-claims is not armed: ModuleNotFoundError: " in done.stderr
        assert "msgspec" in done.stderr
        assert 1 == done.stderr.count("\n")


class TestExtras:
    """Without the solvers and what draws."""

    @pytest.fixture
    def env(self, tmp_path: Path) -> dict[str, str]:
        """An environment that has none of the extras."""
        return environment(without(tmp_path, "z3", "cvc5", "graphviz"))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "command",
        [
            CHECK,
            ("-m", "monitor", "evidence", SAMPLE, "--mode", "offloadable"),
            ("resident-claims", "check", SAMPLE, "--mode", "offloadable"),
            ("resident-claims", "--help"),
            ("-m", "spec", "diagram", "lifecycle"),
            ("-m", "spec", "docs", "--check", "--dir", str(ROOT / "docs")),
            ("-c", "import models.catalog as c; print(c.descriptor('vllm_upstream').name)"),
            ("-c", "import runtime_hooks.claims, runtime_hooks.plugin.arming; print('on')"),
        ],
    )
    def test_core(self, command: tuple[str, ...], tmp_path: Path, env: dict[str, str]) -> None:
        """What judges, shows and serves works."""
        done = call(*command, cwd=tmp_path, env=env)
        assert 0 == done.returncode, done.stderr
        assert done.stdout

    @pytest.mark.parametrize(
        "command", [LABEL, ("-m", "proofs"), *(("resident-claims", c) for c in ("prove", "label"))]
    )
    def test_proofs(self, command: tuple[str, ...], tmp_path: Path, env: dict[str, str]) -> None:
        """A command that needs the solver names its extra, and exits with 2."""
        done = call(*command, cwd=tmp_path, env=env)
        assert (2, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))
        assert "error: proofs needs z3-solver, which is not installed" in done.stderr
        assert "in a checkout, pip install '.[proofs]'" in done.stderr

    def test_complete(self, tmp_path: Path, env: dict[str, str]) -> None:
        """Nothing is completed of a command whose extra is missing, and nothing is stated."""
        words = {"COMP_WORDS": "resident-claims prove --eng", "COMP_CWORD": "2"}
        asked = {**env, **words, "_RESIDENT_CLAIMS_COMPLETE": "complete_bash"}
        done = call("resident-claims", cwd=tmp_path, env=asked)
        assert "prove" not in done.stdout
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("suffix", ["svg", "png", "dot"])
    def test_diagrams(self, suffix: str, tmp_path: Path, env: dict[str, str]) -> None:
        """A picture needs what draws, and the error names its extra."""
        words = ("-m", "spec", "diagram", "lifecycle", "-o", f"a.{suffix}")
        done = call(*words, cwd=tmp_path, env=env)
        assert (2, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))
        assert "pip install '.[diagrams]'" in done.stderr


class TestDeclared:
    """What pyproject.toml and the locks say."""

    MODULES = {"pyyaml": "yaml", "z3-solver": "z3"}  # noqa: RUF012
    ENGINE = {"vllm", "torch", "fastapi"}  # noqa: RUF012 - what the adapters hook is there, or not

    def names(self, lines: list[str]) -> set[str]:
        """The distributions that requirements name."""
        return {line.split(">")[0].split("=")[0].lower().replace("_", "-") for line in lines}

    def test_core(self) -> None:
        """The dependencies are what the packages beside an engine import, no more and no less."""
        core = {self.MODULES.get(n, n) for n in self.names(PROJECT["dependencies"])}
        drawn = {"graphviz"}
        known = core | drawn | self.ENGINE
        used = set().union(*map(imported, ("spec", "monitor", "models", "runtime_hooks")))
        assert core | drawn == used & known - self.ENGINE
        assert {"z3", "cvc5"}.isdisjoint(used)

    def test_extras(self) -> None:
        """Each extra that a package needs is declared, and has the distribution it is named for."""
        extras = PROJECT["optional-dependencies"]
        for extra in EXTRAS.values():
            assert {extra.distribution} == self.names(extras[extra.name])
        (every,) = extras["all"]
        named = every.removeprefix("resident-claims[").removesuffix("]").split(",")
        assert extras.keys() - {"all", "test", "bench", "fleet", "fuzz"} == set(named)

    @pytest.mark.parametrize("lock", sorted(path.name for path in ROOT.glob("requirements*.lock")))
    def test_locks(self, lock: str) -> None:
        """All locks hold every dependency, and only the project's own holds the extras."""
        extras = PROJECT["optional-dependencies"]
        optional = self.names(
            [
                n
                for e in extras.keys() - {"all", "test", "bench", "fleet", "fuzz"}
                for n in extras[e]
            ]
        )
        lines = (ROOT / lock).read_text().splitlines()
        held = self.names([line for line in lines if line[:1].isalpha()])
        assert self.names(PROJECT["dependencies"]) <= held
        of_vllm = {"jinja2", "prometheus-client", "pyzmq", "tokenizers"}  # vLLM depends on them
        of_vllm |= {"starlette", "uvicorn"}  # and so do its API servers
        of_vllm |= {"xxhash"}  # vLLM hashes by it, where it is asked to
        assert (optional if lock == "requirements.lock" else of_vllm) == optional & held


class TestWheel:
    """What `make test-wheel` installed."""

    @pytest.mark.skipif(not WHEEL, reason="make test-wheel names the environment of a wheel")
    def test_judge(self, tmp_path: Path) -> None:
        """The wheel has the native core where the tree has it."""
        assert f"{core()} judge" in call("resident-claims", "--version", cwd=tmp_path).stdout

    @pytest.mark.skipif(not WHEEL, reason="make test-wheel names the environment of a wheel")
    def test_origin(self, tmp_path: Path) -> None:
        """The commands run what the wheel brought, and nothing of the tree."""
        code = f"import {', '.join(NEEDS)}; print(*(p.__file__ for p in ({', '.join(NEEDS)})))"
        files = call("-c", code, cwd=tmp_path).stdout.split()
        assert len(NEEDS) == len(files)
        assert all("site-packages" in Path(file).parts for file in files)
        assert not any(Path(file).is_relative_to(ROOT / name) for file in files for name in NEEDS)

    @pytest.mark.skipif(not WHEEL, reason="make test-wheel names the environment of a wheel")
    @pytest.mark.parametrize("name", COMMANDS)
    def test_commands(self, name: str, tmp_path: Path) -> None:
        """Each command of `resident-claims` is there."""
        done = call("resident-claims", name, "--help", cwd=tmp_path)
        assert 0 == done.returncode, done.stderr
        assert done.stdout.startswith(f"Usage: resident-claims {name} ")

    @pytest.mark.skipif(not CORE, reason="make test-wheel names the environment of a wheel")
    @pytest.mark.parametrize(
        ("code", "command"),
        [
            (0, ("resident-claims", "check", SAMPLE, "--mode", "offloadable")),
            (0, CHECK),
            (0, ("resident-claims", "spec", "diagram", "lifecycle")),
            (2, ("resident-claims", "spec", "diagram", "lifecycle", "--format", "svg")),
            (2, ("resident-claims", "doctor")),
            (2, ("resident-claims", "label", "--all")),
            (2, LABEL),
        ],
    )
    def test_core(self, code: int, command: tuple[str, ...], tmp_path: Path) -> None:
        """Without extras it judges and draws text, and names the extra of what it lacks."""
        done = call(*command, cwd=tmp_path, python=CORE)
        assert code == done.returncode, done.stderr
        asks = code == 2 and "doctor" not in command
        assert asks == ("resident-claims with its extra" in done.stderr)
        assert "Traceback" not in done.stderr
