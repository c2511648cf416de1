"""Loads the library of the native core, and the tables that it reads.

A table takes a second to make, so tables are kept beside the library, under the digest of the
specification that they were made from.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec

from monitor.native import CHOICE, CoreError, library
from spec.contract.modes import Bundle
from spec.digest import spec_digest

__all__ = ["loaded", "name_of", "table_of", "vocabulary"]


@cache
def loaded() -> ctypes.CDLL:
    """The library; raises CoreError where there is none."""
    place = library()
    if place is None:
        raise CoreError("no native core is built", f"run make native-core, or set {CHOICE}=python")
    made = ctypes.CDLL(str(place))
    handle, data, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    number = ctypes.c_uint64
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "rc_vocabulary": (data, []),
        "rc_new": (handle, [data, size, data, size]),
        "rc_free": (None, [handle]),
        "rc_out": (handle, [handle, ctypes.POINTER(size)]),
        "rc_feed": (ctypes.c_int64, [handle, data, size, size, number]),
    }
    for name in ("take", "lose", "finish", "look", "save", "load"):
        signatures[f"rc_{name}"] = ctypes.c_int64, [handle, data, size]
    for name, (result, arguments) in signatures.items():
        function = getattr(made, name)
        function.restype, function.argtypes = result, arguments
    # Without argument types a call takes half as long. The caller gives what C expects: a pointer,
    # bytes, an int, and a c_uint64.
    made.rc_line.restype = ctypes.c_int64
    return made


@cache
def vocabulary() -> dict[str, list[str]]:
    """The names that the core knows, by what they name; their places are their numbers."""
    names: dict[str, list[str]] = msgspec.json.decode(loaded().rc_vocabulary())
    return names


def name_of(bundle: Bundle) -> str:
    """The name of the file of a table."""
    return f"table-{bundle}-{spec_digest()}.bin"


@cache
def table_of(bundle: Bundle) -> bytes:
    """The table of a bundle: as it lies beside the library, or made now."""
    if (place := library()) is not None:
        with suppress(OSError):
            return place.with_name(name_of(bundle)).read_bytes()
    from monitor.native.tables import table

    return table(bundle, vocabulary())
