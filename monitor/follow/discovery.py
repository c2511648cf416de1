"""Finds the sockets on which an SGLang server publishes KV events: it lists them in `/server_info`.

Source: describe_kv_events_publisher in sglang/srt/runtime_context.py of SGLang 0.5.23.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from msgspec import Meta

from monitor.follow.addresses import is_publisher
from monitor.follow.fetch import fetch, parts_of, within
from monitor.input.errors import InputError
from spec.language.errors import SpecError
from spec.language.prose import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["discover", "is_server", "with_replays"]

_PATH: Final = "/server_info"
_MOST_BYTES: Final = 4 << 20
_MOST_S: Final = 10.0
_EXAMPLE: Final = "such as http://127.0.0.1:30000"
_NAME_THEM: Final = "name the sockets themselves: tcp://HOST:PORT"
_SCHEMES: Final = ("http://", "https://")
_Port = Annotated[int, Meta(ge=1, lt=1 << 16)]


class _Publisher(msgspec.Struct, frozen=True):
    """What a server says of its publishers; a port is that of rank 0."""

    publisher: Literal["zmq"]
    endpoint_port_base: _Port
    dp_size: Annotated[int, Meta(ge=1, le=64)] = 1
    replay_endpoint_port_base: _Port | None = None


class _Info(msgspec.Struct, frozen=True):
    kv_events: _Publisher | None = None


def is_server(text: str) -> bool:
    """Whether an address is that of a server that lists its sockets."""
    return text.startswith(_SCHEMES)


def with_replays(sources: Sequence[str], replays: Sequence[str]) -> dict[str, str]:
    """The sources, with the sockets of servers in place of the servers. Each has the socket that
    replays what it publishes; empty where there is none.

    Raises:
        InputError: a server does not answer, or publishes no KV events.
        SpecError: there is not one `--replay` for each socket that is named.
    """
    named = [each for each in dict.fromkeys(sources) if is_publisher(each)]
    if replays and len(replays) != len(named):
        cause = f"{len(replays)} --replay for {counted(len(named), 'socket')} of KV events"
        hint = "name one for each tcp://HOST:PORT, in their order, or none; servers name their own"
        raise SpecError(cause, hint)
    given, found = dict(zip(named, replays, strict=bool(replays))), dict[str, str]()
    for each in sources:
        for address, replay in discover(each) if is_server(each) else [(each, "")]:
            found.setdefault(address, given.get(address) or replay)
    return found


def discover(url: str) -> list[tuple[str, str]]:
    """The socket of each data-parallel rank, and the one that replays; empty if there is none.

    All are on the host of the server, also if it names another.

    Raises:
        InputError: there is no such server, or it publishes no KV events.
    """
    if (parts := parts_of(url)) is None:
        raise InputError("http://", "no host and port of a server", hint=_EXAMPLE)
    shown = f"{parts.scheme}://{parts.netloc}" if "@" not in parts.netloc else f"{parts.scheme}://"
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError(shown, "no address of a server", hint=_EXAMPLE)
    path = parts.path.rstrip("/").removesuffix(_PATH) + _PATH
    content = _asked(parts._replace(path=path).geturl(), shown)
    try:
        found = msgspec.json.decode(content, type=_Info).kv_events
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise InputError(shown, f"kv_events of {_PATH} is not understood") from None
    host = parts.hostname or ""
    if found is None:
        hint = "start SGLang with --kv-events-config"
        raise InputError(shown, "the server publishes no KV events", hint=hint)
    name = f"[{host}]" if ":" in host else host
    return [
        (_socket(name, found.endpoint_port_base, n), _socket(name, replay, n) if replay else "")
        for n in range(found.dp_size)
        for replay in [found.replay_endpoint_port_base]
    ]


def _asked(url: str, shown: str) -> bytes:
    """The body of an answer; a server that is too slow is not waited for."""
    try:
        return within(_MOST_S, partial(fetch, url, _MOST_BYTES, _MOST_S))
    except (OSError, ValueError) as error:
        why = f"{_PATH} cannot be read: {error}"
        raise InputError(shown, why, hint=_NAME_THEM) from None


def _socket(host: str, base: int, rank: int) -> str:
    return f"tcp://{host}:{base + rank}"
