"""Binds the native core: gives it lines through its C interface, and takes what it found.

The core takes lines of canonical events itself. All other lines are read in Python and packed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from monitor.native import CoreError, Refused
from monitor.native.binding import loaded, table_of, vocabulary
from monitor.native.options import kinds_of, options
from monitor.results import News, limits_reached
from spec.claims.states import ClaimState, Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict
from spec.stream.breaks import Limits, Line
from spec.stream.codes import Code, Reason
from spec.stream.outcome import ClaimOutcome, Finding, ModeVerdict, absence, decide, names_of

__all__ = ["NativeJudge", "NativeStream", "PlaceOf"]

PlaceOf = Callable[[int, int | None], object]
"""Makes the place that reports name of a line and its sequence number."""

_VERDICTS: Final = tuple(Verdict)
_IDLE: Final = Finding(Verdict.UNEXERCISED)
_UNEXERCISED: Final = _VERDICTS.index(Verdict.UNEXERCISED)
_POOLED: Final = (ModeVerdict.KEPT, ModeVerdict.VIOLATED, ModeVerdict.INCONCLUSIVE)
_NO_RULE: Final = 255
_USUAL: Final = Limits()
_FAILED: Final = {-2: "another thread uses the core", -3: "the core panicked and is unusable"}
_Reason = tuple[str, str, int, int | None]


class _Found(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one obligation came to, as the core writes it, and the parts of the reason."""

    verdict: int
    rule: int = _NO_RULE
    line: int = 0
    sequence: int | None = None
    code: str = ""
    text: str = ""
    reason_line: int = 0
    reason_sequence: int | None = None


class _Claim(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One claim, as the core writes it."""

    claim_id: str
    mode: Mode | None
    stated_mode: str | None
    other_mode: str | None
    state: ClaimState
    entered: bool
    final: bool
    turned_away: bool
    period: int
    found: list[_Found]


class _Stream(msgspec.Struct, frozen=True):
    """One stream, as the core writes it (`outcome.rs`)."""

    name: str
    form: str
    first: int | None
    last: int | None
    period: int
    broken: bool
    forgotten: int
    breaks: list[_Reason]
    left: _Reason | None
    open: list[Mode | None]
    verdicts: list[tuple[Mode | None, int, int]]
    obligations: list[tuple[Mode | None, int, int, int]]
    entered: list[tuple[Mode | None, int]]
    unlisted: list[tuple[Mode | None, int]]
    away: int
    claims: list[_Claim]


class NativeStream(NamedTuple):
    """What a stream came to: how often numbers began again, whether it is broken, what broke it,
    the claims that are listed, and those that are counted, by mode.
    """

    name: str
    form: str
    first: int | None
    last: int | None
    period: int
    broken: bool
    forgotten: int
    breaks: list[Reason]
    left: Reason | None
    open: list[Mode | None]
    verdicts: dict[tuple[Mode | None, ModeVerdict], int]
    obligations: dict[tuple[Mode | None, str, Verdict], int]
    entered: dict[Mode | None, int]
    unlisted: dict[Mode | None, int]
    away: int
    claims: list[ClaimOutcome]


_KINDS: Final = msgspec.json.Decoder(list[int])
_LIVE: Final = msgspec.json.Decoder(tuple[str, int])
_IN_HAND: Final = msgspec.json.Decoder(tuple[str, list[_Claim]])
_NEWS: Final = msgspec.json.Decoder(tuple[str, list[_Reason], int, list[_Claim], list[_Claim]])
_STREAMS: Final = msgspec.json.Decoder(_Stream)


class NativeJudge:
    """The streams of one file, and the verdict on each of their claims.

    Args:
        only: the claim that is listed whatever is forgotten.
        unnamed: the name of the stream of lines that name none.
        watched: `news` has what lines moved; it is to be asked after each.

    Raises:
        CoreError: the core was not built, or does not know what the specification has.
    """

    def __init__(
        self,
        default: Mode | None = None,
        bundle: Bundle = Bundle.CONTRACT,
        *,
        limits: Limits = _USUAL,
        only: str | None = None,
        unnamed: str = "",
        watched: bool = False,
    ) -> None:
        self._bundle, self._limits, self._handle = bundle, limits, ctypes.c_void_p()
        self._core = loaded()
        self._line, self._number = self._core.rc_line, ctypes.c_uint64()
        given = table_of(bundle)
        asked = options(default, limits, only, unnamed, watched=watched)
        self._handle.value = self._core.rc_new(given, len(given), asked, len(asked))
        if self._handle.value is None:
            raise CoreError("the native core cannot read its table", "run make native-core")

    def __del__(self) -> None:
        if self._handle.value is not None:
            self._core.rc_free(self._handle)
            self._handle.value = None

    def _out(self) -> bytes:
        length = ctypes.c_size_t()
        place = self._core.rc_out(self._handle, length)
        return ctypes.string_at(place, length.value)

    def _checked(self, code: int) -> int:
        if code < 0:
            raise CoreError(_FAILED.get(code) or self._out().decode())
        return code

    def _call(self, function: Any, given: bytes = b"") -> bytes:
        """What a function of the core makes of these bytes."""
        return self._out() if self._checked(function(self._handle, given, len(given))) else b""

    def feed(self, block: bytes, number: int = 1, start: int = 0) -> tuple[int, int]:
        """Take whole lines from this number on, up to the first that is no canonical event: a mark,
        a line of another form, or one that cannot be read. The last line needs no end.

        Args:
            start: where the first of them begins in the block, which is not copied.

        Returns:
            How many bytes were taken, and how many lines, of which some may be blank.
        """
        taken = self._core.rc_feed(self._handle, block, len(block), start, number)
        lines, size = divmod(self._checked(taken), 1 << 32)
        return size, lines

    def feed_line(self, line: bytes, number: int) -> bool:
        """Take one line, unless it is no canonical event; return whether it was taken."""
        self._number.value = number
        taken: int = self._line(self._handle, line, len(line), self._number)
        return taken > 0 or self._checked(taken) > 0

    def take(
        self,
        line: Line,
        place: tuple[int, int | None],
        stream: str = "",
        form: str = "canonical",
        first: tuple[int, ...] = (0,),
    ) -> None:
        """Take one line that was read in Python.

        Args:
            place: its number, and its sequence number if it has one.
            form: the name of its form; `first` are the numbers that a run in it may begin with.

        Raises:
            Refused: it states what no line that is read states, and was not taken.
        """
        try:
            packed = _packed(line, place, stream, form, first)
        except ValueError as error:  # a text that UTF-8 cannot encode
            raise Refused(str(error)) from None
        if (code := self._core.rc_take(self._handle, packed, len(packed))) == -1:
            raise Refused(self._out().decode())
        self._checked(code)

    def lose(
        self,
        place: tuple[int, int | None],
        why: str,
        stream: str | None = None,
        *,
        unread: bool = False,
        spoils: bool = False,
    ) -> None:
        """Lines may be missing here from a stream, or from all that there are so far.

        Args:
            unread: a line was not understood.
            spoils: streams that begin later lack that line, too.
        """
        given: dict[str, Any] = {
            "at": place[0],
            "unread" if unread else "lost": why,
            "spoils": spoils,
        }
        for name, value in (("numbered", place[1]), ("stream", stream)):
            if value is not None:
                given[name] = value
        self._call(self._core.rc_lose, msgspec.json.encode(given))

    def finish(self) -> None:
        """The streams are over."""
        self._call(self._core.rc_finish)

    def _look(self, what: bytes) -> list[bytes]:
        return self._call(self._core.rc_look, what).splitlines()

    def found(self, place_of: PlaceOf, *, every: bool = True) -> list[NativeStream]:
        """What each stream came to, in the order of their first lines.

        Args:
            every: list every claim in hand, and not only those that were not kept.
        """
        made, what = _Made(self._bundle, place_of), b"found" if every else b"found but kept"
        return [made.stream(_STREAMS.decode(each)) for each in self._look(what)]

    def counts(self) -> tuple[dict[Kind, int], dict[str, int]]:
        """How many events of each kind `feed` took, and how many claims of each stream are live."""
        kinds, *streams = self._look(b"counts")
        counts = zip(kinds_of(vocabulary()), _KINDS.decode(kinds), strict=True)
        return {kind: count for kind, count in counts if count}, dict(map(_LIVE.decode, streams))

    def in_hand(self, place_of: PlaceOf) -> Iterator[tuple[str, list[ClaimOutcome]]]:
        """The claims in hand of each stream."""
        made = _Made(self._bundle, place_of)
        for name, claims in map(_IN_HAND.decode, self._look(b"in hand")):
            yield name, [*map(made.outcome, claims)]

    def news(self, place_of: PlaceOf, *, every: bool = False) -> list[News]:
        """What is new of each stream since the last call, where anything is.

        Args:
            every: with all claims that were moved, and not only those whose verdict stands.
        """
        what = b"moved" if every else b"decided"
        if not (size := self._core.rc_look(self._handle, what, len(what))):
            return []  # so it is after most lines
        self._checked(size)
        made, found = _Made(self._bundle, place_of), []
        for line in self._out().splitlines():
            name, breaks, forgotten, gone, moved = _NEWS.decode(line)
            left, here = [*map(made.outcome, gone)], [*map(made.outcome, moved)]
            reasons = [made.reason(*each) for each in breaks]
            limits = limits_reached(reasons, forgotten, self._limits)
            found.append(News(name, left, here, limits, forgotten))
        return found

    def save(self, only: str | None = None) -> bytes:
        """All state, or that of one stream, for `load`."""
        return self._call(self._core.rc_save, (only or "").encode())

    def load(self, state: bytes) -> None:
        """Take back what `save` gave, of a judge with the same options.

        Raises:
            CoreError: damaged, or made for another specification.
        """
        self._call(self._core.rc_load, state)


def _packed(
    line: Line,
    place: tuple[int, int | None],
    stream: str,
    form: str,
    first: tuple[int, ...],
) -> bytes:
    """The line as the core reads it."""
    at, numbered = place
    parts: dict[str, Any] = {"at": at, "stream": stream, "form": form, "first": first}
    if numbered is not None:
        parts["numbered"] = numbered
    if line.mark is not None:
        parts["mark"], parts["groups"] = line.mark.kind, line.mark.groups
    for name in ("sequence", "time_ns"):
        if (value := getattr(line, name)) is not None:
            parts[name] = value
    if line.observes is not None:
        parts["observes"] = sorted(line.observes)
    if line.derived:
        parts["derived"] = sorted(line.derived)
    if line.doubts:
        parts["doubts"] = [
            {"only": sorted(only), "why": why} | ({} if name is None else {"claim": name})
            for name, only, why in line.doubts
        ]
    for name in ("events", "skips", "lost", "unread"):
        if value := getattr(line, name):
            parts[name] = value
    return msgspec.json.encode(parts)


class _Made(NamedTuple):
    """Makes records of what the core writes."""

    bundle: Bundle
    place_of: PlaceOf

    def stream(self, row: _Stream) -> NativeStream:
        """One stream."""
        return NativeStream(
            row.name,
            row.form,
            row.first,
            row.last,
            row.period,
            row.broken,
            row.forgotten,
            [self.reason(*each) for each in row.breaks],
            None if row.left is None else self.reason(*row.left),
            row.open,
            {(mode, _POOLED[verdict]): n for mode, verdict, n in row.verdicts},
            {
                (mode, self._names(mode)[place], _VERDICTS[verdict]): n
                for mode, place, verdict, n in row.obligations
            },
            dict(row.entered),
            dict(row.unlisted),
            row.away,
            [*map(self.outcome, row.claims)],
        )

    def _names(self, mode: Mode | None) -> tuple[str, ...]:
        return () if mode is None else names_of(mode, self.bundle)

    def _place(self, line: int, sequence: int | None) -> object:
        return self.place_of(line, sequence) if line else None

    def reason(self, code: str, text: str, line: int, sequence: int | None) -> Reason:
        """A reason that the core writes."""
        return Reason(Code[code], text, self._place(line, sequence))

    def _finding(self, row: _Found) -> Finding:
        if row.verdict == _UNEXERCISED:
            return _IDLE
        at = self._place(row.line, row.sequence)
        rule, reason = None if row.rule == _NO_RULE else row.rule, None
        if row.code:
            reason = self.reason(row.code, row.text, row.reason_line, row.reason_sequence)
        return Finding(_VERDICTS[row.verdict], at, rule, reason)

    def outcome(self, row: _Claim) -> ClaimOutcome:
        """What one claim came to."""
        mode, entered, found = row.mode, row.entered, row.found
        findings = dict(zip(self._names(mode), map(self._finding, found), strict=True))
        verdict, why = _decided(mode, entered, tuple([each.verdict for each in found]), self.bundle)
        return ClaimOutcome(
            row.claim_id,
            mode,
            row.stated_mode,
            row.other_mode,
            row.state,
            entered,
            row.final,
            verdict,
            why,
            findings,
            row.period,
            row.turned_away,
        )


@cache
def _decided(
    mode: Mode | None, entered: bool, verdicts: tuple[int, ...], bundle: Bundle
) -> tuple[ModeVerdict, str]:
    """What the verdicts of obligations make, and why; the native judge gives few combinations."""
    names = () if mode is None else names_of(mode, bundle)
    found = {name: _VERDICTS[each] for name, each in zip(names, verdicts, strict=True)}
    return decide(found, absence(mode, entered=entered))
