"""Answers what crosses streams, by tables of the rows that the query wrote.

These are reports about a fleet and no verdicts: a claim lives in one stream, and what its runtime
owes is judged there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException
from pyspark.sql import functions as f

from monitor.fleet.query import ROWS, put
from spec.claims.states import RESPONSIBLE, ClaimState, Mode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["standing", "tables", "write_tables"]

_KINDS: Final = ("verdicts", "claims", "routes", "rejected")
_COLUMNS: Final = ROWS.split(", ")[1:]  # the kind is the folder
_NAMES: Final = [column.split()[0] for column in _COLUMNS]
_STREAM: Final = ("source", "stream")
_CLAIM: Final = (*_STREAM, "claim_id")
_OWED: Final = [str(state) for state in RESPONSIBLE]


def write_tables(spark: SparkSession, out: str) -> dict[str, int]:
    """Write each table in place of what it was; the numbers of claims by verdict, and of alerts."""
    rows = _rows(spark, f"{out}/rows", ROWS)
    kinds = {kind: rows.where(f.col("kind") == kind).select(*_NAMES) for kind in _KINDS}
    kinds["open"] = _rows(spark, f"{out}/open", ", ".join(_COLUMNS))
    claims = standing(kinds).persist()
    made = tables(kinds, claims)
    made["alerts"] = made["alerts"].persist()
    for name, rows in made.items():
        put(rows.coalesce(1), f"{out}/fleet/{name}")
    counts = {row.verdict: row["count"] for row in claims.groupBy("verdict").count().collect()}
    counts["alerts"] = made["alerts"].count()
    return counts


def tables(kinds: Mapping[str, DataFrame], claims: DataFrame) -> dict[str, DataFrame]:
    """The tables by name, made of the rows of each kind.

    Args:
        claims: what `standing` finds, which is the first of them.
    """
    return {
        "claims": claims,
        "owners": _owners(claims),
        "residency": _residency(claims),
        "shared": _shared(claims),
        "routes": _routes(kinds["routes"], claims),
        "alerts": _alerts(kinds["verdicts"], kinds["rejected"], claims),
    }


def standing(kinds: Mapping[str, DataFrame]) -> DataFrame:
    """A row for each claim of each run of a stream: the last verdict on it, whose it is, and its
    size. Claims that are not over have the verdict that they would end with.
    """
    stated = kinds["verdicts"].where(f.col("what") == "claim").unionByName(kinds["open"])
    stated = stated.where(f.col("what").isin("claim", "final"))
    order = f.struct(f.col("what") == "final", "at")
    last = stated.groupBy(*_CLAIM, "period").agg(
        f.max_by("says", order).alias("verdict"),
        f.max_by("mode", order).alias("mode"),
        f.max_by("state", order).alias("state"),
        f.max("at").alias("at"),
    )
    about = (
        kinds["claims"]
        .groupBy(*_CLAIM)
        .agg(*(_last(name).alias(name) for name in ("owner", "model", "footprint")))
    )
    owed = f.col("state").isin(_OWED)  # the runtime is responsible for it
    return last.join(about, [*_CLAIM], "left").withColumn("owed", owed)


def _last(name: str) -> Column:
    """The last value that events state."""
    return f.max_by(name, f.when(f.col(name).isNotNull(), f.col("at")))


def _sums(*, by: list[str], claims: DataFrame) -> DataFrame:
    owed = f.col("owed")
    blocks = f.coalesce(f.col("footprint"), f.lit(0))
    verdict = f.col("verdict")
    return claims.groupBy(*by).agg(
        f.count_distinct("source").alias("sources"),
        f.count("*").alias("claims"),
        f.count_if(owed).alias("owed"),
        f.sum(f.when(owed, blocks).otherwise(0)).alias("owed_blocks"),
        f.count_if(f.col("state") == str(ClaimState.MATERIALIZED)).alias("resident"),
        *(f.count_if(verdict == v).alias(v) for v in ("kept", "violated", "inconclusive")),
        f.count_if(f.col("state") == str(ClaimState.HARMED)).alias("harmed"),
    )


def _owners(claims: DataFrame) -> DataFrame:
    """What each owner holds in all engines together."""
    return _sums(by=["owner"], claims=claims)


def _residency(claims: DataFrame) -> DataFrame:
    return _sums(by=["model", "owner"], claims=claims)


def _shared(claims: DataFrame) -> DataFrame:
    """Claim ids that several streams have: two claims, unless one follows the other."""
    place = f.concat_ws(" ", *_STREAM)
    found = claims.groupBy("claim_id").agg(
        f.count_distinct(*_STREAM).alias("streams"),
        f.count_if("owed").alias("owed"),
        f.count_distinct("owner").alias("owners"),
        f.sort_array(f.collect_set(place)).alias("places"),
    )
    return found.where(f.col("streams") > 1)


def _routes(routes: DataFrame, claims: DataFrame) -> DataFrame:
    """What a router did with the requests of a claim, beside the engine that has that claim."""
    routed = routes.where(f.col("claim_id").isNotNull())
    sums = routed.groupBy(*_CLAIM).agg(
        f.count_if(f.col("what") == "request_routed").alias("routed"),
        f.count_distinct("worker").alias("workers"),
        f.count_if(f.col("hit")).alias("hits"),
        f.count_if(~f.col("hit")).alias("misses"),
        f.avg("cost").alias("mean_cost"),
    )
    own = f.coalesce(f.col("mode") != str(Mode.ROUTED_REUSE), f.lit(True))  # of no router
    engines = claims.where(own).select(
        "claim_id",
        f.col("source").alias("engine_source"),
        f.col("stream").alias("engine_stream"),
        f.col("verdict").alias("engine_verdict"),
        f.col("owed").alias("engine_owes"),
    )
    other = (f.col("source") != f.col("engine_source")) | (
        f.col("stream") != f.col("engine_stream")
    )
    return sums.join(engines, "claim_id").where(other)


def _alerts(verdicts: DataFrame, rejected: DataFrame, claims: DataFrame) -> DataFrame:
    """What a person should look at: violations, limits, refused lines, and ids with two owners."""
    columns = ("what", "id", *_CLAIM, "file", "line", "says")
    said = verdicts.where(f.col("what").isin("violation", "limit")).select(*columns)
    first = rejected.groupBy(*_STREAM).agg(
        f.min_by(f.struct("id", "file", "line", "says"), "at").alias("first")
    )
    lines = first.select(
        f.lit("rejected").alias("what"),
        "first.id",
        *_STREAM,
        f.lit(None).cast("string").alias("claim_id"),
        "first.file",
        "first.line",
        "first.says",
    )
    twice = _shared(claims).where((f.col("owners") > 1) & (f.col("owed") > 1))
    owners = twice.select(
        f.lit("shared").alias("what"),
        f.sha2(f.concat_ws("\0", f.lit("shared"), "claim_id", "places"), 256).alias("id"),
        f.lit("").alias("source"),
        f.lit("").alias("stream"),
        "claim_id",
        f.lit("").alias("file"),
        f.lit(0).cast("long").alias("line"),
        f.concat_ws(", ", "places").alias("says"),
    )
    return said.unionByName(lines).unionByName(owners)


def _rows(spark: SparkSession, folder: str, schema: str) -> DataFrame:
    """What a folder of rows has; none where none was written."""
    try:
        return spark.read.schema(schema).parquet(f"{folder}/parquet")
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return spark.createDataFrame([], schema)
