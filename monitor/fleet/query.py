"""Judges a fleet on Spark: runs of lines, keyed by source and stream, to rows of verdicts."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from monitor.fleet.keyed import Asked, Given, Keyed
from monitor.fleet.rows import VERDICTS
from monitor.fleet.runs import runs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["ROWS", "STATE", "JudgeStreams", "open_claims", "put", "started", "written"]

STATE: Final = "judge"
"""The name of the state of a key."""

_FILES: Final = "path string, modificationTime timestamp, length long, content binary"
_RUNS: Final = "source string, stream string, piece string, first long, data binary"
_STATE: Final = "data binary"
ROWS: Final = (
    "kind string, id string, source string, stream string, claim_id string, file string, "
    "line long, at long, what string, says string, json string, period long, mode string, "
    "state string, owner string, model string, footprint long, worker string, "
    "request_id string, hit boolean, cost long"
)
_FILE: Final = "file:"
_FOREVER: Final = "36500d"  # by default Spark skips older files silently


class JudgeStreams(StatefulProcessor):
    """Judges the runs of each key of a batch, and keeps the judge as a snapshot."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._state = handle.getValueState(STATE, _STATE)

    def handleInputRows(
        self, key: Any, rows: Iterator[SparkRow], timerValues: Any
    ) -> Iterator[SparkRow]:
        """Judge the runs of one stream, from where the batch before left it."""
        before = self._state.get()
        state = None if before is None else bytes(before[0])
        keyed = Keyed(key[0], key[1], self._asked, state)
        runs = [Given(row.piece, row.first, bytes(row.data)) for row in rows]
        for found in keyed.take(runs):
            yield SparkRow(**found._asdict())
        self._state.update((keyed.save(),))

    def close(self) -> None:
        """Spark calls this at the end; no file is open."""


def files(spark: SparkSession, folder: str, batch_bytes: int) -> DataFrame:
    """The files below a folder, as a stream: the path of each, and what it holds where no Python
    process can open it.
    """
    reader = spark.readStream.format("binaryFile").option("recursiveFileLookup", "true")
    reader = reader.option("maxBytesPerTrigger", str(batch_bytes)).option("maxFileAge", _FOREVER)
    found = reader.schema(_FILES).load(folder)
    return found.select("path") if _is_local(folder) else found.select("path", "content")


def started(
    spark: SparkSession,
    folder: str,
    out: str,
    checkpoint: str,
    asked: Asked,
    batch_bytes: int,
    *,
    once: bool,
) -> StreamingQuery:
    """The query, which runs.

    Args:
        folder: of the sources, as Spark names it.
        once: end when all that is there is judged.
    """
    split = partial(_split, folder=folder)
    runs = files(spark, folder, batch_bytes).mapInArrow(split, _RUNS)
    judged = runs.groupBy("source", "stream").transformWithState(
        JudgeStreams(asked), ROWS, "Append", "None"
    )
    writer = judged.writeStream.foreachBatch(partial(written, out=out))
    writer = writer.option("checkpointLocation", checkpoint).outputMode("append")
    writer = (
        writer.trigger(availableNow=True) if once else writer.trigger(processingTime="10 seconds")
    )
    return writer.start()


def written(rows: DataFrame, batch: int, *, out: str) -> None:
    """Write the rows of a batch, in a folder of its number for each form; a batch that is judged
    again takes the place of what it left before.
    """
    put(rows.repartition(1), f"{out}/rows", f"batch={batch:09}", by="kind")


def put(rows: DataFrame, folder: str, name: str = "", *, by: str | None = None) -> None:
    """Write few rows as Parquet and as JSON, in place of what is there. What has a line in the
    column `json` is that line.

    Args:
        by: the column of which each value has a folder.
    """
    columns = [] if by is None else [by]
    place = f"{folder}/parquet/{name}"
    rows.write.mode("overwrite").partitionBy(*columns).parquet(place)
    few = rows.sparkSession.read.schema(rows.schema).parquet(place)  # they are not made again
    text = f.to_json(f.struct(*(each for each in rows.columns if each != by)))
    if "json" in rows.columns:
        text = f.when(f.col("what").isin(*VERDICTS), f.col("json")).otherwise(text)
    lines = few.select(text.alias("line"), *columns).coalesce(1)
    lines.write.mode("overwrite").partitionBy(*columns).text(f"{folder}/jsonl/{name}")


def open_claims(spark: SparkSession, checkpoint: str, out: str, asked: Asked) -> None:
    """Write what would be concluded of the claims that are not over if no line came any more."""
    spark.streams.active  # noqa: B018  # starts what state is found by, where no query did
    state = spark.read.format("statestore").option("stateVarName", STATE).load(checkpoint)
    finish = partial(_finish, asked=asked)
    found = state.select("key.source", "key.stream", "value.data").mapInArrow(finish, ROWS)
    put(found.drop("kind").repartition(1), f"{out}/open")


def _is_local(path: str) -> bool:
    return path.startswith(("/", _FILE))


def _split(batches: Iterator[Any], *, folder: str) -> Iterator[Any]:
    """The runs of files, which a batch of Arrow names."""
    root = folder if not _is_local(folder) else f"{_FILE}{folder}"
    for batch in batches:
        contents = batch.column("content") if "content" in batch.schema.names else None
        for place, path in enumerate(batch.column("path").to_pylist()):
            content = None if contents is None else io.BytesIO(contents[place].as_py())
            piece = path.removeprefix(f"{root}/")
            source = f"{piece.rpartition('/')[0]}/" if "/" in piece else piece
            for run in runs_of(path.removeprefix(_FILE), content=content):
                yield _batch([[source], [run.stream], [piece], [run.first], [run.data]], _RUNS)


def _finish(batches: Iterator[Any], *, asked: Asked) -> Iterator[Any]:
    for batch in batches:
        for each in batch.to_pylist():
            rows = [*Keyed(each["source"], each["stream"], asked, each["data"]).finish()]
            if rows:
                yield _batch([list(column) for column in zip(*rows, strict=True)], ROWS)


def _batch(columns: list[list[Any]], schema: str) -> Any:
    """A batch of Arrow."""
    arrow = import_module("pyarrow")
    types = {
        "string": arrow.string(),
        "long": arrow.int64(),
        "binary": arrow.binary(),
        "boolean": arrow.bool_(),
    }
    fields = [each.split() for each in schema.split(", ")]
    named = arrow.schema([arrow.field(name, types[of]) for name, of in fields])
    return arrow.record_batch(columns, schema=named)
