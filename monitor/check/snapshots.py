"""Writes the state of a monitor as bytes, and reads it back.

The bytes are msgpack of lists, texts and numbers. What is restored is made of them alone: nothing
in them is run.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.check.conclude import Asked
from monitor.core import Stream, Streams
from monitor.durable.frame import CorruptSnapshot, framed, unframed
from monitor.input.errors import InputError
from monitor.input.records import CANONICAL, Account, At, Disorder, Form, at_line
from monitor.native import CoreError
from monitor.results import Occurred
from monitor.streams import NativeStreams
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict
from spec.stream.breaks import Limits
from spec.stream.outcome import ModeVerdict
from spec.stream.state import load, of_plain, plain, save

if TYPE_CHECKING:
    from monitor.streams import AnyStreams

__all__ = ["restored", "snapshot"]

_WHAT: Final = "snapshot"


class _Counts(msgspec.Struct, frozen=True, array_like=True):
    """Claims that are counted and not listed, by mode."""

    verdicts: list[tuple[Mode | None, ModeVerdict, int]]
    obligations: list[tuple[Mode | None, str, Verdict, int]]
    entered: list[tuple[Mode | None, int]]
    away: int


class _Stream(msgspec.Struct, frozen=True, array_like=True):
    file: str
    name: str
    form: Form
    first: int | None
    forgotten: int
    ended: _Counts
    past: list[Any]
    judge: dict[str, Any]


class _Native(msgspec.Struct, frozen=True):
    """The streams of the native core: its state, the forms of lines, and the files of places."""

    state: bytes
    forms: list[Form]
    files: list[str]


class _State(msgspec.Struct, frozen=True, array_like=True):
    """All that judges, and what was read so far."""

    mode: Mode | None
    bundle: Bundle
    strict: bool
    claim: str | None
    limits: tuple[int, int, int, int]
    file: str
    lines: int
    rejected: int
    rejection: tuple[str, str, int | None, str | None, str] | None
    disorder: tuple[int, int, int, int] | None
    read: int
    rejected_lines: int
    kinds: dict[Kind, int]
    unknown: dict[str, int]
    derived: list[Kind]
    strange: tuple[Any, str] | None
    spoiled: list[tuple[str, Any, str]]
    streams: list[_Stream] | _Native


def snapshot(asked: Asked, account: Account, streams: AnyStreams, *, only: str | None) -> bytes:
    """The state as bytes; SpecError where there is more than a snapshot holds.

    Args:
        only: keep the streams of this name alone.
    """
    order = account.disorder
    read = streams.read if isinstance(streams, NativeStreams) else streams.occurred
    spoiled = {} if isinstance(streams, NativeStreams) else streams.spoiled
    state = _State(
        asked.mode,
        asked.bundle,
        asked.strict,
        asked.claim,
        (asked.limits.live, asked.limits.ended, asked.limits.ids, asked.limits.requests),
        account.file,
        account.lines,
        account.rejected,
        None if account.rejection is None else account.rejection.args,
        None if order is None else (order.duplicates, order.held, order.late, order.contradicting),
        read.read,
        read.rejected,
        dict(read.kinds),
        dict(read.unknown),
        sorted(read.derived),
        None if read.strange is None else (_place(read.strange[0]), read.strange[1]),
        [(file, _place(at), why) for file, (at, why) in spoiled.items()],
        _saved(streams, only),
    )
    return framed(_WHAT, msgspec.msgpack.encode(state))


def _saved(streams: AnyStreams, only: str | None) -> list[_Stream] | _Native:
    if isinstance(streams, NativeStreams):
        return _Native(streams.save(only), [*streams.forms.values()], streams.files)
    return [_stream(each) for each in streams if only in (None, each.name)]


def _place(at: At) -> Any:
    return [at.file, at.line, at.sequence]


def _at(value: Any) -> At:
    return at_line(*value)


def _stream(stream: Stream) -> _Stream:
    ended = stream.ended
    counts = _Counts(
        [(*key, count) for key, count in ended.verdicts.items()],
        [(*key, count) for key, count in ended.obligations.items()],
        [*ended.entered.items()],
        ended.away,
    )
    past = [plain(each, _place) for each in stream.past]
    named = stream.file, stream.name, stream.form
    judge = save(stream.judge, _place)
    return _Stream(*named, stream.first, stream.forgotten, counts, past, judge)


def restored(data: bytes, *, watched: bool) -> tuple[Asked, Account, AnyStreams]:
    """The state that `snapshot` wrote, for the judge that was saved.

    Args:
        watched: as `Streams` has it.

    Raises:
        CorruptSnapshot: it is torn, modified, or none.
        ForeignSnapshot: it was made for another specification, or holds the state in another form.
        CoreError: the native core made it, and there is none.
    """
    content = unframed(_WHAT, data)
    try:
        return _restored(msgspec.msgpack.decode(content, type=_State), watched=watched)
    except CoreError as error:
        hint = "build the core (make native-core), or begin anew without it"
        raise CoreError(f"the native core made the snapshot: {error.cause}", hint) from None
    except Exception as error:  # whatever a forged value is taken for
        raise CorruptSnapshot(f"the content of the snapshot cannot be read: {error}") from None


def _restored(state: _State, *, watched: bool) -> tuple[Asked, Account, AnyStreams]:
    asked = Asked(state.mode, state.bundle, state.strict, state.claim, Limits(*state.limits))
    rejection = None
    if state.rejection is not None:
        file, reason, line, field, hint = state.rejection
        rejection = InputError(file, reason, line=line, field=field, hint=hint)
    disorder = None if state.disorder is None else Disorder(*state.disorder)
    account = Account(state.file, "", state.lines, state.rejected, rejection, disorder)
    read = Occurred(
        state.read,
        state.rejected_lines,
        Counter(state.kinds),
        Counter(state.unknown),
        set(state.derived),
        None if state.strange is None else (_at(state.strange[0]), state.strange[1]),
    )
    if isinstance(state.streams, _Native):
        native = NativeStreams(
            state.file,
            asked.mode,
            asked.bundle,
            limits=asked.limits,
            only=asked.claim,
            watched=watched,
        )
        native.read, native.files = read, state.streams.files
        native.forms = {form.name: form for form in state.streams.forms}
        if not native.files or CANONICAL.name not in native.forms:
            raise ValueError("it names no file, or no form of lines")
        native.load(state.streams.state)
        return asked, account, native
    streams = Streams(
        asked.mode, asked.bundle, limits=asked.limits, only=asked.claim, watched=watched
    )
    streams.occurred = read
    streams.spoiled = {file: (_at(at), why) for file, at, why in state.spoiled}
    for each in state.streams:
        _restore(streams.add(each.file, each.name, each.form), each)
    return asked, account, streams


def _restore(stream: Stream, state: _Stream) -> None:
    """Have a stream go on where its state was saved."""
    stream.first, stream.forgotten = state.first, state.forgotten
    stream.past = [of_plain(each, _at) for each in state.past]
    ended, counts = stream.ended, state.ended
    ended.verdicts.update({(mode, verdict): n for mode, verdict, n in counts.verdicts})
    ended.obligations.update({(m, name, v): n for m, name, v, n in counts.obligations})
    ended.entered.update(dict(counts.entered))
    ended.away = counts.away
    stream.judge = load(state.judge, _at, stream.forget)
