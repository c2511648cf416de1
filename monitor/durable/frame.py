"""Frames content with its format version, the specification it was made for, and a checksum.

Layout: `MAGIC`, the format version (2 bytes, big-endian), what it is (8 bytes), the digest of the
specification (32 bytes), the size of the content (8 bytes), the content compressed by zlib, and
the SHA-256 of all of that (32 bytes).
"""

from __future__ import annotations

import hashlib
import zlib
from struct import Struct
from typing import Final

from spec.digest import SHORT, spec_digest
from spec.language.errors import SpecError

__all__ = ["LIMIT", "CorruptSnapshot", "ForeignSnapshot", "framed", "unframed"]

LIMIT: Final = 1 << 30
"""Bytes of content in one frame, before they are compressed."""

_MAGIC: Final = b"\x89RCLAIM\n"
_VERSION: Final = 5
_HEADER: Final = Struct(">8sH8s32sQ")
_CALLED: Final = {"ckpoint": "checkpoint"}  # in errors: a frame has eight characters for it
_CHECKSUM: Final = hashlib.sha256().digest_size
_LEVEL: Final = 1  # higher ones take three times as long, for a tenth less
_RATIO: Final = 32  # of the content to what is stored
_AGAIN: Final = "begin anew without it, from the first event"


class CorruptSnapshot(SpecError):
    """A snapshot is torn, truncated, modified, or none."""


class ForeignSnapshot(SpecError):
    """A snapshot is whole, and of another format version or specification, or of another thing."""


def framed(what: str, content: bytes) -> bytes:
    """Content in a frame.

    Args:
        what: at most eight characters of ASCII that say what it is.

    Raises:
        SpecError: there is more than `LIMIT` of it.
    """
    if len(content) > LIMIT:
        called = _CALLED.get(what, what)
        raise SpecError(f"the {called} has {len(content)} bytes of state, over {LIMIT}")
    digest = bytes.fromhex(spec_digest())
    header = _HEADER.pack(_MAGIC, _VERSION, what.encode("ascii"), digest, len(content))
    body = header + _packed(content)
    return body + hashlib.sha256(body).digest()


def unframed(what: str, data: bytes) -> bytes:
    """The content of a frame that was made for this specification.

    Memory is bounded by `LIMIT`, and by 32 times the size of the frame.

    Raises:
        CorruptSnapshot: it is not what `framed` wrote.
        ForeignSnapshot: it was made for another specification, or is another thing.
    """
    called = _CALLED.get(what, what)
    if not data.startswith(_MAGIC[: len(data)]) or not data:
        raise CorruptSnapshot(f"this is no {called} of resident-claims")
    if len(data) < _HEADER.size + _CHECKSUM:
        raise CorruptSnapshot(f"the {called} is truncated after {len(data)} bytes", _AGAIN)
    body, checksum = memoryview(data)[:-_CHECKSUM], data[-_CHECKSUM:]
    if hashlib.sha256(body).digest() != checksum:
        cause = f"the {called} is truncated or modified: its checksum differs"
        raise CorruptSnapshot(cause, _AGAIN)
    _, version, name, digest, size = _HEADER.unpack_from(body)
    if version != _VERSION:
        cause = f"the {called} has format version {version}, and this is {_VERSION}"
        raise ForeignSnapshot(cause, f"read it by the release that wrote it, or {_AGAIN}")
    if name.rstrip(b"\0") != what.encode("ascii"):
        found = name.rstrip(b"\0").decode("ascii", "replace")
        raise ForeignSnapshot(f"this is no {called}, but another thing: {found!r}")
    if digest.hex() != spec_digest():
        made, here = digest.hex()[:SHORT], spec_digest()[:SHORT]
        cause = f"the {called} was made for the specification {made}, and this is {here}"
        raise ForeignSnapshot(cause, f"read it by the release that wrote it, or {_AGAIN}")
    return _content(called, body[_HEADER.size :], size)


def _content(called: str, data: memoryview, size: int) -> bytes:
    if size > min(LIMIT, _RATIO * len(data)):
        raise CorruptSnapshot(f"the {called} states {size} bytes of content, more than is read")
    try:
        return _unpacked(data, size)
    except ValueError as error:
        raise CorruptSnapshot(f"the {called} cannot be decompressed: {error}", _AGAIN) from None


def _packed(content: bytes) -> bytes:
    """Bytes compressed by zlib; what is over `_RATIO` times smaller then is stored as it is."""
    found = zlib.compress(content, _LEVEL)
    return found if len(content) <= _RATIO * len(found) else zlib.compress(content, 0)


def _unpacked(data: bytes | memoryview, size: int) -> bytes:
    """The bytes that `_packed` compressed, which are so many; memory is bounded by that number.

    Raises:
        ValueError: they are others, or more or less.
    """
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(data, size + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(content) != size or not unpacking.eof or unpacking.unused_data:
        raise ValueError(f"there are not {size} bytes")
    return content
