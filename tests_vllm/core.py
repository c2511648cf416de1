"""Runs vLLM's own tests of its core with the plugin armed, off and without it.

`python -m tests_vllm.core FOLDER`, with the Python of an environment that has vLLM, the plugin and
pytest. FOLDER has the tests of the same version of vLLM (`make test-vllm-core` unpacks them). The
same tests must pass in the three ways: the exit code is 1 where they do not, and 2 where a
session shows nothing, because the plugin was not in the state that it had to be in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

TESTS = "tests/v1/core"
SESSION = Path(__file__).with_name("core_session.py")
MODELS = {
    "facebook/opt-125m": {
        "architectures": ["OPTForCausalLM"],
        "model_type": "opt",
        "hidden_size": 768,
        "word_embed_proj_dim": 768,
        "ffn_dim": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "vocab_size": 50272,
        "max_position_embeddings": 2048,
        "torch_dtype": "float16",
    },
    "Qwen/Qwen3-0.6B": {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "max_position_embeddings": 40960,
        "torch_dtype": "bfloat16",
    },
}
"""The configurations of two models: most tests read one from the hub, and need no weights."""
WAYS = {
    "without": {"VLLM_PLUGINS": "", "RESIDENT_CLAIMS": "0"},
    "off": {"RESIDENT_CLAIMS": "0"},
    "armed": {"RESIDENT_CLAIMS": "armed.settings.json"},
}
"""The environment of each way; where `VLLM_PLUGINS` is empty vLLM loads no plugin."""
COMMON = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "OMP_NUM_THREADS": "1"}


def run(folder: Path, way: str) -> dict[str, Any]:
    """What a session came to, as `tests_vllm.core_session` writes it."""
    report = folder / f"{way}.json"
    report.unlink(missing_ok=True)
    # Their conftest.py wants a GPU and models.
    asked = ("-q", "--noconftest", "--continue-on-collection-errors", "-p", "no:cacheprovider")
    command = [sys.executable, "-P", str(SESSION), str(report), *asked, TESTS]
    env = {**os.environ, **COMMON, **WAYS[way], "PYTHONPATH": str(folder)}
    with (folder / f"{way}.log").open("w") as log:
        subprocess.run(command, cwd=folder, env=env, stdout=log, stderr=log, check=False)
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def main(at: str) -> int:
    """Prepare a folder of tests, and compare the ways."""
    folder = Path(at).resolve()
    for name, config in MODELS.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "config.json").write_text(json.dumps(config))
    with tempfile.TemporaryDirectory() as traces:
        settings = json.dumps({"trace": f"{traces}/{{pid}}.jsonl"})
        (folder / "armed.settings.json").write_text(settings)
        return compare(folder)


def compare(folder: Path) -> int:
    """Run the tests in each way, print what they came to, and return the exit code."""
    found = {}
    for way in WAYS:
        found[way] = run(folder, way)
        counts = Counter(found[way]["outcomes"].values())
        hooks = found[way]["hooked"]
        plugin = "the plugin is not imported" if hooks is None else f"{hooks} schedulers hooked"
        print(f"{way:8}{', '.join(f'{n} {how}' for how, n in sorted(counts.items()))}; {plugin}")
    states = [found[way]["hooked"] for way in WAYS]
    if states[:2] != [None, 0] or not states[2]:
        print("the plugin was not in the state that it had to be in")
        return 2
    bare = found["without"]["outcomes"]
    print("\nThese fail without the plugin:")
    for name in sorted(name for name, how in bare.items() if how == "failed"):
        print(f"  {name}\n    {found['without']['why'].get(name, '')}")
    differ = [
        f"{name}: {bare.get(name)} without, {found[way]['outcomes'].get(name)} {way}"
        for way in ("off", "armed")
        for name in sorted({*bare, *found[way]["outcomes"]})
        if bare.get(name) != found[way]["outcomes"].get(name)
    ]
    print("\n".join(["", *differ]) if differ else "\nThe same tests pass in the three ways.")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
