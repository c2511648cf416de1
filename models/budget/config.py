"""Reads the config.json of a model on Hugging Face, key by key; what is missing is not guessed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from spec.files.json_text import decode_json
from spec.language.errors import SpecError
from spec.lowering.load import read_bounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["DEFAULTS", "WRAPPERS", "Config", "read_config"]

_MOST_BYTES: Final = 1 << 20
_MOST: Final = 1 << 24
"""The largest number that a key may have; those of published models are far below it."""
_MOST_LAYERS: Final = 4096
_NAME: Final = "config.json"
_HUB_ID: Final = re.compile(r"\w[\w.-]{0,95}/\w[\w.-]{0,95}(?<!\.json)")
WRAPPERS: Final = frozenset({"gemma3", "gemma4", "llama4", "mistral3"})
"""Models of more than text, of which the layers in `text_config` are all that have a cache."""

_GEMMA: Final = {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256}
DEFAULTS: Final[Mapping[str, Mapping[str, int | None]]] = {
    "llama": {"sliding_window": None},
    "mistral": {"sliding_window": 4096, "num_key_value_heads": 8},
    "mixtral": {"sliding_window": None, "num_key_value_heads": 8},
    "phi3": {"sliding_window": None},
    "qwen2": {"num_key_value_heads": 32},
    "qwen3": {"num_key_value_heads": 32, "head_dim": 128},
    "gemma2": {**_GEMMA, "sliding_window": 4096},
    "gemma3_text": {**_GEMMA, "sliding_window": 4096},
    "gemma4_text": {**_GEMMA, "sliding_window": 512, "global_head_dim": 512},
    "gpt_oss": {"head_dim": 64, "num_key_value_heads": 8, "sliding_window": 128},
    "llama4_text": {"num_key_value_heads": 8, "head_dim": 128, "attention_chunk_size": 8192},
    "granitemoehybrid": {
        "mamba_n_heads": 128,
        "mamba_n_groups": 1,
        "mamba_d_state": 256,
        "mamba_d_conv": 4,
        "mamba_expand": 2,
    },
    "lfm2": {"num_key_value_heads": 8, "conv_L_cache": 3},
    "qwen3_next": {
        "head_dim": 256,
        "num_key_value_heads": 2,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
    },
}
"""What transformers has for keys that a config of a type leaves out."""


class Config:
    """What a config.json states of the layers of text. `name` is the file's, for messages."""

    def __init__(self, stated: dict[str, Any], name: str, outer: Mapping[str, Any]) -> None:
        self.name, self._outer = name, outer
        kind = stated.get("model_type")
        if not isinstance(kind, str):
            raise SpecError(f"{name}: model_type is missing", "give a model's config.json")
        self.model_type = kind
        self._stated: dict[str, Any] = {**DEFAULTS.get(kind, {}), **stated}

    @property
    def is_part(self) -> bool:
        """Whether the model has more than these layers, such as an encoder of images."""
        return bool(self._outer)

    def raw(self, key: str) -> Any:
        """A value as it is stated, also of the model around the layers of text; None if missing."""
        found = self._stated.get(key)
        return self._outer.get(key) if found is None else found

    def number(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number; `default` where it is missing or null.

        Raises:
            SpecError: it is missing without default, is no whole number, or out of range.
        """
        found = self._stated.get(key)
        if found is None and default is not None:
            return default
        if found is None:
            raise SpecError(f"{self.name}: {key} is missing", "the size of a block depends on it")
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= _MOST:
            raise SpecError(
                f"{self.name}: {key} is {str(found)[:40]}",
                f"it is a whole number from {least} to {_MOST}",
            )
        return found

    def optional(self, key: str) -> int:
        """A whole number; 0 where it is null.

        Raises:
            SpecError: it is missing, is no whole number, or out of range.
        """
        if key not in self._stated:
            raise SpecError(f"{self.name}: {key} is missing", "null stands for none")
        return self.number(key, 0, least=0)

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false; `default` where it is missing or null."""
        found = self._stated.get(key)
        if found is not None and not isinstance(found, bool):
            raise SpecError(f"{self.name}: {key} is {str(found)[:40]}", "it is true or false")
        return default if found is None else found

    @property
    def layers(self) -> int:
        """How many layers there are."""
        found = self.number("num_hidden_layers")
        if found > _MOST_LAYERS:
            raise SpecError(f"{self.name}: it has {found} layers", f"at most {_MOST_LAYERS} count")
        return found

    def kinds(self, key: str, known: Sequence[Any]) -> list[Any] | None:
        """One of the `known` values for each layer; None where the key is missing or null."""
        found = self._stated.get(key)
        if found is None or found == []:
            return None
        if not isinstance(found, list) or len(found) != self.layers:
            raise SpecError(f"{self.name}: {key} does not have one value for each layer")
        for each in found:
            if type(each) is not type(known[0]) or each not in known:
                listed = ", ".join(map(str, known))
                cause = f"{self.name}: {key} has {str(each)[:40]!r}, which is not known here"
                raise SpecError(cause, f"known are {listed}")
        return found


def read_config(path: Path) -> Config:
    """The config of a model: a config.json, or a folder that has one.

    Raises:
        SpecError: it cannot be read, is no JSON object, has a key twice, or over a mebibyte.
    """
    if _HUB_ID.fullmatch(str(path)) and not path.exists():
        fetch = f"hf download {path} {_NAME} --local-dir DIR"
        raise SpecError(
            f"{path}: there is no such file or folder, and no model is downloaded here",
            f"if it is a model on Hugging Face, run {fetch}, and give DIR",
        )
    file = path / _NAME if path.is_dir() else path
    content = read_bounded(file, _MOST_BYTES)
    try:
        outer = decode_json(content, dict[str, Any])
    except ValueError as problem:
        raise SpecError(f"{file}: {problem}", "give a model's config.json") from None
    inner = outer.get("text_config")
    if inner is None:
        return Config(outer, str(file), {})
    kind = str(outer.get("model_type"))
    if not isinstance(inner, dict) or kind not in WRAPPERS:
        raise SpecError(
            f"{file}: whether other layers of a {kind[:40]!r} than those in its text_config have a "
            "cache is not known here",
            f"known are {', '.join(sorted(WRAPPERS))}",
        )
    return Config(inner, str(file), outer)
