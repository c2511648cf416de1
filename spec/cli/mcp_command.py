"""`resident-claims mcp`: serves commands to clients of the Model Context Protocol."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from spec.cli.arguments import path_option
from spec.cli.roots import Roots
from spec.installed import how_to_install
from spec.language.errors import SpecError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("mcp", epilog="Example: python -m spec mcp --root traces")(_serve)


def _serve(
    roots: Annotated[
        list[Path] | None,
        path_option("--root", metavar="DIR", help="Read files in this folder; may be repeated."),
    ] = None,
) -> None:
    """Serve commands as tools of the Model Context Protocol.

    The tools are check, explain, prove, label, show and search. A client starts this command, and
    talks to it over standard input and output. Each call runs the command, and answers with its
    JSON. Files are read within the roots alone. Needs the extra [mcp]; explain, prove and label
    need [proofs].

    Exit 0, when standard input ends. 2: bad input.
    """
    if find_spec("mcp") is None:
        raise SpecError("mcp is not installed", how_to_install("mcp"))
    from spec.cli.mcp_server import serve  # only now: the extra is there

    serve(Roots(roots or ()))
