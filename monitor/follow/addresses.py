"""Converts what a person typed for a source to the source."""

from __future__ import annotations

import os
import stat
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from monitor.follow.growing_file import GrowingFile
from monitor.follow.streams import Fifo, Peer, StandardInput, Zmq, tcp, unix
from monitor.input.errors import InputError, is_utf8
from monitor.input.lines import STDIN
from spec.installed import how_to_install

if TYPE_CHECKING:
    from monitor.follow.outlet import Source

__all__ = ["FORMS", "is_socket", "source_of"]

FORMS: Final = "PATH, file:PATH, -, unix:PATH, tcp:HOST:PORT or zmq:ADDRESS"
_WAITS: Final = "file:"


def source_of(text: str, *, until_eof: bool) -> Source:
    """The source of this address; it is not opened yet.

    A path must be there; `file:PATH` waits until it is.

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
    if scheme == "tcp" and rest:
        return Peer(tcp(*_host_and_port(text, rest)), until_eof=until_eof)
    if scheme == "zmq" and rest:
        return _zmq(text, rest, until_eof=until_eof)
    return _of_path(text, until_eof=until_eof)


def is_socket(text: str) -> bool:
    """Whether a path names a Unix socket."""
    return _kind(text) == stat.S_IFSOCK


def _host_and_port(text: str, rest: str) -> tuple[str, int]:
    host, colon, port = rest.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise InputError(text, "no host and port", hint="such as tcp:127.0.0.1:9000")
    return host, int(port)


def _zmq(text: str, address: str, *, until_eof: bool) -> Source:
    if find_spec("zmq") is None:
        raise InputError(text, "pyzmq is not installed", hint=how_to_install("zmq"))
    if "://" not in address:
        raise InputError(text, "no ZMQ address", hint="such as zmq:tcp://127.0.0.1:5557")
    if until_eof:
        raise InputError(text, "what is published has no end", hint="leave out --until-eof")
    return Zmq(address)


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
    return GrowingFile(path, until_eof=until_eof)


def _kind(path: str) -> int | None:
    """What kind of file there is; None where there is none."""
    try:
        return stat.S_IFMT(os.stat(path).st_mode)
    except (OSError, ValueError):
        return None
