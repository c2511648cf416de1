"""Exports what a follower counts to Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import asdict

from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monitor.follow.checkpointing import Recording
    from monitor.follow.engines import Engine
    from monitor.follow.follower import Follower
    from monitor.follow.judge import Judge
    from monitor.follow.poster import Poster

__all__ = ["METRICS", "PROCESS", "Metric", "registry_of"]

_Samples: TypeAlias = "Iterable[tuple[tuple[str, ...], float]]"


class Metric(NamedTuple):
    """A metric, without the suffix `_total` that a counter has in what is exported."""

    name: str
    kind: Literal["counter", "gauge"]
    says: str
    labels: tuple[str, ...] = ()

    @property
    def exported(self) -> str:
        """Its name in what is exported."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


PROCESS: Final = "process_resident_memory_bytes"
"""Memory, by the name that prometheus_client gives it."""

_EVENTS: Final = Metric("resident_claims_events", "counter", "Events judged.", ("kind",))
_CLAIMS: Final = Metric(
    "resident_claims_verdicts",
    "counter",
    "Verdicts on claims that ended: kept, violated, inconclusive or not_entered.",
    ("mode", "verdict"),
)
_OBLIGATIONS: Final = Metric(
    "resident_claims_obligations",
    "counter",
    "Verdicts on obligations of claims that ended.",
    ("mode", "obligation", "verdict"),
)
_VIOLATIONS: Final = Metric(
    "resident_claims_violations", "counter", "Obligations violated.", ("mode", "obligation")
)
_LIVE: Final = Metric("resident_claims_live_claims", "gauge", "Claims that have not ended.")
_LAG: Final = Metric(
    "resident_claims_lag_bytes", "gauge", "Bytes of a file that were not read yet.", ("source",)
)
_BUFFER: Final = Metric(
    "resident_claims_buffer_bytes", "gauge", "Bytes of lines that wait to be judged."
)
_GAPS: Final = Metric(
    "resident_claims_gaps",
    "counter",
    "How often lines of a source may be missing: rotations, lost connections, drops.",
    ("source",),
)
_DROPPED: Final = Metric(
    "resident_claims_dropped_lines", "counter", "Lines dropped at a full buffer.", ("source",)
)
_REJECTED: Final = Metric(
    "resident_claims_rejected_lines", "counter", "Lines that could not be read.", ("source",)
)
_DISORDER: Final = Metric(
    "resident_claims_disordered_lines",
    "counter",
    "Lines that came early and were held, that were repeated, too late, or contradicting.",
    ("source", "what"),
)
_HELD: Final = Metric(
    "resident_claims_held_lines",
    "gauge",
    "Lines that are held back until those before them come.",
    ("source",),
)
_LIMITS: Final = Metric(
    "resident_claims_limits_reached",
    "counter",
    "Streams that reached a limit: live, requests or ids.",
    ("limit",),
)
_CONNECTS: Final = Metric(
    "resident_claims_connects", "counter", "How often a source was opened.", ("source",)
)
_UP: Final = Metric(
    "resident_claims_source_up",
    "gauge",
    "Whether a source was opened and has not ended.",
    ("source",),
)
_CHECKPOINT: Final = Metric(
    "resident_claims_checkpoint_timestamp_seconds", "gauge", "When the last one was written, or 0."
)
_CHECKPOINT_FAILURES: Final = Metric(
    "resident_claims_checkpoint_failures", "counter", "Checkpoints that could not be written."
)
_WEBHOOK: Final = Metric(
    "resident_claims_webhook_posts",
    "counter",
    "Violations posted, given up after several tries, or dropped at a full queue.",
    ("outcome",),
)
_OTLP: Final = Metric(
    "resident_claims_otlp_records",
    "counter",
    "Log records posted, given up or refused by the collector, or dropped at a full queue.",
    ("outcome",),
)

METRICS: Final = (
    _EVENTS,
    _CLAIMS,
    _OBLIGATIONS,
    _VIOLATIONS,
    _LIVE,
    _LAG,
    _BUFFER,
    _GAPS,
    _DROPPED,
    _REJECTED,
    _DISORDER,
    _HELD,
    _LIMITS,
    _CONNECTS,
    _UP,
    _CHECKPOINT,
    _CHECKPOINT_FAILURES,
    _WEBHOOK,
    _OTLP,
)
"""All that is exported beside what prometheus_client says of the process."""


def registry_of(
    follower: Follower,
    recording: Recording | None,
    webhook: Poster | None = None,
    otlp: Poster | None = None,
) -> Any:
    """A registry of prometheus_client that reads the counts when it is asked."""
    from prometheus_client import CollectorRegistry, ProcessCollector
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    class Collector:
        def collect(self) -> Iterator[Any]:
            for metric, samples in _samples(follower, recording, webhook, otlp):
                make = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
                family = make(metric.name, metric.says, labels=metric.labels)
                for labels, value in samples:
                    family.add_metric(labels, value)
                yield family

    registry = CollectorRegistry()
    registry.register(Collector())
    ProcessCollector(registry=registry)
    return registry


def _samples(
    follower: Follower, recording: Recording | None, webhook: Poster | None, otlp: Poster | None
) -> Iterator[tuple[Metric, _Samples]]:
    counts, sources = follower.counts, follower.sources
    kinds = {str(kind): 0 for kind in Kind} | dict(counts.events)
    yield _EVENTS, [((kind,), n) for kind, n in kinds.items()]
    yield _CLAIMS, list(dict(counts.verdicts).items())
    yield _OBLIGATIONS, list(dict(counts.obligations).items())
    yield _VIOLATIONS, list(dict(counts.violations).items())
    yield _LIVE, [((), follower.live)]
    lags = {name: source.lag() for name, source in sources.items()}
    yield _LAG, [((name,), lag) for name, lag in lags.items() if lag is not None]
    yield _BUFFER, [((), follower.buffer.size)]
    yield _GAPS, [((name,), counts.gaps[name]) for name in sources]
    yield _DROPPED, [((name,), counts.dropped[name]) for name in sources]
    yield _REJECTED, [((name,), counts.rejected[name]) for name in sources]
    judges: dict[str, Judge | Engine] = {**follower.judges, **follower.engines.by_source}
    disorder = {name: asdict(judge.disorder) for name, judge in judges.items()}
    yield _DISORDER, [((s, what), n) for s, each in disorder.items() for what, n in each.items()]
    yield _HELD, [((name,), judge.held) for name, judge in judges.items()]
    yield _LIMITS, [((limit,), counts.limits[limit]) for limit in ("live", "requests", "ids")]
    yield _CONNECTS, [((name,), follower.outlets[name].connects) for name in sources]
    yield _UP, [((name,), follower.is_up(name)) for name in sources]
    if recording is not None:
        yield _CHECKPOINT, [((), recording.saved_at or 0.0)]
        yield _CHECKPOINT_FAILURES, [((), recording.failures)]
    for metric, poster in ((_WEBHOOK, webhook), (_OTLP, otlp)):
        if poster is not None:
            posts = {"posted": poster.posted, "failed": poster.failed, "dropped": poster.dropped}
            yield metric, [((outcome,), n) for outcome, n in posts.items()]
