"""Exports what a follower counts to Prometheus, and serves whether it is healthy and ready."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import asdict

from monitor.follow.http_server import HttpServer, has_token
from spec.claims.states import Mode
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from monitor.follow.checkpointing import Recording
    from monitor.follow.engines import Engine
    from monitor.follow.follower import Follower
    from monitor.follow.http_server import Address
    from monitor.follow.judge import Judge
    from monitor.follow.poster import Poster

__all__ = ["METRICS", "PROCESS", "Metric", "MetricsServer", "Samples", "registry_of"]

_SOURCE: Final = ("source",)
_METHODS: Final = frozenset({"GET", "HEAD"})
_Samples: TypeAlias = "Iterable[tuple[tuple[str, ...], float]]"
Samples: TypeAlias = "dict[str, _Samples]"
"""Samples of metrics by their keys: the values of labels, and a number."""


class Metric(NamedTuple):
    """A metric, without what its name begins with and the suffix that a counter has."""

    key: str
    kind: Literal["counter", "gauge"]
    says: str
    labels: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name, without the suffix."""
        return f"resident_claims_{self.key}"

    @property
    def exported(self) -> str:
        """Its name in what is exported."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


PROCESS: Final = "process_resident_memory_bytes"
"""Memory, by the name that prometheus_client gives it."""

METRICS: Final = (
    Metric("events", "counter", "Events judged.", ("kind",)),
    Metric(
        "verdicts",
        "counter",
        "Verdicts on claims that ended: kept, violated, inconclusive or not_entered.",
        ("mode", "verdict"),
    ),
    Metric(
        "obligations",
        "counter",
        "Verdicts on obligations of claims that ended.",
        ("mode", "obligation", "verdict"),
    ),
    Metric("violations", "counter", "Obligations violated.", ("mode", "obligation")),
    Metric("live_claims", "gauge", "Claims that have not ended."),
    Metric("lag_bytes", "gauge", "Bytes of a file that were not read yet.", _SOURCE),
    Metric("buffer_bytes", "gauge", "Bytes of lines that wait to be judged."),
    Metric(
        "gaps",
        "counter",
        "How often lines of a source may be missing: rotations, lost connections, drops.",
        _SOURCE,
    ),
    Metric("dropped_lines", "counter", "Lines dropped at a full buffer.", _SOURCE),
    Metric("rejected_lines", "counter", "Lines that could not be read.", _SOURCE),
    Metric(
        "disordered_lines",
        "counter",
        "Lines that came early and were held, that were repeated, too late, or contradicting.",
        ("source", "what"),
    ),
    Metric(
        "held_lines", "gauge", "Lines that are held back until those before them come.", _SOURCE
    ),
    Metric(
        "limits_reached",
        "counter",
        "Streams that reached a limit: live, requests or ids.",
        ("limit",),
    ),
    Metric("connects", "counter", "How often a source was opened.", _SOURCE),
    Metric("source_up", "gauge", "Whether a source was opened and has not ended.", _SOURCE),
    Metric("checkpoint_timestamp_seconds", "gauge", "When the last one was written, or 0."),
    Metric("checkpoint_failures", "counter", "Checkpoints that could not be written."),
    Metric(
        "webhook_posts",
        "counter",
        "Violations and losses posted, given up after several tries, or dropped at a full queue.",
        ("outcome",),
    ),
    Metric(
        "otlp_records",
        "counter",
        "Log records posted, given up or refused by the collector, or dropped at a full queue.",
        ("outcome",),
    ),
    Metric(
        "watched_claims",
        "gauge",
        "Claims of the registry of watch on each engine: held, absent or unknown.",
        ("stream", "mode", "state"),
    ),
    Metric(
        "watched_losses",
        "counter",
        "How often prefixes that were held were lost.",
        ("stream", "mode"),
    ),
    Metric(
        "watched_resident_seconds",
        "counter",
        "Seconds for which prefixes were held, of all claims together.",
        ("stream", "mode"),
    ),
    Metric(
        "watched_claim_blocks",
        "gauge",
        "Blocks of a claim: those that a hit needs, and those of them that are held or unknown.",
        ("stream", "claim_id", "what"),
    ),
    Metric(
        "watched_claim_losses",
        "counter",
        "How often the prefix of a claim was lost after it was held.",
        ("stream", "claim_id"),
    ),
)
"""All that is exported beside what prometheus_client says of the process."""


def registry_of(
    follower: Follower,
    recording: Recording | None,
    webhook: Poster | None = None,
    otlp: Poster | None = None,
    more: Callable[[], Samples] | None = None,
) -> Any:
    """A registry of prometheus_client that reads the counts when it is asked.

    Args:
        more: further samples.
    """
    from prometheus_client import CollectorRegistry, ProcessCollector
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    class Collector:
        def collect(self) -> Iterator[Any]:
            samples = _samples(follower, recording, webhook, otlp)
            samples |= {} if more is None else more()
            for metric in METRICS:
                if metric.key in samples:
                    make = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
                    family = make(metric.name, metric.says, labels=metric.labels)
                    for labels, value in samples[metric.key]:
                        family.add_metric(labels, value)
                    yield family

    registry = CollectorRegistry()
    registry.register(Collector())
    ProcessCollector(registry=registry)
    return registry


def _samples(
    follower: Follower, recording: Recording | None, webhook: Poster | None, otlp: Poster | None
) -> Samples:
    """The samples of each metric that there is, by its key; counts are copied at once."""
    counts, sources = follower.counts, follower.sources
    judges: dict[str, Judge | Engine] = {**follower.judges, **follower.engines.by_source}
    kinds = {str(kind): 0 for kind in Kind} | dict(counts.events)
    lags = {name: lag for name, source in sources.items() if (lag := source.lag()) is not None}
    disorder = {name: asdict(judge.disorder) for name, judge in judges.items()}
    found: Samples = {
        "events": _each(kinds),
        "verdicts": list((_NO_VERDICTS | dict(counts.verdicts)).items()),
        "obligations": list(dict(counts.obligations).items()),
        "violations": list((_no_violations() | dict(counts.violations)).items()),
        "live_claims": _one(follower.live),
        "lag_bytes": _each(lags),
        "buffer_bytes": _one(follower.buffer.size),
        "gaps": _each({name: counts.gaps[name] for name in sources}),
        "dropped_lines": _each({name: counts.dropped[name] for name in sources}),
        "rejected_lines": _each({name: counts.rejected[name] for name in sources}),
        "disordered_lines": [
            ((name, what), n) for name, each in disorder.items() for what, n in each.items()
        ],
        "held_lines": _each({name: judge.held for name, judge in judges.items()}),
        "limits_reached": _each({n: counts.limits[n] for n in ("live", "requests", "ids")}),
        "connects": _each({name: follower.outlets[name].connects for name in sources}),
        "source_up": _each({name: follower.is_up(name) for name in sources}),
    }
    if recording is not None:
        found["checkpoint_timestamp_seconds"] = _one(recording.saved_at or 0.0)
        found["checkpoint_failures"] = _one(recording.failures)
    for key, poster in (("webhook_posts", webhook), ("otlp_records", otlp)):
        if poster is not None:
            posts = {"posted": poster.posted, "failed": poster.failed, "dropped": poster.dropped}
            found[key] = _each(posts)
    return found


# Exported before the first one: `increase` sees no step from a series that was not there to 1.
_NO_VERDICTS: Final = {
    (str(mode), verdict): 0
    for mode in Mode
    for verdict in ("kept", "violated", "inconclusive", "not_entered")
}


@cache
def _no_violations() -> dict[tuple[str, str], int]:
    from spec.contract.modes import MODES  # only where metrics are asked for

    return {(str(mode), name): 0 for mode, each in MODES.items() for name in each.names()}


def _one(value: float) -> _Samples:
    return [((), value)]


def _each(values: Mapping[str, float]) -> _Samples:
    return [((label,), value) for label, value in values.items()]


class MetricsServer:
    """Answers /metrics, /healthz and /readyz in threads of its own.

    /metrics asks for the token as `Authorization: Bearer`, where there is one. The others say only
    whether the follower works, and ask for none.

    Args:
        registry: a registry of prometheus_client.
        healthy: why the follower does not work; empty where it does.
        ready: why it does not judge what comes; empty where it does.

    Raises:
        InputError: the address is taken, or not of this machine.
    """

    def __init__(
        self,
        address: Address,
        token: str | None,
        registry: Any,
        healthy: Callable[[], str],
        ready: Callable[[], str],
    ) -> None:
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        states = {"/healthz": healthy, "/readyz": ready}

        def answer(environ: dict[str, Any], start: Any) -> list[bytes]:
            path, kind = environ["PATH_INFO"], "text/plain; charset=utf-8"
            if environ["REQUEST_METHOD"] not in _METHODS:
                code, text = "405 Method Not Allowed", "only GET and HEAD"
            elif path == "/metrics" and has_token(environ, token):
                code, text = "200 OK", generate_latest(registry).decode()
                kind = CONTENT_TYPE_LATEST
            elif path == "/metrics":
                code, text = "401 Unauthorized", "a token is needed"
            elif path not in states:
                code, text = "404 Not Found", "not found"
            elif text := states[path]():
                code = "503 Service Unavailable"
            else:
                code, text = "200 OK", "ok"
            body = f"{text.rstrip()}\n".encode()
            size = ("Content-Length", str(len(body)))
            start(code, [("Content-Type", kind), size, ("Server", "resident-claims")])
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

        self._server = HttpServer(f"--metrics {address.host}:{address.port}", address)
        self._server.set_app(answer)
        self.port = self._server.port
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
