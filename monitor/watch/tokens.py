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
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Tokenizer", "package"]

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
        try:
            is_folder = path.is_dir()
        except (OSError, ValueError):
            is_folder = False
        folder, file = (path, path / "tokenizer.json") if is_folder else (path.parent, path)
        self._path, self._folder, self._template = path, folder, ""
        self._special: dict[str, str] = {}
        content = read_bounded(file, _MOST_BYTES)
        read = package("tokenizers").Tokenizer.from_buffer
        self._tokenizer: Any = self._tried(lambda: read(content))
        # A tokenizer that cuts texts, or fills them up, says something else than an engine.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def of_text(self, text: str) -> Sequence[int]:
        """The token ids of a text, with special tokens."""
        found: Sequence[int] = self._tried(lambda: self._tokenizer.encode(text).ids)
        return found

    def of_messages(self, messages: Sequence[Mapping[str, str]]) -> Sequence[int]:
        """The token ids of messages, which have a role and a content each."""
        text = self._tried(lambda: self._rendered(messages), "chat template")
        encode = self._tokenizer.encode
        found: Sequence[int] = self._tried(lambda: encode(text, add_special_tokens=False).ids)
        return found

    def _rendered(self, messages: Sequence[Mapping[str, str]]) -> str:
        if not self._template:
            self._load_template()
        sandbox = package("jinja2.sandbox")
        environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
        environment.globals["raise_exception"] = _raise
        text: str = environment.from_string(self._template).render(
            messages=messages, add_generation_prompt=False, **self._special
        )
        return text

    def _tried(self, use: Callable[[], Any], what: str = "tokenizer") -> Any:
        """What a call of foreign code returns; its messages may quote a prompt, and are not shown.

        Raises:
            SpecError: the call fails; tokenizers may panic.
        """
        try:
            return use()
        except (SpecError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as problem:
            said = f"{self._path}: the {what} cannot be used: {type(problem).__name__}"
            raise DocumentError(said, "name another, or state token ids") from None

    def _load_template(self) -> None:
        """The chat template and the special tokens of the model, which lie beside the tokenizer."""
        file, single = self._folder / "tokenizer_config.json", self._folder / "chat_template.jinja"
        config: Any = {}
        if file.is_file():
            try:
                config = json.loads(read_bounded(file))
            except (ValueError, RecursionError):
                raise DocumentError(f"{file}: it is not JSON", "mend or remove it") from None
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


def package(name: str, extra: str = "tokens") -> Any:
    """The module of this name; raises SpecError where its package, of an extra, is missing."""
    root = name.partition(".")[0]
    if find_spec(root) is None:
        raise SpecError(f"{root} is not installed", how_to_install(extra))
    return import_module(name)


def _raise(text: str) -> NoReturn:
    raise ValueError(str(text)[:200])
