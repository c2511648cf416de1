"""Puts the native core into the wheel, where it was built. hatchling runs this file at a build."""

from __future__ import annotations

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeCore(BuildHookInterface[Any]):
    """Adds the library and its tables; the wheel is then for all Pythons of one platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is built."""
        library = runpy.run_path(str(Path(self.root, "monitor/native/current.py")))["find"]()
        if version == "editable" or library is None:
            return
        for place in (library, *library.parent.glob("table-*.bin")):
            build_data["force_include"][str(place)] = f"monitor/native/{place.name}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
