"""Writes the state of a monitor as bytes, and reads it back.

The bytes are msgpack of lists, texts and numbers. What is restored is made of them alone: nothing
in them is run.
"""

from __future__ import annotations

from collections import Counter
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from monitor.check.conclude import Asked
from monitor.core import Stream, Streams
from monitor.durable.frame import CorruptSnapshot, framed, unframed
from monitor.input.errors import InputError
from monitor.input.records import CANONICAL, Account, At, Form, at_line
from monitor.native import CoreError
from monitor.results import Ended, Occurred
from monitor.streams import NativeStreams
from spec.stream.value import load, of_plain, plain, save

if TYPE_CHECKING:
    from monitor.streams import AnyStreams

__all__ = ["restored", "snapshot"]

_WHAT: Final = "snapshot"


class _Stream(msgspec.Struct, frozen=True, array_like=True):
    file: str
    name: str
    form: Form
    first: int | None
    forgotten: int
    ended: Ended
    past: list[Any]
    judge: dict[str, Any]


class _Native(msgspec.Struct, frozen=True):
    """The streams of the native core: its state, the forms of lines, and the files of places."""

    state: bytes
    forms: list[Form]
    files: list[str]


class _State(msgspec.Struct, frozen=True, array_like=True):
    """All that judges, and what was read so far."""

    asked: Asked
    account: Account
    read: Occurred
    spoiled: dict[str, tuple[At, str]]
    streams: list[_Stream] | _Native


def _plain(value: object) -> object:
    """An error as msgpack can hold it."""
    if isinstance(value, InputError):
        return value.args
    raise TypeError(f"no snapshot holds a value of type {type(value).__name__}")


def _made(kind: type, value: Any) -> Any:
    """An error, or a counter, from its parts."""
    if kind is InputError:
        return InputError(*value)
    (counted,) = get_args(kind)
    return Counter(msgspec.convert(value, GenericAlias(dict, (counted, int))))


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=_plain)
_DECODER: Final = msgspec.msgpack.Decoder(_State, dec_hook=_made)


def snapshot(asked: Asked, account: Account, streams: AnyStreams, *, only: str | None) -> bytes:
    """The state as bytes; SpecError where there is more than a snapshot holds.

    Args:
        only: keep the streams of this name alone.
    """
    read = streams.read if isinstance(streams, NativeStreams) else streams.occurred
    spoiled = {} if isinstance(streams, NativeStreams) else streams.spoiled
    state = _State(asked, account, read, spoiled, _saved(streams, only))
    return framed(_WHAT, _ENCODER.encode(state))


def _saved(streams: AnyStreams, only: str | None) -> list[_Stream] | _Native:
    if isinstance(streams, NativeStreams):
        return _Native(streams.save(only), [*streams.forms.values()], streams.files)
    return [_stream(each) for each in streams if only in (None, each.name)]


def _place(at: At) -> Any:
    return [at.file, at.line, at.sequence]


def _at(value: Any) -> At:
    return at_line(*value)


def _stream(stream: Stream) -> _Stream:
    past = [plain(each, _place) for each in stream.past]
    named = stream.file, stream.name, stream.form
    judge = save(stream.judge, _place)
    return _Stream(*named, stream.first, stream.forgotten, stream.ended, past, judge)


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
        return _restored(_DECODER.decode(content), watched=watched)
    except CoreError as error:
        hint = "build the core (make native-core), or begin anew without it"
        raise CoreError(f"the native core made the snapshot: {error.cause}", hint) from None
    except Exception as error:  # whatever a forged value is taken for
        raise CorruptSnapshot(f"the content of the snapshot cannot be read: {error}") from None


def _restored(state: _State, *, watched: bool) -> tuple[Asked, Account, AnyStreams]:
    asked, account = state.asked, state.account
    settings: dict[str, Any] = {"limits": asked.limits, "only": asked.claim, "watched": watched}
    if isinstance(state.streams, _Native):
        native = NativeStreams(account.file, asked.mode, asked.bundle, **settings)
        native.read, native.files = state.read, state.streams.files
        native.forms = {form.name: form for form in state.streams.forms}
        if not native.files or CANONICAL.name not in native.forms:
            raise ValueError("it names no file, or no form of lines")
        native.load(state.streams.state)
        return asked, account, native
    streams = Streams(asked.mode, asked.bundle, **settings)
    streams.occurred, streams.spoiled = state.read, state.spoiled
    for each in state.streams:
        stream = streams.add(each.file, each.name, each.form)
        stream.first, stream.forgotten, stream.ended = each.first, each.forgotten, each.ended
        stream.past = [of_plain(past, _at) for past in each.past]
        stream.judge = load(each.judge, _at, stream.forget)
    return asked, account, streams
