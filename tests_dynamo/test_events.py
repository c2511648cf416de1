"""What Dynamo's indexer makes of KV events that a tiny vLLM rarely publishes is stated."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.monitor.follow.publisher import publishing
from tests.monitor.input.kv_lines import removed, stored
from tests.monitor.watch.engine import SIZE, prompt
from tests.monitor.watch.watching import write_registry
from tests_dynamo.processes import Watcher, indexer

HOT, COLD = prompt("hot", 3), prompt("cold", 2)


def hot(*hashes: int) -> dict[str, Any]:
    """The first blocks of the prefix are stored."""
    tokens = HOT[: SIZE * len(hashes)]
    return stored(*hashes, token_ids=tokens, block_size=SIZE, extra_keys=[None] * len(hashes))


def story(
    folder: Path, *batches: list[dict[str, Any]], restarts: bool = False, count: int = 1
) -> set[tuple[str, str, str]]:
    """The disagreements after these batches, if there are so many: claim, kind and blocks.

    Args:
        restarts: the last batch is the first one of an engine that was started again.
    """
    claims = [{"id": "hot", "tokens": HOT}, {"id": "cold", "tokens": COLD}]
    registry = write_registry(folder, claims)
    with publishing() as engine, ExitStack() as running:
        peer = indexer(folder, "indexer", engine.address, running, size=SIZE)
        engine.wait_for_reader()
        for events in batches[: -1 if restarts else None]:
            engine.publish(*events)
        compared = ("--replay", engine.replay, "--compare", peer)
        watcher = Watcher(str(registry), engine.address, *compared)
        running.callback(watcher.process.kill)
        watcher.until(claim_id="hot", state="held")
        if restarts:
            engine.restart()
            engine.publish(*batches[-1])
        watcher.until(count, peer=peer, over="")
        watcher.end()
        (result,) = watcher.lines[-1]["compared"]
        return {
            (each["claim_id"], each["kind"], each["positions"]) for each in result["disagreements"]
        }


def test_restarted(tmp_path: Path) -> None:
    """An engine that was started again numbers from 0. The indexer takes no batch of it that has a
    number from before: it believes in blocks that are gone, and does not know the new ones.
    """
    cold = stored(8, 9, token_ids=COLD, block_size=SIZE, extra_keys=[None] * 2)
    found = story(tmp_path, [hot(1, 2, 3)], [], [], [cold], restarts=True, count=2)
    assert found == {("hot", "peer_only", "0-2"), ("cold", "first_only", "0-1")}


def test_head(tmp_path: Path) -> None:
    """A block that was removed takes those after it out of the index. Once it is stored again, the
    engine holds the whole prefix, and the indexer knows one block of it.
    """
    found = story(tmp_path, [hot(1, 2, 3)], [removed(1)], [hot(1)])
    assert found == {("hot", "first_only", "1-2")}
