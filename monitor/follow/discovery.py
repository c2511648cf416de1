"""Finds the sockets on which an SGLang server publishes KV events: it lists them in `/server_info`.

Source: describe_kv_events_publisher in sglang/srt/runtime_context.py of SGLang 0.5.23.
"""

from __future__ import annotations

from http.client import HTTPException
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

import msgspec
from msgspec import Meta

from monitor.follow.addresses import is_publisher
from monitor.input.errors import InputError
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["discover", "is_server", "with_discovered"]

_PATH: Final = "/server_info"
_MOST_BYTES: Final = 4 << 20
_TIMEOUT_S: Final = 5.0
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


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirection: a server names its own sockets only."""


def is_server(text: str) -> bool:
    """Whether an address is that of a server that lists its sockets."""
    return text.startswith(_SCHEMES)


def with_discovered(
    sources: Sequence[str], replays: Sequence[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """The sources with the sockets of servers in place of the servers, and the sockets that replay:
    one for each socket that publishes, empty where there is none.

    Raises:
        InputError: a server does not answer, or publishes no KV events.
        SpecError: there is not one `--replay` for each socket that is named.
    """
    if not any(map(is_server, sources)):
        return sources, replays
    named = [each for each in sources if is_publisher(each)]
    if replays and len(replays) != len(named):
        hint = "name one for each tcp://HOST:PORT, in their order; servers name their own"
        raise SpecError(f"{len(replays)} --replay for {len(named)} sockets", hint)
    given = iter(replays or [""] * len(named))
    found_sources, found_replays = list[str](), list[str]()
    for each in sources:
        if is_server(each):
            for address, replay in discover(each):
                found_sources.append(address)
                found_replays.append(replay)
        else:
            found_sources.append(each)
            found_replays += [next(given)] if is_publisher(each) else []
    return found_sources, found_replays


def discover(url: str) -> list[tuple[str, str]]:
    """The socket of each data-parallel rank, and the one that replays; empty if there is none.

    All are on the host of the server, whatever it says.

    Raises:
        InputError: there is no such server, or it publishes no KV events.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.query or parts.fragment or parts.username:
        raise InputError(url, "no address of a server", hint="such as http://127.0.0.1:30000")
    asked = parts._replace(path=parts.path.rstrip("/").removesuffix(_PATH) + _PATH).geturl()
    opener = build_opener(ProxyHandler({}), _NoRedirect)
    try:
        with opener.open(asked, timeout=_TIMEOUT_S) as answer:
            content = answer.read(_MOST_BYTES + 1)
    except (OSError, HTTPException, ValueError) as error:
        said = f"{error.code}" if isinstance(error, HTTPError) else f"{error}"
        hint = "name the sockets themselves: tcp://HOST:PORT"
        raise InputError(url, f"{_PATH} cannot be read: {said}", hint=hint) from None
    if len(content) > _MOST_BYTES:
        raise InputError(url, f"{_PATH} has over {_MOST_BYTES} bytes")
    try:
        found = msgspec.json.decode(content, type=_Info).kv_events
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(url, f"{_PATH} is not understood: {str(error)[:200]}") from None
    if found is None:
        hint = "start SGLang with --kv-events-config"
        raise InputError(url, "the server publishes no KV events", hint=hint)
    name = f"[{host}]" if ":" in host else host
    return [
        (_socket(name, found.endpoint_port_base, n), _socket(name, replay, n) if replay else "")
        for n in range(found.dp_size)
        for replay in [found.replay_endpoint_port_base]
    ]


def _socket(host: str, base: int, rank: int) -> str:
    return f"tcp://{host}:{base + rank}"
