"""Receives OpenTelemetry log records: a collector posts them, as OTLP/HTTP in JSON or protobuf.

A request is answered with success once its lines wait in the buffer. Where that is full, the sender
is asked to come again. Requests may come in any order, and twice: the numbers of the events decide.
"""

from __future__ import annotations

import io
import re
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from monitor.follow.http_server import HttpServer, has_token
from monitor.follow.streams import Once
from monitor.input.compressed import decompressed, format_of
from monitor.input.errors import Corrupt
from monitor.input.otlp_requests import (
    BadRequest,
    Form,
    NoProtobuf,
    answer,
    failure,
    lines_in,
    unread_in,
)
from spec.language.prose import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.follow.buffer import Line, Outlet
    from monitor.follow.http_server import Address

__all__ = ["BODY_BYTES", "PATH", "REFUSED", "OtlpReceiver"]

PATH: Final = "/v1/logs"

BODY_BYTES: Final = 4 << 20
"""Most bytes of a request, as it comes and decompressed."""

REFUSED: Final = "a request with log records was refused"
"""Why lines may be missing. The sender is told the reason."""

_DRAINED: Final = 4 * BODY_BYTES  # of a refused request: some senders read no answer before
_CHUNK: Final = 1 << 16
_LOOK_S: Final = 0.2
_RETRY_S: Final = "1"
_OK, _FULL = "200 OK", "503 Service Unavailable"
_ENCODINGS: Final = ("", "identity", "gzip")
_LENGTH: Final = re.compile(r"[0-9]{1,18}")


class _Refused(Exception):
    """A request is answered with this status and text.

    Attributes:
        is_loss: the sender will not send its log records again.
    """

    def __init__(self, status: str, text: str, *, is_loss: bool = True) -> None:
        super().__init__(status, text)
        self.status, self.text, self.is_loss = status, text, is_loss


class OtlpReceiver(Once):
    """The log records that are posted to an address, each as a line.

    It listens as soon as it is made, and answers while it runs.

    Args:
        name: of the source, in errors.
        token: is asked for as `Authorization: Bearer`; None for none.
        checks: the answer counts log records that cannot be read as they are.

    Raises:
        InputError: the address is taken, or not of this machine.
    """

    lossy = True

    def __init__(
        self, name: str, address: Address, token: str | None, *, checks: bool = True
    ) -> None:
        self._token, self._checks = token, checks
        self._decoding = threading.Lock()  # a decoded request takes many times its bytes
        self._order = threading.Lock()  # of what is put into the buffer
        self._broken = False  # whether a loss was reported, and no lines were accepted since
        self._server = HttpServer(name, address)
        self.port = self._server.port

    def run(self, outlet: Outlet) -> None:
        """Answer until asked to stop."""

        def serve(environ: dict[str, Any], start: Any) -> list[bytes]:
            request = _Request(environ)
            try:
                status, body = _OK, self._accept(request, outlet)
            except _Refused as refused:
                status, body = refused.status, failure(request.answered, refused.text)
                if refused.is_loss:
                    self._lose(outlet)
                request.drain()
            except Exception:  # answered by 500, after which the sender gives up
                self._lose(outlet)
                raise
            headers = [("Content-Type", str(request.answered)), ("Content-Length", str(len(body)))]
            headers += [("Retry-After", _RETRY_S)] if status == _FULL else []
            start(status, [*headers, ("Server", "resident-claims")])
            return [body]

        self._server.set_app(serve)
        self._server.timeout = _LOOK_S
        outlet.connects += 1
        with self._server:
            while not outlet.stopping:
                self._server.handle_request()

    def _accept(self, request: _Request, outlet: Outlet) -> bytes:
        """Put the lines of a request into the buffer; the body of the answer. Raises _Refused."""
        request.check_target()
        if not has_token(request.environ, self._token):
            raise _Refused("401 Unauthorized", "a token is needed", is_loss=False)
        packed = request.read()
        with self._decoding:
            lines = request.decode(packed)
            unread = unread_in(lines) if self._checks else []
        self._offer(lines, outlet)
        said = ""
        if unread:
            said = f"{counted(len(unread), 'log record')} cannot be read as events, the first is "
            said += f"number {unread[0]}; claims that are alive are inconclusive"
        return answer(request.answered, len(unread), said)

    def _offer(self, lines: Sequence[Line], outlet: Outlet) -> None:
        with self._order:
            if not outlet.offer(lines):
                raise _Refused(_FULL, "lines wait to be judged; come again", is_loss=False)
            self._broken = self._broken and not lines

    def _lose(self, outlet: Outlet) -> None:
        """Lines are missing here; said once, or refused requests would fill the buffer."""
        with self._order:
            if not self._broken:
                self._broken = True
                outlet.interrupted(REFUSED)


class _Request:
    """A request of which only the headers were read yet."""

    def __init__(self, environ: Mapping[str, Any]) -> None:
        self.environ = environ
        kind = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
        self._form = next((form for form in Form if form == kind), None)
        length = environ.get("CONTENT_LENGTH") or ""
        self._length = int(length) if _LENGTH.fullmatch(length) else None
        self._left = self._length or 0

    @property
    def answered(self) -> Form:
        """The form of the answer."""
        return self._form or Form.JSON

    def check_target(self) -> None:
        """Raise _Refused unless it is posted to where log records are received."""
        if self.environ["PATH_INFO"] != PATH:
            raise _Refused("404 Not Found", f"log records go to {PATH}", is_loss=False)
        if self.environ["REQUEST_METHOD"] != "POST":
            raise _Refused("405 Method Not Allowed", "only POST", is_loss=False)

    def read(self) -> bytes:
        """The body as it was sent; raises _Refused."""
        if self._form is None:
            kinds = " or ".join(Form)
            raise _Refused("415 Unsupported Media Type", f"the content type must be {kinds}")
        if self._encoding not in _ENCODINGS:
            raise _Refused("415 Unsupported Media Type", "the encoding must be gzip or none")
        if self._length is None:
            raise _Refused("411 Length Required", "state Content-Length")
        if self._length > BODY_BYTES:
            raise _too_large()
        try:
            body: bytes = self.environ["wsgi.input"].read(self._length)
        except OSError:
            body = b""
        self._left = 0
        if len(body) < self._length:
            raise _Refused("408 Request Timeout", "the body did not come", is_loss=False)
        return body

    def decode(self, packed: bytes) -> list[Line]:
        """The lines of a body; raises _Refused."""
        body, form = packed, self.answered
        if self._encoding == "gzip":
            body = _unpacked(packed)
        try:
            return lines_in(body, form)
        except BadRequest as error:
            raise _Refused("400 Bad Request", str(error)) from None
        except NoProtobuf as error:
            raise _Refused("415 Unsupported Media Type", str(error)) from None

    def drain(self) -> None:
        """Read and drop what was not read of the body."""
        left = min(self._left, _DRAINED)
        with suppress(OSError):
            while left > 0 and (piece := self.environ["wsgi.input"].read(min(left, _CHUNK))):
                left -= len(piece)

    @property
    def _encoding(self) -> str:
        return str(self.environ.get("HTTP_CONTENT_ENCODING", "")).strip().lower()


def _unpacked(packed: bytes) -> bytes:
    """The content of a body in gzip, decompressed no further than `BODY_BYTES`."""
    of, found = format_of(packed), bytearray()
    if of is None or of.name != "gzip":
        raise _Refused("400 Bad Request", "the body is no gzip data")
    try:
        for piece in decompressed(io.BufferedReader(io.BytesIO(packed)), of):
            found += piece
            if len(found) > BODY_BYTES:
                raise _too_large()
    except Corrupt as error:
        raise _Refused("400 Bad Request", str(error)) from None
    return bytes(found)


def _too_large() -> _Refused:
    most = f"a request has at most {BODY_BYTES} bytes"
    return _Refused("413 Content Too Large", f"{most}; send smaller batches")
