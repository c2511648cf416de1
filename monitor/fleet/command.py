"""Runs the query until all that is there is judged, or until a signal, and makes the tables."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec
from pyspark.errors import (
    AnalysisException,
    PySparkException,
    PySparkRuntimeError,
    StreamingQueryException,
)

from monitor.fleet.keyed import Asked
from monitor.fleet.query import open_claims, started
from monitor.fleet.session import session
from monitor.fleet.tables import write_tables
from spec.digest import spec_digest
from spec.language.errors import SpecError
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

__all__ = ["Found", "Job", "judge_all", "run_fleet"]

_OURS: Final = ("spec.language.errors.", "monitor.durable.frame.", "monitor.native.")
_SLOW: Final = "Python worker failed to connect back"
_TRIES: Final = 20
_POLL_S: Final = 1
_STATED: Final = "resident-claims"


class Job(NamedTuple):
    """What is to be done.

    Attributes:
        source: a folder of files, on this machine or where Spark reads.
        stream: go on until a signal.
        tables: only make the tables again.
        batch_bytes: of files that are judged at once, about.
    """

    source: str
    checkpoint: str
    out: str
    asked: Asked
    master: str | None = None
    partitions: int = 8
    batch_bytes: int = 256 << 20
    stream: bool = False
    tables: bool = False


class Found(msgspec.Struct, frozen=True):
    """The verdicts on the claims of the fleet, counted."""

    verdict: ModeVerdict
    kept: int
    violated: int
    inconclusive: int
    alerts: int
    out: str


class _Stated(msgspec.Struct, frozen=True):
    """With what a folder of checkpoints was begun."""

    spec: str
    asked: Asked


def run_fleet(job: Job) -> Found:
    """Judge a fleet.

    Raises:
        SpecError: the source is missing, the checkpoint was made otherwise, or Spark does not run.
    """
    job = job._replace(
        source=_place(job.source, exists=True),
        checkpoint=_place(job.checkpoint),
        out=_place(job.out),
    )
    try:
        spark = session(job.master, job.partitions)
    except PySparkRuntimeError as error:
        cause = f"Spark does not start: {str(error).splitlines()[0]}"
        raise SpecError(cause, "it needs Java 17 or newer, on the PATH or by JAVA_HOME") from None
    try:
        return _run(spark, job)
    except PySparkException as error:
        if (ours := _ours(str(error))) is None:
            raise
        raise ours from None
    finally:
        spark.stop()


def _run(spark: SparkSession, job: Job) -> Found:
    _agree(spark, job)
    if not job.tables:
        judge_all(spark, job)
    open_claims(spark, f"{job.checkpoint}/query", job.out, job.asked)
    counts = write_tables(spark, job.out)
    numbers = {v: counts.get(v, 0) for v in ("kept", "violated", "inconclusive")}
    if numbers["violated"]:
        verdict = ModeVerdict.VIOLATED
    elif numbers["kept"] and not numbers["inconclusive"] and not counts["alerts"]:
        verdict = ModeVerdict.KEPT
    else:
        verdict = ModeVerdict.INCONCLUSIVE
    return Found(verdict, **numbers, alerts=counts["alerts"], out=job.out)


def judge_all(spark: SparkSession, job: Job) -> None:
    """Run the query to its end, and again where Spark gave up a Python process that starts slowly:
    it waits ten seconds for one, and no setting changes that.
    """
    where = job.source, job.out, f"{job.checkpoint}/query"
    for left in reversed(range(_TRIES)):
        query = started(spark, *where, job.asked, job.batch_bytes, once=not job.stream)
        with _signalled() as asked_to_stop:
            try:
                while not query.awaitTermination(_POLL_S):
                    if asked_to_stop.is_set():
                        query.stop()
            except StreamingQueryException as error:
                if not left or _SLOW not in str(error):
                    raise
            else:
                return


def _agree(spark: SparkSession, job: Job) -> None:
    """Note how the streams are judged; raises SpecError where a run before judged otherwise."""
    stated, folder = _Stated(spec_digest(), job.asked), f"{job.checkpoint}/{_STATED}"
    try:
        (row,) = spark.read.text(folder).collect()
    except AnalysisException:
        text = msgspec.json.encode(stated).decode()
        spark.createDataFrame([(text,)], "value string").coalesce(1).write.text(folder)
        return
    except ValueError:
        raise SpecError(f"{folder} is damaged", "begin anew in another folder") from None
    try:
        before = msgspec.json.decode(row.value, type=_Stated)
    except msgspec.MsgspecError as error:
        raise SpecError(f"{folder}: {error}", "begin anew in another folder") from None
    if before != stated:
        what = "another specification" if before.spec != stated.spec else "other options"
        cause = f"{job.checkpoint} was begun with {what}"
        raise SpecError(cause, "begin anew in another folder of checkpoints, and another --out")


def _place(text: str, *, exists: bool = False) -> str:
    """A folder as Spark names it."""
    if "://" in text and not text.startswith("file:"):
        return text.rstrip("/")
    path = Path(urlsplit(text).path if text.startswith("file:") else text).resolve()
    if exists and not path.is_dir():
        raise SpecError(f"{text} is no folder", "name a folder of trace files")
    return str(path)


def _ours(text: str) -> SpecError | None:
    """The error of ours that a Python worker of Spark ended with, if it did."""
    for line in text.splitlines():
        name, _, says = line.strip().partition(": ")
        if name.startswith(_OURS):
            return SpecError(says)
    return None


@contextmanager
def _signalled() -> Iterator[Event]:
    """An event that SIGTERM and SIGINT set. What was judged by then stays, and the rest is judged
    later. A handler must not call Java: the call that it interrupts has the connection.
    """
    asked = Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {each: signal.signal(each, lambda *_: asked.set()) for each in signals}
    try:
        yield asked
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
