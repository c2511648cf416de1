"""Binds the native core: the same judge as `spec.stream`, in Rust, called through its C interface.

`core()` says which judge runs: the native one where it was built (`make native-core`), unless the
environment has `RESIDENT_CLAIMS_CORE=python`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from monitor.native.tables import table
from spec.claims.states import ClaimState, Mode
from spec.contract.modes import Bundle
from spec.language.verdicts import Verdict
from spec.stream.breaks import Line
from spec.stream.claim import Finding, names_of
from spec.stream.codes import Code, Reason
from spec.stream.judge import Limits
from spec.stream.outcome import ClaimOutcome, decide

__all__ = ["CoreError", "Fed", "NativeJudge", "Summary", "core", "library"]

_NAME: Final = "libresident_claims_core.so"
_PLACES: Final = (
    Path(__file__).with_name(_NAME),
    Path(__file__).parents[2] / "build" / "native-core" / "release" / _NAME,
)
_VERDICTS: Final = tuple(Verdict)
_NO_RULE: Final = 255
_REFUSED: Final = ("", "not taken", "too long", "one of several ranks", "too many streams")
_USUAL: Final = Limits()
_FAILED: Final = {-2: "another thread uses the core", -3: "the core panicked and is unusable"}


class CoreError(RuntimeError):
    """The native core is absent, refuses what it was given, or failed."""


class Fed(NamedTuple):
    """What `feed` did: bytes it is done with, the number of the last line, and why that line was
    refused, if it was.
    """

    taken: int
    line: int
    refused: str


class Summary(msgspec.Struct, frozen=True):
    """One stream as a whole: claims by verdict, and what broke it."""

    stream: str
    kept: int
    violated: int
    inconclusive: int
    live: int
    period: int
    broken: bool
    breaks: list[tuple[str, str, int]]
    left: tuple[str, str, int] | None


_Row = tuple[
    str, str, str | None, str | None, str | None, str, bool, bool, bool, int, list[list[Any]]
]
_ROWS: Final = msgspec.json.Decoder(_Row)
_SUMMARIES: Final = msgspec.json.Decoder(Summary)


@cache
def library() -> Path | None:
    """Where the library was built, if anywhere."""
    return next((place for place in _PLACES if place.exists()), None)


def core() -> str:
    """The judge that runs: `native` or `python`.

    Raises:
        CoreError: the environment asks for what there is not.
    """
    asked = os.environ.get("RESIDENT_CLAIMS_CORE", "")
    if asked not in ("", "native", "python"):
        raise CoreError(f"RESIDENT_CLAIMS_CORE is {asked!r}; write native or python")
    if asked == "native" and library() is None:
        raise CoreError("the native core was not built; run `make native-core`")
    return asked or ("python" if library() is None else "native")


@cache
def _loaded() -> ctypes.CDLL:
    place = library()
    if place is None:
        raise CoreError("the native core was not built; run `make native-core`")
    made = ctypes.CDLL(str(place))
    handle, data, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    counts = ctypes.POINTER(ctypes.c_uint64)
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "rc_new": (handle, [data, size, data, size]),
        "rc_free": (None, [handle]),
        "rc_out": (handle, [handle, ctypes.POINTER(size)]),
        "rc_feed": (ctypes.c_int64, [handle, data, size, ctypes.c_uint8, counts]),
    }
    for name in ("finish", "drain", "outcomes", "summary", "save"):
        signatures[f"rc_{name}"] = ctypes.c_int64, [handle]
    for name in ("take", "load"):
        signatures[f"rc_{name}"] = ctypes.c_int64, [handle, data, size]
    for name, (result, arguments) in signatures.items():
        function = getattr(made, name)
        function.restype, function.argtypes = result, arguments
    return made


class NativeJudge:
    """The streams of one file, or with `split=False` one stream, and the verdict on each claim.

    The place of a line is its number, from 1 on.

    Raises:
        CoreError: the core was not built, or does not know what the specification has.
    """

    def __init__(
        self,
        default: Mode | None = None,
        bundle: Bundle = Bundle.CONTRACT,
        *,
        first: tuple[int, ...] = (0,),
        limits: Limits = _USUAL,
        split: bool = False,
    ) -> None:
        self._bundle, self._handle = bundle, None
        self._core = _loaded()
        options = {"mode": default, "first": first, "split": split}
        options |= {name: getattr(limits, name) for name in ("live", "ended", "ids", "requests")}
        given, made = table(bundle), msgspec.json.encode(options)
        self._handle = self._core.rc_new(given, len(given), made, len(made))
        if error := self._out():
            raise CoreError(error.decode())
        self._counts = (ctypes.c_uint64 * 4)()

    def __del__(self) -> None:
        if self._handle is not None:
            self._core.rc_free(self._handle)
            self._handle = None

    def _out(self) -> bytes:
        length = ctypes.c_size_t()
        place = self._core.rc_out(self._handle, length)
        return ctypes.string_at(place, length.value)

    def _checked(self, code: int) -> int:
        if code < 0:
            raise CoreError(_FAILED.get(code) or self._out().decode())
        return code

    def feed(self, block: bytes, *, ends: bool = False) -> Fed:
        """Take whole lines of the canonical form, up to the first that is refused.

        Args:
            ends: the last line needs no end.
        """
        counts = self._counts
        taken = self._core.rc_feed(self._handle, block, len(block), ends, counts)
        self._checked(taken)
        return Fed(taken, counts[0], _REFUSED[counts[3]])

    def take(self, line: Line) -> None:
        """Take one line that was read elsewhere; its place is a number."""
        packed = b"".join(_packed(line))
        self._checked(self._core.rc_take(self._handle, packed, len(packed)))

    def finish(self) -> None:
        """The streams are over."""
        self._checked(self._core.rc_finish(self._handle))

    def drained(self) -> bytes:
        """The outcomes that changed since the last call and are violated or final, for `records`:
        many are counted and never looked at.
        """
        self._checked(self._core.rc_drain(self._handle))
        return self._out()

    def drain(self) -> list[ClaimOutcome]:
        """The same as records."""
        return self.records(self.drained())

    def outcomes(self) -> list[ClaimOutcome]:
        """The outcomes of all claims that are kept."""
        self._checked(self._core.rc_outcomes(self._handle))
        return self.records(self._out())

    def records(self, lines: bytes) -> list[ClaimOutcome]:
        """Outcomes as records."""
        rows: Iterable[_Row] = _ROWS.decode_lines(lines)
        return [_outcome(row, self._bundle) for row in rows]

    def summary(self) -> list[Summary]:
        """Each stream as a whole."""
        self._checked(self._core.rc_summary(self._handle))
        return _SUMMARIES.decode_lines(self._out())

    def save(self) -> bytes:
        """All state, for `load`."""
        self._checked(self._core.rc_save(self._handle))
        return self._out()

    def load(self, state: bytes) -> None:
        """Take back what `save` gave, of a judge with the same options.

        Raises:
            CoreError: damaged, or made for another specification.
        """
        self._checked(self._core.rc_load(self._handle, state, len(state)))


def _packed(line: Line) -> Iterator[bytes]:
    """The line as the core reads it."""
    parts: dict[str, Any] = {"at": line.at}
    for name in ("sequence", "time_ns", "mark"):
        if (value := getattr(line, name)) is not None:
            parts[name] = value
    if line.observes is not None:
        parts["observes"] = sorted(line.observes)
    if line.derived:
        parts["derived"] = sorted(line.derived)
    if line.doubts:
        parts["doubts"] = [(name, sorted(only), why) for name, only, why in line.doubts]
    if line.events:
        parts["events"] = line.events
    for name in ("skips", "foreign", "lost"):
        if value := getattr(line, name):
            parts[name] = value
    yield msgspec.json.encode(parts)


def _reason(found: list[Any]) -> Reason:
    code, text, at = found
    return Reason(Code[code], text, at or None)


def _finding(found: list[Any]) -> Finding:
    verdict = _VERDICTS[found[0]]
    if len(found) == 1:
        return Finding(verdict)
    rule = None if found[2] == _NO_RULE else found[2]
    reason = _reason(found[3:]) if len(found) > 3 else None
    return Finding(verdict, found[1] or None, rule, reason)


def _outcome(row: _Row, bundle: Bundle) -> ClaimOutcome:
    _, claim_id, name, stated, other, state, entered, final, turned, period, found = row
    mode = None if name is None else Mode(name)
    names = () if mode is None else names_of(mode, bundle)
    findings = dict(zip(names, map(_finding, found), strict=True))
    watched = mode is not None and "explicit_acceptance" not in names
    absent = "" if entered else f"not {'registered' if watched else 'accepted'}"
    if mode is None:
        absent = "it states no mode"
    verdict, why = decide({n: each.verdict for n, each in findings.items()}, absent)
    stood = ClaimState(state), entered, final, verdict, why
    return ClaimOutcome(claim_id, mode, stated, other, *stood, findings, period, turned)
