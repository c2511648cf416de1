"""Adds the figures of the engine's claims to the metrics of the server, for Prometheus.

The engine is another process, or each of its ranks is, so a scrape asks it, at most once a second
and with a limit on the time. A scrape that gets no answer in time shows the last one, and after
`STALE_S` only that there is none. No label has the id of a claim, of a request or of an owner. With
data-parallel ranks each figure has the label `rank`.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from runtime_hooks.control.messages import Figures
from spec.claims.states import Mode
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future

    from runtime_hooks.control.ranks import Reply
    from runtime_hooks.controller.views import FiguresPage

__all__ = ["METRICS", "STALE_S", "EngineFigures", "Metric"]

STALE_S: Final = 30.0
"""How old an answer of the engine may be to be shown, in seconds."""

_WAIT_S: Final = 0.5  # that a scrape waits for the engine
_EVERY_S: Final = 1.0
_PREFIX: Final = "resident_claims_engine_"
_NO_CLAIM: Final = "none"  # the mode of what was rejected because it was no claim

_Samples: TypeAlias = list[tuple[tuple[str, ...], float]]


class Metric(NamedTuple):
    """A metric without the prefix: a counter if its name ends in `total`, else a gauge."""

    name: str
    says: str
    labels: tuple[str, ...]
    samples: Callable[[FiguresPage], _Samples]


def _by_mode(field: str) -> Callable[[FiguresPage], _Samples]:
    def samples(page: FiguresPage) -> _Samples:
        modes = page.modes
        return [((m,), getattr(modes[m], field) if m in modes else 0) for m in Mode]

    return samples


def _decisions(page: FiguresPage) -> _Samples:
    found: _Samples = []
    for mode in ("", *Mode):
        figures = page.modes.get(mode)
        for decision in ("accepted", "rejected"):
            count = getattr(figures, decision) if figures else 0
            found.append(((mode or _NO_CLAIM, decision), count))
    return found


def _one(field: str) -> Callable[[FiguresPage], _Samples]:
    return lambda page: [((), float(getattr(page, field)))]


def _each(field: str) -> Callable[[FiguresPage], _Samples]:
    return lambda page: [((name,), count) for name, count in sorted(getattr(page, field).items())]


def _verdicts(page: FiguresPage) -> _Samples:
    return [
        ((mode, verdict), count)
        for mode, counts in sorted(page.verdicts.items())
        for verdict, count in sorted(counts.items())
    ]


def _monitor(page: FiguresPage) -> _Samples:
    return [] if page.monitor == "off" else [((), float(page.monitor == "up"))]


def _usage(page: FiguresPage) -> _Samples:
    return [((), (page.used - page.idle) / page.usable if page.usable else 0.0)]


METRICS: Final = (
    Metric("live_claims", "claims that live", ("mode",), _by_mode("live")),
    Metric(
        "held_blocks",
        "blocks that claims of a mode exclude from eviction; one that claims of two modes share "
        "counts for both",
        ("mode",),
        _by_mode("held"),
    ),
    Metric(
        "never_there_claims",
        "live claims that were not there yet, on the device or as a copy",
        ("mode",),
        _by_mode("never_there"),
    ),
    Metric(
        "never_there_seconds",
        "how long the one of them has lived that waits longest",
        ("mode",),
        _by_mode("longest_s"),
    ),
    Metric("overdue_total", "claims demoted because they were never there", (), _one("overdue")),
    Metric("claimed_blocks", "blocks that live claims declare, each once", (), _one("claimed")),
    Metric("excluded_blocks", "blocks excluded from eviction, each once", (), _one("held")),
    Metric("usable_blocks", "blocks of the pool", (), _one("usable")),
    Metric(
        "kv_cache_usage_without_held",
        "the part of the pool that requests use, from 0 to 1: vllm:kv_cache_usage_perc without the "
        "blocks that only claims hold",
        (),
        _usage,
    ),
    Metric("decisions_total", "claims decided on", ("mode", "decision"), _decisions),
    Metric("refusals_total", "requests refused", ("reason",), _each("refusals")),
    Metric("bounded_total", "reports that a request was bounded", (), _one("bounded")),
    Metric("harms_total", "reports that a claim was harmed", (), _one("harms")),
    Metric(
        "restores_total", "claims restored for a request, or not", ("outcome",), _each("restores")
    ),
    Metric("pins_total", "prompts pinned, or not", ("decision",), _each("pins")),
    Metric("hook_faults_total", "exceptions of the plugin, by hook", ("hook",), _each("faults")),
    Metric(
        "verdicts_total",
        "lines of verdicts of the engine's monitor, one whenever what holds of a claim changes",
        ("mode", "verdict"),
        _verdicts,
    ),
    Metric(
        "monitor_given_up_total",
        "claims and requests that ended and are beyond those that the monitor remembers",
        ("of",),
        _each("given_up"),
    ),
    Metric("monitor_up", "1 while that monitor judges; absent where it is off", (), _monitor),
    Metric("accepting", "1 while claims are accepted", (), _one("accepting")),
    Metric("trace_up", "1 while the trace is written", (), _one("trace_alive")),
    Metric("trace_waiting_events", "events that are not written yet", (), _one("waiting")),
    Metric("trace_lag_seconds", "how long the oldest of them waits", (), _one("lag_s")),
    Metric("trace_dropped_events_total", "events that found the queue full", (), _one("dropped")),
)
"""All that is shown of an engine that answers; `up` says whether it does."""


class EngineFigures:
    """A collector for a registry of prometheus_client.

    Args:
        ask: asks the engine, or each of its ranks, and waits for the answers for a limited time;
            raises SpecError.
        routed: how many requests this process routed, by the reason; empty where it routes
            none.
    """

    def __init__(
        self,
        ask: Callable[[Figures], list[Reply]],
        routed: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._ask, self._routed = ask, routed
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="claims-metrics")
        self._asked: Future[None] | None = None
        self._asked_at = float("-inf")
        self._replies: list[Reply] = []
        self._replied_at = 0.0

    def describe(self) -> list[Any]:
        """Nothing: so the engine is not asked when this is registered."""
        return []

    def collect(self) -> Iterator[Any]:
        """The metrics as they are now, or as they were a moment ago."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        replies = self._latest()
        up = GaugeMetricFamily(f"{_PREFIX}up", "1 while the engine answers about its claims")
        up.add_metric((), 1 if replies else 0)
        yield up
        if self._routed:
            process = str(os.getpid())
            says = "requests to data-parallel ranks, by what the process that answers HTTP went by"
            routed = CounterMetricFamily(f"{_PREFIX}routed_total", says, labels=("why", "process"))
            for why, count in self._routed.items():
                routed.add_metric((why, process), count)
            yield routed
        if not replies:
            return
        ranked = ("rank",) if replies[0].rank is not None else ()
        for metric in METRICS:
            counts = metric.name.endswith("_total")
            kind: Any = CounterMetricFamily if counts else GaugeMetricFamily
            names = (*metric.labels, *ranked)
            family = kind(_PREFIX + metric.name, metric.says, labels=names)
            for each in replies:
                page: Any = each.page
                for labels, value in metric.samples(page):
                    family.add_metric((*labels, str(each.rank))[: len(names)], value)
            yield family

    def _latest(self) -> list[Reply]:
        """The last answers, after a try to get new ones; none where those are too old."""
        with self._lock:
            over = self._asked is None or self._asked.done()
            if over and time.monotonic() - self._asked_at >= _EVERY_S:
                self._asked_at = time.monotonic()
                self._asked = self._threads.submit(self._refresh)
            asked = self._asked
        if asked is not None and not _in_event_loop():
            with suppress(TimeoutError):
                asked.result(_WAIT_S)
        with self._lock:
            return self._replies if time.monotonic() - self._replied_at <= STALE_S else []

    def _refresh(self) -> None:
        with suppress(SpecError):
            replies = self._ask(Figures())
            with self._lock:
                self._replies, self._replied_at = replies, time.monotonic()


def _in_event_loop() -> bool:
    """Whether waiting here would keep the server from answering others."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
