"""Serves tools over standard input and output; each call runs a command in a process of its own.

The process has a limit of time, memory and output, and runs in an empty folder. Files that a client
names are read here, within the roots, and copied to that folder: a command reads the copy alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from spec import __version__
from spec.cli.common import Code
from spec.cli.mcp_tools import TOOLS, line_of, schema_of
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from spec.cli.roots import Roots

__all__ = ["serve"]

_SECONDS: Final = 120
_MEMORY: Final = 4 << 30
_ANSWER: Final = 1 << 20
_ERROR: Final = 4096

_LIMITS: Final = {"CPU": _SECONDS, "AS": _MEMORY, "FSIZE": _ANSWER, "CORE": 0}
_RUN: Final = f"""
import resource, sys
for name, most in {_LIMITS}.items():
    resource.setrlimit(getattr(resource, "RLIMIT_" + name), (most, most))
from spec.cli.console import main
sys.exit(main(sys.argv[1:]))
"""

_INSTRUCTIONS: Final = (
    "Checks what LLM serving runtimes owe for the KV-cache claims that they accepted. check judges "
    "a trace; explain says why; show defines a name that they print; search finds more."
)


def serve(roots: Roots) -> None:
    """Answer calls until standard input ends."""
    anyio.run(_serve, roots)


async def _serve(roots: Roots) -> None:
    commands = _Commands(roots)

    async def listed(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_listed())

    async def called(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answer = await commands.run(params.name, params.arguments or {})
        except SpecError as problem:
            return _answer(f"error: {problem}", is_error=True)
        return _answer(answer)

    server = Server(
        "resident-claims",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _listed() -> list[types.Tool]:
    safe = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return [
        types.Tool(
            name=name,
            description=" ".join((tool.__doc__ or "").split()),
            input_schema=schema_of(tool),
            annotations=safe,
        )
        for name, tool in TOOLS.items()
    ]


def _answer(text: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], is_error=is_error
    )


class _Commands:
    """Runs one command at a time, so that the limits of one are those of all."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._turn = anyio.Lock()

    async def run(self, name: str, arguments: dict[str, Any]) -> str:
        """The JSON that a command prints; raises SpecError where it gives no result."""
        async with self._turn:
            with tempfile.TemporaryDirectory(prefix="resident-claims-") as folder:
                line = line_of(name, arguments, lambda path: self._copied(path, Path(folder)))
                return await _output(line, folder)

    def _copied(self, path: str, folder: Path) -> str:
        content = self._roots.read(path)
        name = Path(path).name
        (folder / name).write_bytes(content)
        return f"./{name}"


async def _output(line: list[str], folder: str) -> str:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = None
        with anyio.move_on_after(_SECONDS):
            code = await _code(line, folder, out, err)
        out.seek(0)
        said = out.read(_ANSWER + 1)
        err.seek(0)
        complaint = err.read().decode(errors="replace").strip()[-_ERROR:]
    if code is None:
        raise SpecError(f"{line[0]} took more than {_SECONDS} seconds", "run the command instead")
    if len(said) >= _ANSWER:
        raise SpecError(f"the answer has more than {_ANSWER} bytes", "ask for one claim or mode")
    if not said or code not in {Code.OK, Code.VIOLATED, Code.INCONCLUSIVE}:
        raise SpecError(complaint.removeprefix("error: ") or f"{line[0]} ended with {code}")
    return said.decode()


async def _code(line: list[str], folder: str, out: IO[bytes], err: IO[bytes]) -> int:
    """Run a command to its end, and return its exit code; where that is cancelled, kill it."""
    # -P: no module is imported from the folder, where the client's files are.
    words = [sys.executable, "-P", "-c", _RUN, *line]
    process = await anyio.open_process(
        words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder, start_new_session=True
    )
    try:
        return await process.wait()
    finally:
        with suppress(ProcessLookupError):  # a prover may have started others
            os.killpg(process.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await process.wait()
