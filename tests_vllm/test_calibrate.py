"""A tiny real engine is measured, with an offload tier, and the cost file states it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import vllm

from runtime_hooks.demo.tiny import BLOCK, DTYPE, MEMORY, model_folder
from runtime_hooks.engines import installed, package_of
from tests_vllm.conftest import LONG_S

OFFLOADING = {
    "kv_connector": "OffloadingConnector",
    "kv_role": "kv_both",
    "kv_connector_extra_config": {
        "cpu_bytes_to_use": 64 << 20,
        "spec_name": "MemcpyOffloadingSpec",
        "spec_module_path": f"{package_of(installed())}.memcpy",
    },
}


def test_the_cost_file(tmp_path: Path) -> None:
    """Longer prompts and answers take longer, and blocks come back from the tier."""
    engine = {
        "load_format": "dummy",
        "enforce_eager": True,
        "num_gpu_blocks_override": 401,
        "block_size": BLOCK,
        "max_model_len": 200 * BLOCK,
        "dtype": DTYPE,
        "kv_transfer_config": OFFLOADING,
        **MEMORY,
    }
    model, output = model_folder(tmp_path / "model"), tmp_path / "cost.json"
    command = [sys.executable, "-m", "models", "calibrate", "--model", str(model)]
    command += ["-o", str(output), "--engine", json.dumps(engine), "--format", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LONG_S, check=False)
    assert 0 == ran.returncode, ran.stderr
    found = json.loads(output.read_text())
    assert found == json.loads(ran.stdout)
    assert "resident-claims/cost/1" == found["schema"]
    assert f"vllm {vllm.__version__}" == found["measured"]["engine"]
    assert BLOCK == found["measured"]["block"]
    assert [400, 800, 1600, 3200] == [size for size, _ in found["measured"]["prefill"]]
    assert all(found["cost"][name] > 0 for name in ("prefill_tokens_s", "decode_s"))
    assert found["cost"]["load_blocks_s"] > 0
