"""Checks files given by one path or several, and a mode given by its name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import NoneType
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from monitor.check.files import check
from monitor.input.reorder_window import Window
from spec.contract.modes import Bundle
from spec.contract.names import find_bundle, find_mode
from spec.language.errors import SpecError
from spec.language.given import require

if TYPE_CHECKING:
    from monitor.report.verdict import Report
    from spec.claims.states import Mode

__all__ = ["check_files", "claim_asked"]

_Path: TypeAlias = "str | os.PathLike[str]"
_EXPECTED: Final = "a text or a pathlib.Path, or several of them"


def check_files(
    paths: _Path | Iterable[_Path],
    mode: Mode | str | None = None,
    *,
    bundle: Bundle | str = Bundle.CONTRACT,
    claim: str | None = None,
    strict: bool = False,
    lenient: bool = False,
    reorder: str | None = None,
) -> Report:
    """Judge trace files, as `python -m monitor check` does.

    Args:
        paths: a file or several, plain or gzip, in the canonical form or a recorded dialect; `-` is
            standard input.
        mode: the mode, or its name; claims that ask for another are counted and not judged. By
            default each claim is judged by the mode that it states.
        bundle: which bundle of the mode, or its name.
        claim: judge the claim of this id alone.
        strict: an obligation that no claim exercised makes the verdict inconclusive.
        lenient: skip and count lines that cannot be read; the verdict is then inconclusive at best.
        reorder: put lines into the order of their numbers, within a window such as `100`, `5s` or
            `100,5s`, and drop repeated ones; by default lines are taken as they come.

    Raises:
        InputError: a file or a line of it cannot be read.
        UnknownName: there is no such mode, or no such bundle.
        SpecError: what is given is no path, the id of no claim, or no window.
    """
    return check(
        _texts(paths),
        None if mode is None else find_mode(mode).mode,
        find_bundle(bundle),
        claim=claim_asked(claim),
        strict=strict,
        lenient=lenient,
        window=None if reorder is None else Window.parse(reorder),
    )


def _texts(paths: _Path | Iterable[_Path]) -> list[str]:
    if isinstance(paths, str | bytes | os.PathLike):
        return [_text(paths)]
    require(paths, Iterable, "paths", _EXPECTED)
    return [_text(path) for path in paths]


def _text(path: object) -> str:
    require(path, (str, os.PathLike), "a path", _EXPECTED)
    text = os.fspath(cast("_Path", path))
    require(text, str, "a path", _EXPECTED)
    return text


def claim_asked(claim: str | None) -> str | None:
    """The same id; raises SpecError for what is the id of no claim."""
    require(claim, (str, NoneType), "claim", "the id of a claim, or None")
    if claim == "":
        raise SpecError("claim is empty", "give the id of a claim, or None for all of them")
    return claim
