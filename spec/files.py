"""Writing what was made into files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_text", "write_bytes"]


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path`, making the folders above it; raises OutputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except (OSError, ValueError) as problem:
        raise OutputError(f"cannot write {path}: {_reason(problem)}", "name another file") from None


def read_text(path: Path) -> str | None:
    """The text of `path`, None where there is no such file; raises OutputError."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise OutputError(
            f"cannot read {path}: {_reason(problem)}", "name another folder"
        ) from None


def _reason(problem: Exception) -> str:
    return (problem.strerror or str(problem)) if isinstance(problem, OSError) else str(problem)
