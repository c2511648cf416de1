"""How long commands take that do little: `python -m tests.bench_start`.

Processor time of a process, the least of ten, and its ratio to a bare Python and to one that
imports the two packages that every command needs. It is measured with compiled files in place, so
the first call is not counted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.bench_process import used

__all__ = ["main"]

_RUNS: Final = 10
_LINES: Final = Path(__file__).parents[1] / "monitor" / "samples" / "hard_protected_victim.jsonl"
_BARE: Final = ("-c", "pass")
_NEEDED: Final = ("-c", "import typer, msgspec")
_CALLED: Final = ("-c", "import sys; from spec.cli.console import main; sys.exit(main())")
_WORDS: Final = (
    ("check", str(_LINES)),
    ("check", str(_LINES), "--format", "json"),
    ("--help",),
    ("prove", "--help"),
)


def least(*arguments: str) -> float:
    """The least processor time of a few runs, in seconds."""
    used(*arguments)
    return min(used(*arguments).processor for _ in range(_RUNS))


def main() -> None:
    """Print a line for each command."""
    bare, needed = least(*_BARE), least(*_NEEDED)
    print(f"python -c pass: {bare:.3f} s; python -c 'import typer, msgspec': {needed:.3f} s")
    for words in _WORDS:
        taken = least(*_CALLED, *words)
        said = " ".join(word.removeprefix(f"{_LINES.parents[2]}/") for word in words)
        ratios = f"{taken / bare:.1f} x bare Python, {taken / needed:.1f} x its imports"
        print(f"resident-claims {said}: {taken:.3f} s, {ratios}")


if __name__ == "__main__":
    main()
