"""`watch --compare` shows where another observer differs, and changes no verdict by it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from monitor.__main__ import main
from monitor.cli.pages import schema as schema_of
from tests.monitor.input.kv_lines import removed, stored
from tests.monitor.watch.engine import Engine, line, prompt
from tests.monitor.watch.watching import write_registry
from tests.schemas import faults

HOT = prompt("hot", 3)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Watches an engine that dropped a copy in host memory, which a store still announces."""
    engine = Engine(100)
    engine.serve(HOT)
    hashes = engine.hashes(HOT)
    copies = [stored(*hashes, medium="CPU", token_ids=[], block_size=0)]
    lost = [removed(hashes[2], medium="CPU")]
    for name, batches in (
        ("engine", [*engine.batches, copies, lost, []]),
        ("store", [[], copies, [], []]),
    ):
        lines = [line(number, events, 60 * number) for number, events in enumerate(batches)]
        (tmp_path / f"{name}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    path = write_registry(tmp_path, [{"id": "hot", "tokens": HOT}])
    files = [str(tmp_path / f"{name}.jsonl") for name in ("engine", "store")]
    return ["watch", str(path), files[0], "--compare", files[1], "--until-eof"]


class TestShown:
    def test_text(self, command: list[str], capsys: Capture) -> None:
        """A line in the log, and a paragraph at the end, within 80 columns."""
        assert main(command) == 0
        out = capsys.readouterr().out
        said = "states block 2 in cpu, which the first observer says is not held (batch 2), since"
        assert f"1970-01-01T00:03:00.000Z  engine  hot  {command[4]} {said} 00:02:00\n" in out
        assert "gpu is not compared: the peer states no blocks in it\n" in out
        assert "the engine's own events are the observation point" in " ".join(out.split())
        end = out.split("\n\n", 1)[1].splitlines()
        assert max(len(each) for each in end if command[4] not in each) <= 80

    def test_json(self, command: list[str], capsys: Capture) -> None:
        """The same as objects, as the schema says; the verdict is on the claim alone."""
        assert main([*command, "--format", "json"]) == 0
        lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
        schema = schema_of("watched/1")
        ours = [each for each in lines if "watched" in each["schema"]]
        assert [faults(each, schema, schema) for each in ours] == [[]] * len(ours)
        (stated,) = (each for each in ours if each["schema"].endswith("disagreement/1"))
        about = {"claim_id": "hot", "tier": "cpu", "kind": "peer_only", "blocks": 1}
        times = {"since_ns": 120 * 10**9, "changed_ns": 120 * 10**9, "batch": 2}
        assert stated["disagreement"] == about | times | {"positions": "2"}
        assert (stated["peer"], stated["over"]) == (command[4], "")
        (compared,) = lines[-1]["compared"]
        assert (lines[-1]["verdict"], compared["outcome"]) == ("kept", "disagree")
        assert [*lines[-1]["forms"]] == [command[2]]

    def test_alone(self, command: list[str], capsys: Capture) -> None:
        """Without the option there is no comparison, and no word on it."""
        del command[3:5]
        assert main(command) == 0
        assert "compared" not in capsys.readouterr().out

    def test_bad_lines(self, command: list[str], capsys: Capture) -> None:
        """A peer whose lines cannot be read states no blocks, and changes no verdict."""
        Path(command[4]).write_bytes(b'{"schema": 1}\n' * 3)
        assert main([*command, "--format", "json"]) == 0
        (compared,) = json.loads(capsys.readouterr().out.splitlines()[-1])["compared"]
        assert (compared["outcome"], compared["why"]) == ("inconclusive", "no batch of it was read")


class TestRefused:
    @pytest.mark.parametrize(
        ("peer", "said"),
        [
            ("gone.jsonl", "no such file"),
            ("dynamo:http://127.0.0.1:8090", "states what it knows now"),
            ("dynamo:127.0.0.1:8090", "states what it knows now"),
            ("http://127.0.0.1:8090", "no source of KV events"),
        ],
    )
    def test_address(self, peer: str, said: str, command: list[str], capsys: Capture) -> None:
        """What cannot be compared ends with 2, and says why."""
        command[4] = peer
        assert main(command) == 2
        assert said in capsys.readouterr().err

    def test_indexer(self, command: list[str], capsys: Capture) -> None:
        """An address of an indexer that is none is refused; a password in it is not repeated."""
        command[2:] = ["tcp://127.0.0.1:5557", "--compare", "dynamo:http://user:word@x"]
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "no address of an indexer" in said
        assert "word" not in said

    def test_itself(self, command: list[str], capsys: Capture) -> None:
        """An observer is not compared with itself."""
        command[4] = command[2]
        assert main(command) == 2
        assert "name another observer" in capsys.readouterr().err

    def test_many(self, command: list[str], capsys: Capture) -> None:
        """Too many observers are refused."""
        assert main([*command, *(x for n in range(8) for x in ("--compare", f"{n}"))]) == 2
        assert "9 --compare" in capsys.readouterr().err


def test_private(command: list[str]) -> None:
    """Token ids are in no output of a comparison."""
    tokens = [900_000_000 + n for n in range(12)]
    engine = Engine(10)
    engine.serve(tokens)
    folder = Path(command[2]).parent
    for place in (2, 4):
        batches = [engine.batches[0], [], []] if place == 2 else [[], [], []]
        lines = [line(number, events, 60 * number) for number, events in enumerate(batches)]
        Path(command[place]).write_bytes(b"\n".join(lines) + b"\n")
    write_registry(folder, [{"id": "hot", "tokens": tokens}])
    done: Any = subprocess.run(
        [sys.executable, "-m", "monitor", *command], capture_output=True, text=True, check=True
    )
    assert "900000" not in done.stdout + done.stderr
