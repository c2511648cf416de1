"""Texts and messages of a registry become the token ids that an engine would see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from monitor.watch.registry import load_registry
from spec.language.errors import SpecError

_WORDS = {"<s>": 0, "<unk>": 1, **{f"w{n}": n for n in range(2, 100)}}
_TEMPLATE = "{{ bos_token }} {% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}"


def saved(folder: Path, template: str = _TEMPLATE) -> Path:
    """A model's tokenizer, which begins texts with a token of its own."""
    tokenizer = Tokenizer(models.WordLevel(_WORDS, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", chat_template=template
    )
    fast.save_pretrained(folder / "model")
    return folder / "model"


def tokens(folder: Path, **prefix: Any) -> list[int]:
    """The token ids of a claim on a prefix."""
    about = {"schema": "resident-claims/registry/1", "model": "m", "block_size": 2}
    claim = {"id": "a", "owner": "team", **prefix}
    path = folder / "registry.json"
    path.write_text(json.dumps({**about, "tokenizer": "model", "claims": [claim]}))
    return [token for block in load_registry(path).claims["a"].blocks for token in block]


TEXT = " ".join(f"w{n}" for n in range(2, 9))
MESSAGES = [{"role": "w2", "content": "w3 w4"}, {"role": "w5", "content": "w6 w7"}]


class TestTokens:
    def test_text(self, tmp_path: Path) -> None:
        """A text has the special tokens that a completion has."""
        model = saved(tmp_path)
        assert AutoTokenizer.from_pretrained(model)(TEXT).input_ids == tokens(tmp_path, text=TEXT)

    def test_messages(self, tmp_path: Path) -> None:
        """Messages are rendered as the engine renders them, without a generation prompt."""
        model = saved(tmp_path)
        expected = AutoTokenizer.from_pretrained(model).apply_chat_template(
            MESSAGES, tokenize=False
        )
        ids = AutoTokenizer.from_pretrained(model)(expected, add_special_tokens=False).input_ids
        assert tokens(tmp_path, messages=MESSAGES) == ids[: len(ids) // 2 * 2]

    @pytest.mark.parametrize("option", ["truncation", "padding"])
    def test_length(self, option: str, tmp_path: Path) -> None:
        """A tokenizer that cuts texts, or fills them up, does not do so here."""
        file = saved(tmp_path) / "tokenizer.json"
        expected = tokens(tmp_path, text=TEXT)
        tokenizer = Tokenizer.from_file(str(file))
        if option == "truncation":
            tokenizer.enable_truncation(3)
        else:
            tokenizer.enable_padding(length=32)
        tokenizer.save(str(file))
        assert tokens(tmp_path, text=TEXT) == expected


class TestRefused:
    def test_template(self, tmp_path: Path) -> None:
        """A template that fails is named, and what it said is not shown."""
        saved(tmp_path, "{{ raise_exception(messages[0].content) }}")
        with pytest.raises(SpecError, match="the chat template cannot be used") as caught:
            tokens(tmp_path, messages=[{"role": "user", "content": "a secret prompt"}])
        assert "secret" not in str(caught.value)

    def test_panic(self, tmp_path: Path) -> None:
        """So is a tokenizer that fails: this one has no token for unknown words."""
        file = saved(tmp_path) / "tokenizer.json"
        tokenizer = Tokenizer(models.WordLevel({"w2": 2}, "<unk>"))
        tokenizer.save(str(file))
        with pytest.raises(SpecError, match="the tokenizer cannot be used"):
            tokens(tmp_path, text="a secret prompt")

    @pytest.mark.parametrize("name", ["x" * 300, "gone", "registry.json"])
    def test_path(self, name: str, tmp_path: Path) -> None:
        """A path that leads nowhere, or to another file, is named."""
        saved(tmp_path)
        claim = {"id": "a", "owner": "team", "text": "w2"}
        about = {"schema": "resident-claims/registry/1", "model": "m", "block_size": 2}
        path = tmp_path / "registry.json"
        path.write_text(json.dumps({**about, "tokenizer": name, "claims": [claim]}))
        with pytest.raises(SpecError):
            load_registry(path)
