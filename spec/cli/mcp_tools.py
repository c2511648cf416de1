"""Defines the tools of `resident-claims mcp`: their arguments, and the command line of a call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta

from spec.claims.states import Mode
from spec.language.errors import SpecError

__all__ = ["TOOLS", "Copy", "Tool", "line_of", "schema_of"]

Copy: TypeAlias = Callable[[str], str]
"""Copies a file, of which a client gives the path, to where commands run; returns its name there.

Raises:
    SpecError: the client may not read it.
"""

_Trace = Annotated[
    str,
    Meta(
        description="A trace: a path below a root, or an absolute one within a root.",
        max_length=4096,
    ),
]
_Claim = Annotated[str, Meta(description="The id of one claim.", min_length=1, max_length=4096)]
_Text = Annotated[str, Meta(min_length=1, max_length=4096)]


class Tool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a tool."""

    def line(self, copy: Copy) -> list[str]:
        """The command line of a call."""
        raise NotImplementedError


class _OfTrace(Tool, frozen=True):
    """A trace, and the claims of it that are asked for."""

    trace: _Trace
    mode: Annotated[
        Mode | None, Meta(description="By default each claim is judged by the mode that it states.")
    ] = None
    claim: _Claim | None = None


class _Check(_OfTrace, frozen=True):
    """Judge a trace: which obligations each claim kept or violated, and at which line."""

    def line(self, copy: Copy) -> list[str]:
        return ["check", "--no-progress", *_of(self.mode, self.claim), "--", copy(self.trace)]


class _Explain(_OfTrace, frozen=True):
    """Explain what each event of a trace changed for its claims, and why."""

    def line(self, copy: Copy) -> list[str]:
        return ["explain", *_of(self.mode, self.claim), "--", copy(self.trace)]


class _Prove(Tool, frozen=True):
    """Prove what the obligations of a mode guarantee, and that each of them is necessary."""

    mode: Mode

    def line(self, copy: Copy) -> list[str]:
        return ["prove", "--format=json", "--", self.mode]


class _Label(Tool, frozen=True):
    """Label which modes a described runtime supports, and say what is missing."""

    descriptor: Annotated[
        str,
        Meta(
            description="The name of a shipped descriptor, or a YAML file within a root.",
            min_length=1,
            max_length=4096,
        ),
    ]
    mode: Annotated[Mode | None, Meta(description="By default every mode.")] = None

    def line(self, copy: Copy) -> list[str]:
        is_file = "/" in self.descriptor or Path(self.descriptor).suffix
        named = copy(self.descriptor) if is_file else self.descriptor
        return ["label", *_of(self.mode), "--", named]


class _Show(Tool, frozen=True):
    """Show what defines a mode, an obligation, an interpretation, a term or a reason (RC101)."""

    name: _Text

    def line(self, copy: Copy) -> list[str]:
        return ["spec", "show", "--format=json", "--", self.name]


class _Search(Tool, frozen=True):
    """Search the contract by words: obligations, modes, events, reasons, rules and the glossary."""

    words: _Text
    most: Annotated[int, Meta(description="Passages to list.", ge=1, le=100)] = 10

    def line(self, copy: Copy) -> list[str]:
        return ["spec", "search", "--format=json", f"--most={self.most}", "--", self.words]


TOOLS: Final[dict[str, type[Tool]]] = {
    "check": _Check,
    "explain": _Explain,
    "prove": _Prove,
    "label": _Label,
    "show": _Show,
    "search": _Search,
}
"""The tools by name, in the order in which they are listed."""


def schema_of(tool: type[Tool]) -> dict[str, Any]:
    """The JSON Schema of the arguments."""
    (_,), parts = msgspec.json.schema_components((tool,), ref_template="#/$defs/{name}")
    own = parts.pop(tool.__name__)
    own.pop("title", None), own.pop("description", None)
    return {**own, "$defs": parts} if parts else own


def line_of(name: str, arguments: dict[str, Any], copy: Copy) -> list[str]:
    """The command line of a call, without the program.

    Raises:
        SpecError: no such tool, arguments that it does not take, or a file that may not be read.
    """
    if name not in TOOLS:
        raise SpecError(f"there is no tool {name!r}", f"call one of {', '.join(TOOLS)}")
    try:
        call = msgspec.convert(arguments, TOOLS[name])
    except msgspec.ValidationError as problem:
        raise SpecError(f"{name}: {problem}") from None
    line = call.line(copy)
    if any("\0" in word for word in line):
        raise SpecError(f"{name}: a text has a NUL character", "leave it out")
    return line


def _of(mode: Mode | None, claim: str | None = None) -> list[str]:
    words = ["--format=json"]
    if mode is not None:
        words.append(f"--mode={mode}")
    if claim is not None:
        words.append(f"--claim={claim}")
    return words
