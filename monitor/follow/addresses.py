"""Converts what a person typed for a source, an address or a token."""

from __future__ import annotations

import ipaddress
import os
import stat
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from monitor.follow.fetch import parts_of
from monitor.follow.growing_file import GrowingFile
from monitor.follow.http_server import Address
from monitor.follow.kv_socket import KvSocket
from monitor.follow.otlp_receiver import OtlpReceiver
from monitor.follow.packed_file import PackedFile
from monitor.follow.streams import Fifo, Peer, StandardInput, Zmq, tcp, unix
from monitor.input.errors import InputError, is_utf8
from monitor.input.lines import STDIN, is_packed
from monitor.input.logs import PLAIN
from spec.installed import how_to_install
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from pathlib import Path

    from monitor.follow.buffer import Source
    from monitor.input.logs import Extraction

__all__ = [
    "FORMS",
    "address_of",
    "check_endpoint",
    "check_url",
    "endpoint",
    "is_publisher",
    "is_receiver",
    "is_socket",
    "source_of",
    "token_in",
]

FORMS: Final = (
    "PATH, file:PATH, -, unix:PATH, tcp:HOST:PORT, zmq:ADDRESS, otlp:HOST:PORT or tcp://HOST:PORT"
)
_ZMQ: Final = ("tcp://", "ipc://")
_EXAMPLE: Final = "tcp://127.0.0.1:5557"
_WAITS: Final = "file:"
_OTLP: Final = "otlp:"
_LOGS: Final = "/v1/logs"
_TOKEN_BYTES: Final = 4096


def source_of(
    text: str,
    *,
    until_eof: bool,
    replay: str | None = None,
    token: str | None = None,
    how: Extraction = PLAIN,
) -> Source:
    """The source of this address. One that receives listens already; others are not opened yet.

    A path must be there; `file:PATH` waits until it is.

    Args:
        replay: the socket that replays KV events, of a socket that publishes them.
        token: what a source that receives asks for.
        how: how lines of events are taken out of what is received.

    Raises:
        InputError: there is no such thing, or it cannot be followed.
    """
    scheme, _, rest = text.partition(":")
    if not is_utf8(text):  # verdicts could not cite it
        raise InputError(text, "the name is no UTF-8", hint="give it another name, or a link")
    if text == STDIN:
        return StandardInput()
    if scheme == "unix" and rest:
        return Peer(unix(rest), until_eof=until_eof)
    if is_publisher(text):
        return _kv_socket(text, replay, until_eof=until_eof)
    if is_receiver(text):
        return _receiver(text, token, until_eof=until_eof, checks=how == PLAIN)
    if scheme == "tcp" and rest:
        return Peer(tcp(*_host_and_port(text, rest)), until_eof=until_eof)
    if scheme == "zmq" and rest:
        return _zmq(text, rest, until_eof=until_eof)
    return _of_path(text, until_eof=until_eof)


def is_publisher(text: str) -> bool:
    """Whether an address is that of a socket on which an engine publishes KV events."""
    return text.startswith(_ZMQ)


def is_receiver(text: str) -> bool:
    """Whether an address is one to which log records are posted."""
    return text.startswith(_OTLP)


def is_socket(text: str) -> bool:
    """Whether a path names a Unix socket."""
    return _kind(text) == stat.S_IFSOCK


def _host_and_port(text: str, rest: str, example: str = "tcp:127.0.0.1:9000") -> Address:
    found = _parted(rest)
    if found is None or not (found.host and found.port):
        raise InputError(text, "no host and port", hint=f"such as {example}")
    return found


def _parted(text: str) -> Address | None:
    """The host, perhaps empty, and the port in `HOST:PORT` or `PORT`; None where there is none."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        return None
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def _receiver(text: str, token: str | None, *, until_eof: bool, checks: bool) -> Source:
    address = _host_and_port(text, text.removeprefix(_OTLP), f"{_OTLP}127.0.0.1:4318")
    if until_eof:
        raise InputError(text, "what is posted has no end", hint="leave out --until-eof")
    if not _is_loopback(address.host) and not token:
        hint = "listen on 127.0.0.1, or name a file with a token by --listen-token"
        raise InputError(text, "other machines can reach it", hint=hint)
    return OtlpReceiver(text, address, token, checks=checks)


def _zmq(text: str, address: str, *, until_eof: bool) -> Source:
    _check_zmq(text, address, "zmq:tcp://127.0.0.1:9000", until_eof=until_eof)
    return Zmq(address)


def _kv_socket(text: str, replay: str | None, *, until_eof: bool) -> Source:
    for address in (text, *(() if replay is None else (replay,))):
        _check_zmq(address, address, _EXAMPLE, until_eof=until_eof)
        scheme, _, rest = address.partition("://")
        if scheme == "tcp" and _host_and_port(address, rest, _EXAMPLE).host == "*":
            raise InputError(address, "* is for who publishes", hint=f"name a host: {_EXAMPLE}")
    return KvSocket(text, replay)


def _check_zmq(text: str, address: str, example: str, *, until_eof: bool) -> None:
    if find_spec("zmq") is None:
        raise InputError(text, "pyzmq is not installed", hint=how_to_install("zmq"))
    if not address.startswith(_ZMQ):
        raise InputError(text, "no ZMQ address", hint=f"such as {example}")
    if until_eof:
        raise InputError(text, "what is published has no end", hint="leave out --until-eof")


def _of_path(text: str, *, until_eof: bool) -> Source:
    path = text.removeprefix(_WAITS)
    kind = _kind(path)
    if kind is None:
        if path == text or until_eof:
            hint = f"name one that is there; {_WAITS}{path} waits for it"
            raise InputError(text, "no such file", hint="" if until_eof else hint)
        if not os.path.isdir(os.path.dirname(path) or "."):
            raise InputError(text, "no such folder", hint="make it, or name another")
        return GrowingFile(path)
    if kind == stat.S_IFIFO:
        return Fifo(path, until_eof=until_eof)
    if kind == stat.S_IFSOCK:
        hint = f"unix:{path} reads events from it; by itself it is followed for live verdicts"
        raise InputError(text, "this is a socket", hint=hint)
    if kind != stat.S_IFREG:
        what = "a directory" if kind == stat.S_IFDIR else "a device"
        raise InputError(text, f"this is {what}", hint=f"name {FORMS}")
    if not os.access(path, os.R_OK):
        raise InputError(text, "permission denied", hint="make it readable for you")
    return PackedFile(path) if is_packed(path) else GrowingFile(path, until_eof=until_eof)


def _kind(path: str) -> int | None:
    """What kind of file there is; None where there is none."""
    try:
        return stat.S_IFMT(os.stat(path).st_mode)
    except (OSError, ValueError):
        return None


def address_of(text: str, token: str | None) -> Address:
    """The address that `--metrics` names: PORT, of the loopback interface, or HOST:PORT.

    Raises:
        SpecError: it is none, others than this machine reach it and there is no token, or
            prometheus_client is not installed.
    """
    found = _parted(text)
    if found is None:
        raise SpecError(f"--metrics {text}: no port", "give PORT or HOST:PORT, such as 9464")
    found = found._replace(host=found.host or "127.0.0.1")
    if not _is_loopback(found.host) and not token:
        raise SpecError(
            f"--metrics {text} can be read from other machines",
            "serve 127.0.0.1, or name a file with a token by --metrics-token",
        )
    if find_spec("prometheus_client") is None:
        raise SpecError("prometheus_client is not installed", how_to_install("metrics"))
    return found


def token_in(path: Path, option: str = "--metrics-token") -> str:
    """The token in a file, without blanks around it; raises SpecError, which names the option."""
    try:
        with path.open("rb") as file:
            token = file.read(_TOKEN_BYTES).strip().decode("ascii")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no ASCII text"
        raise SpecError(f"{option} {path}: {reason}", "name a file with a token") from None
    if len(token) < 16:
        raise SpecError(f"{option} {path}: under 16 characters", "make a longer one")
    return token


def check_url(url: str, option: str) -> str:
    """The address, if something can be posted to it.

    Raises:
        SpecError: it is none; the error names the option.
    """
    if parts_of(url) is None:
        raise SpecError(f"{option} {url}: no web address", "such as https://alerts.example/hook")
    return url


def check_endpoint(url: str, token: str | None) -> str:
    """The address to which log records are posted: with the usual path if it has none.

    Raises:
        SpecError: it is none, or the token would be sent to another machine in the clear.
    """
    found = endpoint(url, "--otlp", _LOGS)
    parts = urlsplit(url)
    if token is not None and parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        raise SpecError(
            f"--otlp {url}: the token would be sent to another machine in the clear",
            "give an https address, or leave out --otlp-token",
        )
    return found


def endpoint(url: str, option: str, path: str) -> str:
    """The address of a collector, with the usual path if it has none; raises SpecError."""
    parts = urlsplit(check_url(url, option))
    return url if parts.path not in ("", "/") else parts._replace(path=path).geturl()


def _is_loopback(host: str) -> bool:
    """Whether only processes of this machine reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
