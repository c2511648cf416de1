"""Makes the Spark session of the command: on this machine alone, unless configured otherwise."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["session"]

_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""spark-submit sets it for the program that it starts."""

_ROCKS: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_QUICK: Final = "-XX:TieredStopAtLevel=1"
_USUAL: Final = {
    "spark.app.name": "resident-claims fleet",
    "spark.master": "local[*]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # A slow machine takes long to start a Python worker, and to answer from one.
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.network.timeout": "300s",
    "spark.task.maxFailures": "8",
    # Most of Java's time went to its second compiler, and what that made was no faster here.
    "spark.driver.extraJavaOptions": _QUICK,
    "spark.executor.extraJavaOptions": _QUICK,
    # By default a task has 32 files at most, however small they are.
    "spark.sql.files.openCostInBytes": str(64 << 10),
    # The files of a batch are listed by so many tasks; by default by one for each file.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
}
"""What is so unless a user says otherwise, as by spark-submit or spark-defaults.conf."""

_NEEDED: Final = {
    "spark.sql.streaming.stateStore.providerClass": _ROCKS,
    # A batch writes what changed, and not the files of the store.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",  # a row has up to some MiB of lines
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
}


def session(master: str | None, partitions: int) -> SparkSession:
    """The session, of the program that spark-submit started or a new one.

    Args:
        master: as Spark names it; None for the one that Spark is configured with, or else all cores
            of this machine.
        partitions: into so many parts the streams are divided.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    submitted = _SUBMITTED in os.environ
    if submitted:
        SparkContext._ensure_initialized()
    conf = SparkConf()
    asked = {} if master is None else {"spark.master": master}
    _put(conf, {"spark.sql.shuffle.partitions": str(partitions)} | _NEEDED | asked)
    for name, value in _USUAL.items():
        conf.setIfMissing(name, value)
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _put(conf: SparkConf, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        conf.set(name, value)
