"""Tests of the estimate of what is left for a cache."""

from pathlib import Path
from typing import Any

import pytest

from models.budget.estimate import estimated, weights_in
from models.budget.layers import Options
from spec.language.errors import SpecError
from tests.models.budget.configs import config_of

GIB = 1 << 30
SIZES = {"intermediate_size": 14336, "vocab_size": 128256}
MEASURED = {"weights": 14.99, "activations": 1.01, "cache": 10.55}
"""What vLLM measured of Llama 3.1 8B on a GPU of 31.34 GiB at 0.85, in GiB (execution note)."""


def test_measured(tmp_path: Path) -> None:
    """What vLLM measured once is in the range of each part."""
    found = estimated(config_of(tmp_path, **SIZES), Options(), int(31.34 * GIB), 0.85, None)
    for part, measured in MEASURED.items():
        range_ = getattr(found, part)
        assert range_.least <= measured * GIB <= range_.most


def test_ranks(tmp_path: Path) -> None:
    """Ranks share the weights, and take memory to talk to each other."""
    config = config_of(tmp_path, **SIZES)
    one, two = (
        estimated(config, Options(tensor_parallel=n), 80 * GIB, 0.9, 10 * GIB) for n in (1, 2)
    )
    assert (10 * GIB, 5 * GIB) == (one.weights.least, two.weights.least)
    assert GIB == two.other.most - one.other.most


def test_files(tmp_path: Path) -> None:
    """The checkpoint in a folder has the bytes of its safetensors; a file is no folder."""
    assert weights_in(tmp_path) is None
    for name, size in (("a.safetensors", 5), ("b.safetensors", 6), ("c.bin", 7)):
        (tmp_path / name).write_bytes(b"0" * size)
    assert 11 == weights_in(tmp_path)
    assert weights_in(tmp_path / "a.safetensors") is None
    (tmp_path / "model-00001-of-00001.safetensors").write_bytes(bytes(11))
    assert 11 == weights_in(tmp_path)  # as Mistral publishes: the others have the same weights


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"model_type": "qwen3_moe"}, "give --weights"),
        ({"quantization_config": {"quant_method": "fp8"}}, "give --weights"),
        ({"vocab_size": None}, "vocab_size is missing"),
        ({"num_hidden_layers": 2000}, "the weights alone take"),
    ],
)
def test_refused(more: dict[str, Any], says: str, tmp_path: Path) -> None:
    """Weights that are not counted by the config, or do not fit, are said so."""
    with pytest.raises(SpecError, match=says):
        estimated(config_of(tmp_path, **{**SIZES, **more}), Options(), 31 * GIB, 0.85, None)
