"""`doctor -- MODEL FLAGS...` answers for a configuration of a real vLLM, and agrees with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runtime_hooks.demo.tiny import DTYPE, MEMORY_FLAGS, model_folder
from runtime_hooks.engines import adapter_of, installed
from tests_vllm.conftest import LONG_S

USUAL = f"--dtype {DTYPE} --skip-tokenizer-init --load-format dummy --enforce-eager"
SIZES = f"{MEMORY_FLAGS} --num-gpu-blocks-override 81 --block-size 32 --max-model-len 2560"


def doctor(folder: Path, *flags: str, load: bool = False, **settings: Any) -> tuple[int, Any, str]:
    """The exit code, the diagnosis, and the complaint."""
    given = folder / "settings.json"
    given.write_text(json.dumps({"trace": f"{folder}/{{pid}}.trace", **settings}))
    command = [sys.executable, "-m", "runtime_hooks", "doctor", "--format", "json"]
    command += ["--load"] * load
    command += ["--", str(model_folder(folder / "model")), *USUAL.split(), *SIZES.split(), *flags]
    environment = {**os.environ, "RESIDENT_CLAIMS": str(given)}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=LONG_S, check=False
    )
    return done.returncode, json.loads(done.stdout or "null"), done.stderr


def test_fits(tmp_path: Path) -> None:
    """Without the model loaded it names what is not known; loaded, nothing is left, and the blocks
    are counted. No trace is left behind."""
    code, found, _ = doctor(tmp_path, "--shutdown-timeout", "10")
    assert (0, True) == (code, found["armed"])
    asked = found["configuration"]
    adapter: Any = adapter_of(installed())[0]
    assert ("", [*adapter.loaded], None) == (asked["why"], asked["unknown"], asked["usable"])
    code, found, _ = doctor(tmp_path, load=True)
    assert (0, [], 80) == (
        code,
        found["configuration"]["unknown"],
        found["configuration"]["usable"],
    )
    assert [] == list(tmp_path.glob("*.trace"))


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ("--no-enable-prefix-caching", "prefix caching is off"),
        pytest.param(
            "--data-parallel-size 2 --kv-transfer-config "
            '{"kv_connector":"OffloadingConnector","kv_role":"kv_both"}',
            "data_parallel_size is 2, and an offload tier",
            marks=pytest.mark.deep,
        ),
        pytest.param(
            "--scheduler-cls tests_vllm.test_starts.Own",
            "the scheduler is tests_vllm",
            marks=pytest.mark.deep,
        ),
    ],
)
def test_unfit(tmp_path: Path, flags: str, why: str) -> None:
    """What the plugin would refuse at the start is refused before it."""
    code, found, said = doctor(tmp_path, *flags.split())
    assert found is not None, said
    assert (2, False) == (code, found["armed"])
    assert why in found["why"]


def test_wrong(tmp_path: Path) -> None:
    """Flags that vLLM does not take are bad input, in one line."""
    code, _, said = doctor(tmp_path, "--nonsense", "3")
    (line,) = [line for line in said.splitlines() if line.startswith("error: ")]
    assert 2 == code
    assert "vLLM does not take these flags: unrecognized arguments: --nonsense 3" in line
    assert "Traceback" not in said
