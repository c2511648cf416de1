"""Tests of front.metrics and controller.figures: what is counted, and that a scrape never waits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from runtime_hooks.control.client import ask
from runtime_hooks.control.messages import Figures
from runtime_hooks.control.ranks import Reply
from runtime_hooks.controller.views import FiguresPage
from runtime_hooks.front import metrics
from runtime_hooks.front.metrics import METRICS, EngineFigures
from spec.claims.states import Mode
from spec.language.errors import SpecError
from tests.runtime_hooks.control.conftest import Operated, operate
from tests.runtime_hooks.tiny import NS, TinyEngine, TinyTier, claim, keys_of

__all__ = ["operate"]

Make = Callable[..., Operated]


def scraped(collector: EngineFigures) -> dict[str, float]:
    """Every series by its name and labels."""
    registry = CollectorRegistry()
    registry.register(collector)
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
            name = sample.name.removeprefix("resident_claims_engine_")
            if not name.endswith("_created"):
                found[f"{name}{{{labels}}}" if labels else name] = sample.value
    return found


def page_of(engine: TinyEngine) -> FiguresPage:
    """The figures now."""
    engine.controller.tick()
    return engine.controller.operator.figures()


class TestCounts:
    def test_all(self, operate: Make) -> None:
        """Claims, blocks, decisions, refusals, pins and the trace are counted."""
        made = operate()
        made.serve("a", 20, claim("claim:a", 20))
        made.serve("b", 10, claim("claim:b", 10, "demotable"))
        made.serve("c", 5, claim("claim:c", 5, "soft_priority", priority=1))
        made.serve("wrong", 5, {"claim_id": 7})
        made.serve("large", 60, claim("claim:d", 60))
        made.serve("active", 70)
        made.serve("job", 4, pin={"job_id": "j"})
        made.serve("no job", 4, pin={"job_id": 7})
        made.do(lambda engine: engine.pool.hold([next(iter(engine.pool.content))]))
        found = scraped(EngineFigures(lambda request: [Reply(None, ask(made.path, request))]))
        expected = {
            "up": 1,
            "accepting": 1,
            "trace_up": 1,
            "live_claims{mode=hard_protected}": 1,
            "live_claims{mode=soft_priority}": 1,
            "live_claims{mode=expiring}": 1,
            "live_claims{mode=routed_reuse}": 0,
            "held_blocks{mode=hard_protected}": 20,
            "held_blocks{mode=soft_priority}": 0,
            "usable_blocks": 80,
            "decisions_total{decision=accepted,mode=hard_protected}": 1,
            "decisions_total{decision=rejected,mode=hard_protected}": 1,
            "decisions_total{decision=rejected,mode=none}": 1,
            "refusals_total{reason=restoration}": 0,
            "pins_total{decision=accepted}": 1,
            "pins_total{decision=rejected}": 1,
            "harms_total": 0,
            "trace_dropped_events_total": 0,
        }
        assert expected == {name: found.get(name) for name in expected}
        assert found["claimed_blocks"] == found["excluded_blocks"]
        assert 1 / 80 == pytest.approx(found["kv_cache_usage_without_held"])

    def test_ranks(self) -> None:
        """With data-parallel ranks each figure is shown by rank."""
        pages = [page_of(TinyEngine()), page_of(TinyEngine(usable=70))]
        replies = [Reply(rank, page) for rank, page in enumerate(pages)]
        found = scraped(EngineFigures(lambda request: replies))
        assert (1, 80, 70) == tuple(
            found[name] for name in ("up", "usable_blocks{rank=0}", "usable_blocks{rank=1}")
        )
        assert 0 == found["live_claims{mode=expiring,rank=1}"]

    def test_refused_and_harmed(self) -> None:
        """A refusal, a harm and a fault each count once; a block of two modes counts for both."""
        engine = TinyEngine()
        engine.serve("a", 60, claim("claim:a", 60))
        engine.serve("a again", 60, claim("claim:e", 60, "expiring", duration="9 s"), "a")
        assert not engine.serve("active", 70)
        page = page_of(engine)
        assert {"capacity": 1, "restoration": 0} == page.refusals
        assert (60, 60) == tuple(page.modes[mode].held for mode in ("expiring", "hard_protected"))
        assert (60, 60, 60, 60) == (page.claimed, page.held, page.idle, page.used)
        engine.controller.tracker.before_reset()
        engine.pool.content.clear()
        engine.controller.tracker.after_reset(done=True)
        engine.controller.faults.note("add_request", ValueError())
        engine.controller.faults.note("add_request", TypeError())
        page = page_of(engine)
        assert (2, {"add_request": 2}, 0, 0) == (page.harms, page.faults, page.held, page.used)

    def test_restores(self) -> None:
        """Restores that succeeded and failed, and the refusal that follows."""
        engine = TinyEngine(tier=TinyTier())
        keys = keys_of("resident", 60)
        engine.serve("resident", 60, claim(mode="offloadable"))
        engine.controller.offloaded.stored(keys)
        assert engine.serve("active", 70)
        engine.controller.offloaded.loading("again", keys)
        engine.controller.offloaded.failed("again")
        page = page_of(engine)
        assert ({"restored": 0, "failed": 1}, 1) == (page.restores, page.refusals["restoration"])
        assert 0 == page.refusals["capacity"]

    def test_degraded(self) -> None:
        """A drained engine accepts no claims; a trace that is behind shows how far."""
        engine = TinyEngine()
        engine.controller.operator.drain()
        engine.journal.close()
        engine.serve("a", 2)
        engine.now += 5 * NS
        page = page_of(engine)
        assert (False, True) == (page.accepting, page.trace_alive)
        assert page.waiting > 0
        assert page.lag_s >= 5
        engine.journal.lost.append("Inline")
        assert page_of(engine).trace_alive
        engine.journal.lost.append("TraceFile")
        assert not page_of(engine).trace_alive


@given(st.lists(st.tuples(st.sampled_from(list(Mode)), st.integers(1, 30)), max_size=12))
@settings(max_examples=60)
def test_bounded(asked: list[tuple[Mode, int]]) -> None:
    """Whatever is claimed, the series are those of the table, and no sum exceeds the pool."""
    engine = TinyEngine(60, tier=TinyTier())
    more: dict[str, Any] = {"expiring": {"duration": "9 s"}, "soft_priority": {"priority": 1}}
    for number, (mode, blocks) in enumerate(asked):
        engine.serve(f"r{number}", blocks, claim(f"c{number}", blocks, mode, **more.get(mode, {})))
    page = page_of(engine)
    series = [each for metric in METRICS for each in metric.samples(page)]
    assert 62 == len(series)
    assert page.held <= page.claimed <= 60
    assert page.idle <= page.used <= 60


class TestScrape:
    def slow(self, goes: threading.Event, engine: TinyEngine) -> Callable[[Any], Any]:
        """An engine that answers once it is let go."""

        def ask_slowly(request: Figures) -> list[Reply]:
            goes.wait(30)
            return [Reply(None, page_of(engine))]

        return ask_slowly

    def test_never_waits_long(self) -> None:
        """A scrape shows what there is while the engine is busy, and asks it once."""
        goes, engine = threading.Event(), TinyEngine()
        collector = EngineFigures(self.slow(goes, engine))
        began = time.monotonic()
        assert {"up": 0} == scraped(collector)
        assert {"up": 0} == scraped(collector)
        assert time.monotonic() - began < 5
        assert collector._asked is not None
        goes.set()
        collector._asked.result(30)
        assert 1 == scraped(collector)["up"]

    def test_event_loop(self) -> None:
        """On the thread of an event loop it does not wait at all."""
        goes = threading.Event()
        collector = EngineFigures(self.slow(goes, TinyEngine()))

        async def scrape() -> float:
            began = time.monotonic()
            assert {"up": 0} == scraped(collector)
            return time.monotonic() - began

        took = asyncio.run(scrape())
        goes.set()
        assert took < 0.4

    def test_stale(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An answer that is too old is not shown; an engine that is gone is no error."""
        engine = TinyEngine()
        answers: list[Any] = [page_of(engine)]

        def once(request: Figures) -> list[Reply]:
            if not answers:
                raise SpecError("gone")
            return [Reply(None, answers.pop())]

        collector = EngineFigures(once)
        assert 1 == scraped(collector)["up"]
        monkeypatch.setattr(metrics, "_EVERY_S", 0)
        assert 1 == scraped(collector)["up"]
        monkeypatch.setattr(metrics, "STALE_S", -1)
        assert {"up": 0} == scraped(collector)

    def test_once_a_second(self) -> None:
        """Many scrapes at once are one question."""
        engine, asked = TinyEngine(), []

        def counted(request: Figures) -> list[Reply]:
            asked.append(request)
            return [Reply(None, page_of(engine))]

        collector = EngineFigures(counted)
        for _ in range(20):
            scraped(collector)
        assert len(asked) <= 3


@pytest.mark.slow
def test_cost() -> None:
    """A thousand claims on ten thousand blocks are counted in a moment of the engine's time."""
    engine = TinyEngine(10_000, claims=1_000)
    for number in range(1_000):
        assert engine.serve(f"r{number}", 10, claim(f"c{number}", 10))
    began = time.process_time()
    page = page_of(engine)
    assert time.process_time() - began < 0.5
    assert (1_000, 10_000) == (page.modes["hard_protected"].live, page.held)
