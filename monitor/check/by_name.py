"""Checks files given by one path or several, and a mode given by its name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from monitor.check.files import check
from spec.contract.modes import Bundle
from spec.contract.names import find_bundle, find_mode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.report.verdict import Report
    from spec.claims.claim import Mode

__all__ = ["check_files"]

_Path: TypeAlias = "str | os.PathLike[str]"


def check_files(
    paths: _Path | Iterable[_Path],
    mode: Mode | str | None = None,
    *,
    bundle: Bundle | str = Bundle.CONTRACT,
    claim: str | None = None,
    strict: bool = False,
    lenient: bool = False,
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

    Raises:
        InputError: a file or a line of it cannot be read.
        UnknownName: there is no such mode, or no such bundle.
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    return check(
        [os.fspath(path) for path in several],
        None if mode is None else find_mode(mode).mode,
        find_bundle(bundle),
        claim=claim,
        strict=strict,
        lenient=lenient,
    )
