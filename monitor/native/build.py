"""Builds the native core where cargo is found, and writes its tables: `python -m monitor.native.build`.

The tables of the bundles take a second to make, so that they are kept beside the library, under
the digest of the specification that they were made from.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from monitor.native import BUILT, library
from spec.contract.modes import Bundle
from spec.digest import spec_digest

__all__ = ["build", "table_of"]

_CRATE: Final = Path(__file__).with_name("Cargo.toml")
_NONE: Final = "no cargo: the native core is not built, and the judge in Python runs"


def _name(bundle: Bundle) -> str:
    return f"table-{bundle}-{spec_digest()}.json"


@cache
def table_of(bundle: Bundle) -> bytes:
    """The table of a bundle: as it lies beside the library, or made now."""
    if (place := library()) is not None:
        with suppress(OSError):
            return place.with_name(_name(bundle)).read_bytes()
    from monitor.native.tables import table

    return table(bundle)


def build() -> str:
    """Build the library and write the tables; return what is to be said, if anything."""
    from monitor.native.tables import table

    cargo = shutil.which("cargo")
    if cargo is None:
        return _NONE
    command = [cargo, "build", "--quiet", "--release", "--offline", "--manifest-path", _CRATE]
    done = subprocess.run([*command, "--target-dir", BUILT.parent], check=False)
    if done.returncode:
        return "the native core could not be built, and the judge in Python runs"
    for old in BUILT.glob("table-*.json"):
        old.unlink()
    for bundle in Bundle:
        (BUILT / _name(bundle)).write_bytes(table(bundle))
    return ""


if __name__ == "__main__":
    if says := build():
        sys.stdout.write(f"{says}\n")
