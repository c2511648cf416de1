"""Stores the results of a campaign in a file, so that it can be interrupted and resumed."""

from __future__ import annotations

from hashlib import sha256
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from proofs.mutation.campaign.run import EQUIVALENT, KILLED, Fate, key_of
from proofs.mutation.detection.checks import CHECKS
from proofs.mutation.detection.probes import ROWS
from proofs.mutation.equivalence.product import Compared
from proofs.mutation.runs.lines import HAND, RUNS
from spec import __version__
from spec.digest import short_digest, spec_digest
from spec.files.plain import NoFile, open_plain
from spec.language.errors import OutputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proofs.mutation.campaign.run import Tried

__all__ = ["State", "runs_digest", "usual_place"]

T = TypeVar("T")
_ROOT = Path(__file__).parents[3]
_MOST = 1 << 26  # bytes; a whole campaign takes two million


class _Head(msgspec.Struct, frozen=True):
    """The first line: what the results depend on."""

    tool: str
    spec: str
    runs: str
    code: str


def runs_digest() -> str:
    """The SHA-256 of the runs, traces and rows that detect mutants, without comments."""
    digest = sha256()
    for file in (RUNS, HAND, ROWS):
        digest.update(b"".join(_judging(file.read_bytes())))
    return digest.hexdigest()


def _judging(content: bytes) -> list[bytes]:
    return [line for line in content.splitlines(keepends=True) if not line.startswith(b"#")]


def code_digest() -> str:
    """The SHA-256 of the programs that judge mutants, including the clauses of the theorem."""
    digest = sha256()
    for package in ("spec", "monitor", "proofs"):
        for source in sorted((_ROOT / package).rglob("*.py")):
            digest.update(f"{source.relative_to(_ROOT)}\n".encode() + source.read_bytes())
    return digest.hexdigest()


def usual_place() -> Path:
    """The default file of a campaign for this specification, these runs and this code."""
    judged_by = sha256((runs_digest() + code_digest()).encode()).hexdigest()
    return Path("build") / f"mutants-{short_digest()}-{judged_by[:8]}.jsonl"


class State:
    """The results in an append-only file; an incomplete last line is removed.

    Raises:
        SpecError: the file holds something else, or is about another specification, other runs or
            other code.
        OutputError: the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        content = self._read()
        whole = content[: content.rfind(b"\n") + 1]
        head, *lines = whole.splitlines() or [b""]
        begins = _line(_head()) if not head else b'{"mode":"'
        cut = content[len(whole) :]
        if not begins.startswith(cut[: len(begins)]):
            raise SpecError(f"{path} is not a file of a campaign", "name another file")
        if head and self._decode(1, head, _Head) != _head():
            raise SpecError(
                f"{path} is about another specification, other runs or other code",
                "name another file",
            )
        self._fates = [self._decode(n, line, Fate) for n, line in enumerate(lines, start=2)]
        for number, fate in enumerate(self._fates, start=2):
            if not _may_be(fate):
                raise SpecError(
                    f"{path}, line {number}: it is not a result of a campaign", "name another file"
                )
        if cut or not head:
            self._write(whole or _line(_head()), "wb")

    def known(self, mutants: Iterable[Tried]) -> dict[tuple[str, str], Fate]:
        """The settled results of these mutants: undecided ones are tried again."""
        found = {
            (fate.mode, fate.mutant): fate
            for fate in self._fates
            if fate.result in (KILLED, EQUIVALENT)
        }
        keys = ((m, key_of(m)) for m in mutants)
        return {key: found[key] for m, key in keys if key in found and found[key].says == m.says}

    def add(self, fate: Fate) -> None:
        """Append a result."""
        self._write(_line(fate), "ab")

    def _read(self) -> bytes:
        try:
            with BufferedReader(open_plain(self._path)) as file:
                content = file.read(_MOST + 1)
        except FileNotFoundError:
            return b""
        except NoFile as problem:
            reason = f"cannot read {self._path}: {problem.strerror}"
            raise OutputError(reason, "name another file") from None
        except (OSError, ValueError) as problem:
            raise OutputError(f"cannot read {self._path}: {problem}", "name another") from None
        if len(content) > _MOST:
            raise SpecError(f"{self._path} is too large for a campaign", "name another file")
        return content

    def _write(self, content: bytes, how: Literal["wb", "ab"]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open(how) as file:
                file.write(content)
        except (OSError, ValueError) as problem:
            raise OutputError(f"cannot write {self._path}: {problem}", "name another") from None

    def _decode(self, number: int, line: bytes, of: type[T]) -> T:
        try:
            return msgspec.json.decode(line, type=of)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            where = f"{self._path}, line {number}"
            raise SpecError(f"{where}: {problem}", "name another file") from None


def _may_be(fate: Fate) -> bool:
    """Whether a campaign can produce this result."""
    if fate.result == KILLED:
        return bool(fate.by) and CHECKS.keys() >= set(fate.by)
    same = {str(c) for c in Compared} - {str(Compared.DIFFERENT), str(Compared.UNKNOWN)}
    return fate.result != EQUIVALENT or (not fate.by and fate.detail in same)


def _head() -> _Head:
    return _Head(__version__, spec_digest(), runs_digest(), code_digest())


def _line(entry: _Head | Fate) -> bytes:
    return msgspec.json.encode(entry) + b"\n"
