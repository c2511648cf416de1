"""Tests of `resident-claims mcp`, asked by the client of the mcp package."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from spec.claims.states import Mode
from spec.cli.mcp_tools import TOOLS, line_of, schema_of
from spec.language.errors import SpecError
from tests.installation import ROOT, call, environment, without
from tests.schemas import faults

SAMPLES = ROOT / "monitor" / "samples"
VICTIM = "hard_protected_victim.jsonl"
CLI = "import sys; from spec.cli.console import main; sys.exit(main())"


def ask(*calls: tuple[str, dict[str, Any]], roots: tuple[Path, ...] = ()) -> list[Any]:
    """What a server with these roots answers, one call after another: JSON, or an error's text."""
    mcp = pytest.importorskip("mcp", reason="the extra [mcp] is not installed")
    anyio = pytest.importorskip("anyio")
    words = [word for root in roots for word in ("--root", str(root))]
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-c", CLI, "mcp", *words], env=environment(), cwd="/"
    )

    async def session() -> list[Any]:
        async with mcp.Client(server) as client:
            listed = await client.list_tools()
            assert [*TOOLS] == [each.name for each in listed.tools]
            return [_said(await client.call_tool(*each)) for each in calls]

    found: list[Any] = anyio.run(session)
    return found


def _said(result: Any) -> Any:
    (content,) = result.content
    if not result.is_error:
        return json.loads(content.text)
    assert content.text.startswith("error: ")
    return content.text.removeprefix("error: ")


class TestServed:
    """A server in a process of its own."""

    def test_tools(self) -> None:
        """Each tool answers with the JSON that its command prints."""
        args = {"trace": VICTIM, "claim": "claim:system-prompt", "mode": "hard_protected"}
        asked: list[tuple[str, dict[str, Any]]] = [
            ("check", {"trace": VICTIM}),
            ("explain", args),
            ("label", {"descriptor": "patched.yaml", "mode": "offloadable"}),
            ("label", {"descriptor": "vllm_plugin"}),
            ("show", {"name": "RC114"}),
            ("search", {"words": "capacity proof", "most": 1}),
        ]
        found = ask(*asked, roots=(SAMPLES, ROOT / "docs" / "examples"))
        for (name, arguments), answer in zip(asked, found, strict=True):
            line = line_of(name, arguments, lambda path: path)
            cwd = ROOT / "docs" / "examples" if "patched.yaml" in line else SAMPLES
            printed = json.loads(call("-c", CLI, *line, cwd=cwd).stdout)
            assert printed == json.loads(json.dumps(answer).replace('"./', '"'))

    def test_prove(self) -> None:
        """A mode is proved."""
        (found,) = ask(("prove", {"mode": "best_effort"}))
        (check,) = found["checks"]
        assert ("best_effort", "proved") == (check["mode"], check["sound"]["result"])

    def test_files(self, tmp_path: Path) -> None:
        """A file outside the roots is not read, by no tool and on no way."""
        root, other = tmp_path / "root", tmp_path / "other"
        root.mkdir()
        other.mkdir()
        shutil.copy(SAMPLES / VICTIM, other / "secret.jsonl")
        shutil.copy(ROOT / "docs/examples/patched.yaml", other / "secret.yaml")
        (root / "link.jsonl").symlink_to(other / "secret.jsonl")
        paths = ["../other/secret.jsonl", str(other / "secret.jsonl"), "link.jsonl", "-", "none"]
        asked = [(tool, {"trace": path}) for tool in ("check", "explain") for path in paths]
        asked += [("label", {"descriptor": p}) for p in ("../other/secret.yaml", "./secret.yaml")]
        for (_, arguments), answer in zip(asked, ask(*asked, roots=(root,)), strict=True):
            (path,) = arguments.values()
            says = "name a file below a folder that was given with --root"
            assert f"{path} is not a file within the roots; {says}" == answer

    def test_anchors(self, tmp_path: Path) -> None:
        """An anchor of a descriptor opens no file, also none beside the descriptor."""
        text = (ROOT / "docs/examples/patched.yaml").read_text()
        (tmp_path / "secret").write_text("\n")
        (tmp_path / "d.yaml").write_text(text)
        told = ask(("label", {"descriptor": "d.yaml"}), roots=(tmp_path,))[0]
        assert [] == [each for each in told.get("anchors", []) if each["opened"]]

    def test_bad(self, tmp_path: Path) -> None:
        """Whatever a client may mistype is answered by an error, and the server goes on."""
        (tmp_path / "bad.jsonl").write_text("[]\n")
        found = ask(
            ("check", {"trace": 5}),
            ("check", {}),
            ("check", {"trace": "bad.jsonl", "more": 1}),
            ("check", {"trace": "bad.jsonl", "mode": "--help"}),
            ("check", {"trace": "bad.jsonl"}),
            ("prove", {"mode": "frame"}),
            ("show", {"name": "--help"}),
            ("other", {}),
            ("search", {"words": "a\0b"}),
            ("show", {"name": "V"}),
            roots=(tmp_path,),
        )
        wants = [
            "check: Expected `str`, got `int` - at `$.trace`",
            "check: Object missing required field `trace`",
            "check: Object contains unknown field `more`",
            "check: Invalid enum value '--help' - at `$.mode`",
            "./bad.jsonl:1",
            "prove: Invalid enum value 'frame' - at `$.mode`",
            "there is no mode, obligation",
            "there is no tool 'other'; call one of check, explain,",
            "search: a text has a NUL character",
        ]
        assert all(answer.startswith(want) for answer, want in zip(found, wants, strict=False))
        assert "victim_exclusion_before_violation" == found[-1]["name"]

    def test_large_answer(self, tmp_path: Path) -> None:
        """An answer of more than a MiB is an error, whose text says what to ask instead."""
        registered = json.loads((SAMPLES / VICTIM).read_text().splitlines()[0])
        events = (registered | {"sequence": n, "claim_id": f"claim:{n}"} for n in range(3000))
        (tmp_path / "t.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
        (answer,) = ask(("check", {"trace": "t.jsonl"}), roots=(tmp_path,))
        assert "the answer has more than 1048576 bytes; ask for one claim or mode" == answer


class TestLimits:
    """The process of a call."""

    def test_time(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """A command that takes too long is killed, with the processes that it started."""
        pytest.importorskip("mcp", reason="the extra [mcp] is not installed")
        import anyio

        from spec.cli import mcp_server

        monkeypatch.setattr(mcp_server, "_SECONDS", 1)
        monkeypatch.setattr(
            mcp_server,
            "_RUN",
            "import subprocess as s, sys; s.run([sys.executable, '-c', 'import time,pathlib;"
            'time.sleep(3); pathlib.Path("late").touch()\'])',
        )
        began = time.monotonic()
        with pytest.raises(SpecError, match="slow took more than 1 seconds"):
            anyio.run(mcp_server._output, ["slow"], str(tmp_path))
        assert 3 > time.monotonic() - began
        time.sleep(3.5)
        assert [] == list(tmp_path.iterdir())

    def test_memory(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """A command that needs more memory than is allowed fails, and the server does not."""
        pytest.importorskip("mcp", reason="the extra [mcp] is not installed")
        import anyio

        from spec.cli import mcp_server

        line = "sys.exit(main(sys.argv[1:]))"
        monkeypatch.setattr(mcp_server, "_RUN", mcp_server._RUN.replace(line, "bytearray(8 << 30)"))
        with pytest.raises(SpecError, match="MemoryError"):
            anyio.run(mcp_server._output, ["large"], str(tmp_path))


class TestDeclared:
    """Tools and their arguments."""

    @pytest.mark.parametrize("name", TOOLS)
    def test_schema(self, name: str) -> None:
        """The schema of the arguments takes what the tool takes, and refuses the rest."""
        schema = schema_of(TOOLS[name])
        values = {"trace": "t", "mode": "expiring", "descriptor": "d", "name": "n", "words": "w"}
        given = {key: values[key] for key in schema["required"]}
        assert [] == faults(given, schema, schema)
        assert line_of(name, given, lambda path: path)
        for wrong in ({}, {**given, "more": 1}):
            assert faults(wrong, schema, schema)
            with pytest.raises(SpecError):
                line_of(name, wrong, lambda path: path)

    def test_modes(self) -> None:
        """Every mode can be named."""
        assert set(Mode) == set(schema_of(TOOLS["prove"])["$defs"]["Mode"]["enum"])

    def test_words_are_no_options(self) -> None:
        """What a client gives is never taken for an option."""
        line = line_of("check", {"trace": "--help", "claim": "-x"}, lambda path: path)
        assert ["--claim=-x", "--", "--help"] == line[-3:]
        assert ["--", "--all"] == line_of("label", {"descriptor": "--all"}, str)[-2:]

    def test_missing(self, tmp_path: Path) -> None:
        """Without the package the command says how to install it."""
        env = environment(without(tmp_path, "mcp"))
        done = call("-c", CLI, "mcp", cwd=tmp_path, env=env)
        assert 2 == done.returncode
        assert "mcp is not installed; install resident-claims with its extra" in done.stderr

    def test_no_folder(self, tmp_path: Path) -> None:
        """A root that is no folder is bad input."""
        pytest.importorskip("mcp", reason="the extra [mcp] is not installed")
        done = call("-c", CLI, "mcp", "--root", "none", cwd=tmp_path)
        assert (2, "error: none is not a folder; give --root a folder\n") == (
            done.returncode,
            done.stderr,
        )
