"""Finds the folder of the engines' sockets, which nobody else may read, and the sockets in it.

The processes of one server share a mark, so that those that answer HTTP find the socket of their
own engine among those of others.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Final

from runtime_hooks.routing.routes import SUFFIX
from runtime_hooks.settings.switch import mark_server
from spec.language.errors import SpecError

__all__ = [
    "default_folder",
    "make_private",
    "name_of_socket",
    "own_sockets",
    "routes_of_server",
    "server_of",
    "sockets",
]

_SUFFIX: Final = ".sock"


def default_folder() -> Path:
    """The folder where no setting names one: in the user's own runtime folder, if there is one."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.path.isdir(runtime):
        return Path(runtime, "resident-claims")
    return Path(tempfile.gettempdir(), f"resident-claims-{os.getuid()}")


def make_private(folder: Path) -> None:
    """Make a folder that only its owner may enter, or check that it is one.

    Raises:
        SpecError: it is not, or cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError(f"the folder {folder} cannot be made: {reason}", _REMEDY) from None
    if not stat.S_ISDIR(found.st_mode):
        raise SpecError(f"{folder} is no folder", _REMEDY)
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise SpecError(f"others may enter the folder {folder}", "chmod 700, or name another")


def name_of_socket(engine: str) -> str:
    """The name of an engine's socket: the engine's process, and the mark of its server."""
    return f"{engine}.{mark_server()}{_SUFFIX}"


def server_of(path: Path) -> str:
    """The mark of the server whose engine has this socket."""
    return path.name.removesuffix(_SUFFIX).rpartition(".")[2]


def routes_of_server() -> str:
    """The end of the names of this server's files of routes."""
    return f".{mark_server()}{SUFFIX}"


def own_sockets(folder: Path) -> list[Path]:
    """The sockets of this server's engines.

    Raises:
        SpecError: the folder cannot be read.
    """
    end = name_of_socket("")
    return [path for path in sockets(folder) if path.name.endswith(end)]


def sockets(folder: Path) -> list[Path]:
    """The sockets in a folder, of live engines and of dead ones; none where there is no folder.

    Raises:
        SpecError: the folder cannot be read.
    """
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SpecError(f"{folder} cannot be read: {error.strerror}", "name a socket") from None
    return [folder / name for name in names if name.endswith(_SUFFIX)]


_REMEDY: Final = "name another folder as `control`"
