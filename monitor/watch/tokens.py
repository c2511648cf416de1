"""Turns texts and chat messages of a registry into token ids, by a tokenizer on this disk."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from spec.installed import how_to_install
from spec.language.errors import DocumentError, SpecError
from spec.lowering.load import read_bounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Tokenizer"]

_MOST_BYTES: Final = 256 << 20  # of tokenizer.json


class Tokenizer:
    """A tokenizer in the form of Hugging Face, with the chat template of its model.

    A text is tokenized as an engine does it for completions, with special tokens; messages are
    rendered without a generation prompt, so that they are a prefix of every chat that begins with
    them.

    Args:
        path: a file `tokenizer.json`, or the folder that has it.

    Raises:
        SpecError: it cannot be read, or a package is missing.
    """

    def __init__(self, path: Path) -> None:
        folder = path if path.is_dir() else path.parent
        file = path / "tokenizer.json" if path.is_dir() else path
        self._folder, self._template = folder, ""
        self._special: dict[str, str] = {}
        content = read_bounded(file, _MOST_BYTES)
        read = _package("tokenizers").Tokenizer.from_buffer
        try:
            self._tokenizer: Any = read(content)
        except Exception as problem:  # tokenizers raises no class of its own
            _refuse(file, problem)

    def of_text(self, text: str) -> Sequence[int]:
        """The token ids of a text, with special tokens."""
        found: Sequence[int] = self._tokenizer.encode(text).ids
        return found

    def of_messages(self, messages: Sequence[Mapping[str, str]]) -> Sequence[int]:
        """The token ids of messages, which have a role and a content each."""
        text = self._rendered(messages)
        found: Sequence[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return found

    def _rendered(self, messages: Sequence[Mapping[str, str]]) -> str:
        if not self._template:
            self._load_template()
        sandbox = _package("jinja2.sandbox")
        environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
        environment.globals["raise_exception"] = _raise
        try:
            text: str = environment.from_string(self._template).render(
                messages=messages,
                add_generation_prompt=False,
                **self._special,
            )
        except Exception as problem:  # a template may fail in any way
            _refuse(self._folder, problem, "chat template")
        return text

    def _load_template(self) -> None:
        """The chat template and the special tokens of the model, which lie beside the tokenizer."""
        file, single = self._folder / "tokenizer_config.json", self._folder / "chat_template.jinja"
        config: Any = {}
        if file.is_file():
            try:
                config = json.loads(read_bounded(file))
            except (ValueError, RecursionError) as problem:
                _refuse(file, problem)
        template = config.get("chat_template") if isinstance(config, dict) else None
        if single.is_file():
            template = read_bounded(single).decode("utf-8", "replace")
        if not isinstance(template, str):
            cause = f"{self._folder} has no chat template"
            raise DocumentError(cause, "state text or token ids, or add chat_template.jinja")
        self._template = template
        for name in ("bos_token", "eos_token", "pad_token", "unk_token"):
            token = config.get(name) if isinstance(config, dict) else None
            token = token.get("content") if isinstance(token, dict) else token
            self._special[name] = token if isinstance(token, str) else ""


def _package(name: str) -> Any:
    root = name.partition(".")[0]
    if find_spec(root) is None:
        raise SpecError(f"{root} is not installed", how_to_install("tokens"))
    return import_module(name)


def _raise(text: str) -> NoReturn:
    raise ValueError(str(text)[:200])


def _refuse(path: Path, problem: Exception, what: str = "tokenizer") -> NoReturn:
    said = str(problem)[:200] or type(problem).__name__
    raise DocumentError(f"{path}: the {what} cannot be used: {said}", "name another") from None
