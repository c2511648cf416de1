"""Records random requests to a real engine that enforces nothing.

Prompts begin like earlier ones, at a block or within one; several come at once; some bring a claim.
The traces show what vLLM does with them. They are compared with the models of its pool and of the
plugin (`tests/proofs/product/test_random_traces.py`).
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

from runtime_hooks.demo.engine import Engine, claim, sampling
from runtime_hooks.demo.tiny import BLOCK
from spec.claims.states import Mode
from tests.recordings.redact import redacted

__all__ = ["SCENES", "Scene", "main", "record"]

_WORDS: Final = 512
_MODES: Final = (Mode.HARD_PROTECTED, Mode.BEST_EFFORT)


class Scene(NamedTuple):
    """How many requests come at once, and the share of those that bring a claim."""

    together: tuple[int, ...]
    claims: float = 0.0


SCENES: Final = {
    "one_by_one": Scene((1,), 0.3),
    "together": Scene((1, 2, 3)),
    "together_with_claims": Scene((1, 1, 2, 3), 0.4),
}


def _prompt(source: random.Random, earlier: list[list[int]], most: int) -> list[int]:
    """A new prompt, or one that begins like an earlier one; at most so many blocks."""
    begins = list[int]()
    blocks = source.randrange(1, 5)
    if earlier and source.random() < 0.6:
        like = source.choice(earlier)
        size = source.randrange(1, len(like) + 1)
        begins = like[: size if source.random() < 0.3 else size // BLOCK * BLOCK]
        blocks = source.choice((0, 0, 1, 2, 3))
    more = blocks * BLOCK + source.choice((0, 0, 5))
    tokens = [*begins, *(source.randrange(1, _WORDS) for _ in range(more))]
    return tokens[: most * BLOCK] or [1]


def _play(engine: Engine, source: random.Random, scene: Scene, most: int) -> None:
    prompts = list[list[int]]()
    for step in range(source.randrange(3, 8)):
        asked, params = list[dict[str, Any]](), list[Any]()
        for number in range(source.choice(scene.together)):
            tokens = _prompt(source, prompts, most)
            prompts.append(tokens)
            asked.append({"prompt_token_ids": tokens})
            brings, blocks = source.random() < scene.claims, len(tokens) // BLOCK
            name = f"claim:{step}.{number}"
            mode = source.choice(_MODES)
            size = source.randrange(1, max(2, blocks + 1))
            params.append(sampling(claim(name, size, mode)) if brings and blocks else sampling())
        engine.llm.generate(asked, params, use_tqdm=False)


def record(scene: str, seed: int) -> bytes:
    """The trace of an engine of a few blocks, without what names where it was recorded."""
    source = random.Random(seed)
    usable = source.randrange(6, 14)
    with tempfile.TemporaryDirectory() as name:
        engine = Engine(Path(name), usable, {"enforce": ()}, max_model_len=usable * BLOCK)
        try:
            _play(engine, source, SCENES[scene], usable - 1)
        finally:
            engine.close()
        return redacted(engine.trace.read_bytes())


def main() -> None:
    """Record a scene with some seeds to a folder, as SCENE_SEED.jsonl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("scene", choices=SCENES)
    parser.add_argument("seeds", type=int, nargs="+")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for seed in given.seeds:
        file = given.folder / f"{given.scene}_{seed}.jsonl"
        file.write_bytes(record(given.scene, seed))
        print(file)


if __name__ == "__main__":
    main()
