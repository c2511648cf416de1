"""What a join says of an engine is true of it, for random engines."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from monitor.watch.standing import State
from spec.stream.outcome import ModeVerdict
from tests.monitor.watch.engine import Engine, line, prompt
from tests.monitor.watch.watching import Session, write_registry

PROMPTS = {
    "aa": prompt("aa", 3),
    "ab": prompt("ab", 4),
    "abc": prompt("abc", 5),
    "b": prompt("b", 2),
    "c": prompt("c", 4),
}
CLAIMS: list[dict[str, Any]] = [
    {"id": "aa", "tokens": PROMPTS["aa"]},
    {"id": "ab", "tokens": PROMPTS["ab"], "mode": "soft_priority", "priority": 1},
    {"id": "abc", "tokens": PROMPTS["abc"], "predicate": "leading_prefix_at_least(3)"},
    {"id": "salted", "tokens": PROMPTS["b"], "salt": "s"},
]


def held_by(engine: Engine) -> dict[str, bool]:
    """Which claims the engine holds."""
    return {
        "aa": engine.holds(PROMPTS["aa"]),
        "ab": engine.holds(PROMPTS["ab"]),
        "abc": engine.holds(PROMPTS["abc"][:12]),
        "salted": engine.holds(PROMPTS["b"], "s"),
    }


def step(engine: Engine, rng: random.Random, *, clear: bool) -> None:
    """Something happens in the engine; where it is not clear, copies are doubled and repeated."""
    if rng.random() < 0.03:
        engine.reset()
        return
    name = rng.choice([*PROMPTS])
    again = 0 if clear or rng.random() < 0.8 else rng.randrange(3)
    report = not clear and rng.random() < 0.1
    salt = "s" if name == "b" and rng.random() < 0.7 else ""
    engine.serve(PROMPTS[name], salt=salt, again=again, report=report)


def compare(session: Session, engine: Engine, seed: int) -> list[State]:
    """Compare what is said of each claim with what the engine holds; what was said."""
    truth, said = held_by(engine), []
    for name, standing in session.join.standings.items():
        said.append(standing.state)
        if standing.state is not State.UNKNOWN:
            assert (standing.state is State.HELD) is truth[name], (seed, name)
    return said


@pytest.mark.parametrize("seed", range(60))
def test_gapless(seed: int, tmp_path: Path) -> None:
    """Where each copy is stored once and no batch is missing, everything is known and kept."""
    rng, engine = random.Random(seed), Engine(rng_size(seed), seed)
    session = Session(write_registry(tmp_path, CLAIMS))
    for number in range(120):
        step(engine, rng, clear=True)
        session.take(line(number, engine.batches[-1], number))
        assert State.UNKNOWN not in compare(session, engine, seed)
    report = session.finish()
    found = {each.claim_id: each.verdict for each in report.claims}
    # Of the influence of a priority nothing is concluded.
    assert found == dict.fromkeys(("aa", "abc", "salted"), ModeVerdict.KEPT) | {
        "ab": ModeVerdict.INCONCLUSIVE
    }


@pytest.mark.parametrize("seed", range(60))
def test_anything(seed: int, tmp_path: Path) -> None:
    """With doubled copies, repeated stores, gaps and restarts nothing false is said, and nothing is
    called violated.
    """
    rng, engine = random.Random(seed), Engine(rng_size(seed), seed)
    session, number = Session(write_registry(tmp_path, CLAIMS)), 0
    session.take(line(0, [], 0))
    for time in range(1, 150):
        if rng.random() < 0.02:
            engine, number = Engine(rng_size(seed), seed + time), -1
        step(engine, rng, clear=False)
        number += 1
        if rng.random() < 0.96:
            session.take(line(number, engine.batches[-1], time))
            compare(session, engine, seed)
    assert session.finish().verdict is not ModeVerdict.VIOLATED


def rng_size(seed: int) -> int:
    """How many blocks an engine has."""
    return 6 + seed % 9
