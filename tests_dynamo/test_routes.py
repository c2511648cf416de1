"""The records of a real frontend of NVIDIA Dynamo are read for a claim of `routed_reuse`.

The engines are Dynamo's mock engines, which ignore cache salts; the router does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from monitor.routes.judge import ClaimRoutes, Routes, judge
from monitor.watch.registry import load_registry
from tests.monitor.watch.watching import write_registry
from tests_dynamo.serving import BLOCK, Frontend, words

FIRST, BLOCKS = 10, 3
PREFIX = words(FIRST, BLOCKS * BLOCK)
CLAIM = {
    "id": "system-prompt",
    "owner": "team",
    "mode": "routed_reuse",
    "tokens": [*range(FIRST, FIRST + BLOCKS * BLOCK)],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the records of six requests that begin with the prefix, and of three others."""
    found = tmp_path_factory.mktemp("dynamo")
    with ExitStack() as running:
        frontend = Frontend(found, running, blocks=24)
        answers: list[dict[str, Any]] = [
            frontend.ask(f"{PREFIX} w500", max_tokens=4),
            frontend.ask(f"{PREFIX} w501", max_tokens=4),
            frontend.ask(PREFIX, max_tokens=4),
            frontend.ask(words(200, 2 * BLOCK), max_tokens=4),
            frontend.chat(f"{PREFIX} w7", max_tokens=4),
            frontend.ask(f"{PREFIX} w502", max_tokens=4, cache_salt="salt"),
            frontend.ask(words(300, 2 * BLOCK), max_tokens=4),
            frontend.ask(words(400, 2 * BLOCK), max_tokens=4),
            frontend.ask(f"{PREFIX} w503", max_tokens=4),
        ]
        frontend.stop()
    (found / "answers.jsonl").write_text("".join(json.dumps(each) + "\n" for each in answers))
    about = {"block_size": BLOCK, "registered": "1970-01-01T00:00:00Z"}
    write_registry(found, [CLAIM], **about)
    return found


def judged(folder: Path, *names: str) -> Routes:
    watching = load_registry(folder / "registry.json", routed=True)
    return judge(watching, [str(folder / f"{name}.jsonl") for name in names])


def claim_in(found: Routes) -> ClaimRoutes:
    (claim,) = found.claims
    return claim


class TestRoutes:
    def test_all(self, folder: Path) -> None:
        """Each request with the prefix is found by its hashes, with its route and its reuse."""
        found = judged(folder, "trace", "frontend", "answers")
        claim = claim_in(found)
        assert (found.verdict, found.ended) == ("inconclusive", 9)
        assert (claim.requests, claim.routed, claim.unserved) == (6, 6, 0)
        assert 1 <= claim.workers <= 2
        assert claim.cost > 0
        assert len(found.missing) == 2  # numbers, and salts

    def test_believed(self, folder: Path) -> None:
        """The first request and the one with a salt are new to the router; the rest are not."""
        assert claim_in(judged(folder, "trace")).believed == 4

    def test_difference(self, folder: Path) -> None:
        """Where the engine served what the router took for absent, the request is named."""
        found = judged(folder, "trace", "frontend", "answers")
        differences = [(each.believed, each.served) for each in found.differences]
        assert differences in ([], [(0, BLOCKS * BLOCK)])
        assert claim_in(found).served == 4 + len(differences)

    def test_trace_is_belief(self, folder: Path) -> None:
        """`cached_tokens` of the trace is the router's, and not what the engine served: of a prompt
        that is the prefix alone the engine computes the last block.
        """
        trace = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
        ends = {each["event"]["request"]["request_id"]: each["event"]["request"] for each in trace}
        answers = map(json.loads, (folder / "answers.jsonl").read_text().splitlines())
        exact = next(a for a in answers if a["usage"]["prompt_tokens"] == BLOCKS * BLOCK)
        end = ends[exact["id"].removeprefix("cmpl-")]
        served = exact["usage"]["prompt_tokens_details"]["cached_tokens"]
        assert (end["cached_tokens"], served) == (BLOCKS * BLOCK, (BLOCKS - 1) * BLOCK)

    @pytest.mark.parametrize(
        ("names", "why"),
        [
            (("trace", "answers"), "6 requests: no log of the router"),
            (("trace", "frontend"), "6 requests: no answer states"),
        ],
    )
    def test_missing(self, folder: Path, names: tuple[str, ...], why: str) -> None:
        """Without the log the cost is missing, and without the answers what was served."""
        assert [text for text in judged(folder, *names).missing if text.startswith(why)]
