"""Converts what a person typed for a path or an id; an empty text is bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

__all__ = ["claim_option", "file_name", "path", "path_option"]


def path(text: str | Path) -> Path:
    """A path; an empty one, which would stand for the working folder, raises BadParameter."""
    return Path(file_name(str(text)))


def file_name(text: str) -> str:
    """The same text, for what is named by it in messages; raises BadParameter where it is empty."""
    if not text:
        raise typer.BadParameter("it is empty; give a path")
    return text


def _file(text: str | Path) -> Path:
    if str(text) == "-":
        raise typer.BadParameter("it is -, which is no file here; for one of that name give ./-")
    return path(text)


def _claim_id(text: str) -> str:
    if not text:
        raise typer.BadParameter("it names no claim; give the id of one, or leave it out")
    return text


def path_option(*names: str, help: str, metavar: str = "PATH", **more: Any) -> Any:
    """An option that takes a path, which is neither empty nor `-`."""
    return typer.Option(*names, parser=_file, help=help, metavar=metavar, **more)


def claim_option(help: str) -> Any:
    """The option `--claim`."""
    return typer.Option("--claim", parser=_claim_id, metavar="ID", help=help)
