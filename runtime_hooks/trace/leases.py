"""Writes which requests leave blocks for another engine, and which requests read them."""

from __future__ import annotations

import time
from typing import Any, Final, Literal, TypeAlias

import msgspec

from runtime_hooks.settings.config import SettingsError
from runtime_hooks.trace.faults import LOG
from runtime_hooks.trace.file import NewFile

__all__ = ["SUFFIX", "LeaseLine", "LeaseLog"]

SUFFIX: Final = ".leases.jsonl"
"""The end of the name of the file; before it comes that of the trace."""


Kind: TypeAlias = Literal["lease_began", "lease_ended", "read_ended"]


class LeaseLine(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A line: a lease begins or ends, or a read of leased blocks has ended.

    Attributes:
        time_ns: the monotonic clock of the machine, on which that was observed.
        lease: the ids of the engine and of the request that left the blocks, joined by `/`.
        blocks: how many blocks a lease begins with.
        expired: whether the lease ended by its time; None where that is not known. Otherwise it
            ended because its reader said that it was done.
        reader: the request that read the blocks, in an engine of its own.
    """

    schema: Literal["resident-claims/lease/1"] = "resident-claims/lease/1"
    kind: Kind
    time_ns: int
    lease: str
    blocks: int = 0
    expired: bool | None = None
    reader: str = ""


class LeaseLog:
    """The file of one engine, made with its first line. Everything here runs on its thread.

    If the file cannot be written, that is logged once, and no more leases are noted.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: NewFile | None = None
        self._failed = False

    def began(self, lease: str, blocks: int) -> None:
        """An engine leaves the blocks of a request for another engine to read."""
        self._write("lease_began", lease, blocks=blocks)

    def ended(self, lease: str, *, expired: bool | None) -> None:
        """The engine's blocks are its own again."""
        self._write("lease_ended", lease, expired=expired)

    def read(self, lease: str, reader: str) -> None:
        """A request of this engine has read the blocks of another engine."""
        self._write("read_ended", lease, reader=reader)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _write(self, kind: Kind, lease: str, **fields: Any) -> None:
        if self._failed:
            return
        line = LeaseLine(kind=kind, time_ns=time.monotonic_ns(), lease=lease, **fields)
        try:
            if self._file is None:
                self._file = NewFile(self._path, "the file of leases", "trace")
            self._file.write(msgspec.json.encode(line) + b"\n")
        except (OSError, SettingsError) as error:
            self._failed = True
            LOG.error("resident-claims: no more leases are noted: %s", error)
