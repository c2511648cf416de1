"""Random requests to a real vLLM that enforces nothing: no trace of them is rejected.

`python -m tests_vllm.random_prompts` recorded them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from proofs.product.accepts import ACCEPTED, REJECTED, UNDECIDED
from proofs.product.recorded import StreamAcceptance, acceptance
from spec.events.alphabet import Kind
from tests.recordings import FOLDER

Line = dict[str, Any]
RECORDED: Final = sorted((FOLDER / "random").glob("*.jsonl"))
OPEN: Final = {
    "together_with_claims_9": "request:8 shares more with others than with claim:0.0",
    "together_with_claims_19": "whether claim claim:3.0 is on all blocks of request:1",
    "together_with_claims_21": "request:2 shares more with others than with claim:0.0",
    "together_with_claims_28": "claims claim:1.2 and claim:3.1 may be of different prompts",
}
"""The traces that do not show all of their prompts, and what they do not show."""

EACH: Final = pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
MODELS: Final = pytest.mark.parametrize("model", ["vllm_pool", "plugin:reporting"])


def judged(model: str, path: Path) -> StreamAcceptance:
    """What is found of the only stream of a trace."""
    (stream,) = acceptance(model, str(path)).streams
    return stream


@EACH
@MODELS
def test_none_is_rejected(model: str, path: Path) -> None:
    """Each is a run of the model of the pool, and of the plugin, unless it leaves too much open."""
    found = judged(model, path)
    assert (UNDECIDED if path.stem in OPEN else ACCEPTED) == found.verdict
    assert OPEN.get(path.stem, "") in found.why


def turned(lines: list[Line]) -> bool:
    """Turn the first victims of more than one around, if there are any."""
    for line in lines:
        if line["kind"] == Kind.BLOCK_EVICTED and len(line["block_ids"]) > 1:
            line["block_ids"] = line["block_ids"][::-1]
            return True
    return False


def found_more(lines: list[Line]) -> bool:
    """Have the first look-up that finds something, and not all, find one block more."""
    for line in lines:
        if line["kind"] == Kind.PREFIX_LOOKUP and 0 < line["held"] < line["asked"]:
            line["held"] += 1
            return True
    return False


def lines_of(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


CHANGED: Final = [
    pytest.param(change, path, id=f"{change.__name__}-{path.stem}")
    for change in (turned, found_more)
    for path in RECORDED
    if change(lines_of(path))
]


@pytest.mark.parametrize(("change", "path"), CHANGED)
def test_what_cannot_be(change: Callable[[list[Line]], bool], path: Path, tmp_path: Path) -> None:
    """With one thing that no pool does it is rejected, unless there is more than can be tried."""
    lines = lines_of(path)
    change(lines)
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = judged("vllm_pool", file)
    untried = path.stem in OPEN or "prompts may begin alike in more than" in found.why
    assert (UNDECIDED if untried else REJECTED) == found.verdict
