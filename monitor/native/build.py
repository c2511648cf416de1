"""Builds the native core where cargo is found, and its tables: `python -m monitor.native.build`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from monitor.native import CoreError, library
from monitor.native.binding import name_of, vocabulary
from monitor.native.current import BUILT, STAMP
from monitor.native.judge import NativeJudge
from monitor.native.tables import table
from spec.contract.modes import Bundle

__all__ = ["build"]

_CRATE: Final = Path(__file__).with_name("Cargo.toml")


def build() -> str:
    """Build the library and write the tables; return why not, if so."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return "no cargo: the native core is not built, and the judge in Python runs"
    began = time.time()
    command = [cargo, "build", "--quiet", "--release", "--offline"]
    places = ["--manifest-path", str(_CRATE), "--target-dir", str(BUILT.parent)]
    if subprocess.run([*command, *places], check=False).returncode:
        return "the native core cannot be built, and the judge in Python runs"
    if library() is not None and all(map(_has_table, Bundle)):
        return ""
    for old in BUILT.glob("table-*"):
        old.unlink()
    (BUILT / STAMP).touch()
    os.utime(BUILT / STAMP, (began, began))
    library.cache_clear()
    try:
        for bundle in Bundle:
            (BUILT / name_of(bundle)).write_bytes(table(bundle, vocabulary()))
    except Exception:
        (BUILT / STAMP).unlink()
        raise
    return ""


def _has_table(bundle: Bundle) -> bool:
    """Whether the table of a bundle is there, and whole."""
    try:
        NativeJudge(bundle=bundle)
    except CoreError:
        return False
    return (BUILT / name_of(bundle)).exists()


if __name__ == "__main__":
    if why := build():
        sys.stdout.write(f"{why}\n")
