"""Starts a standalone cluster of Spark on loopback, of which each process can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyspark

from tests_fleet.runs import QUICK

__all__ = ["Cluster", "kill"]

_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
_WAIT_S = 180.0


class Cluster:
    """A master, and workers of one core each, with their folders below `folder`."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self._made = 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"spark://127.0.0.1:{self._port}"
        self._start("master.Master", "--port", str(self._port))
        self._until_listening()
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        """Start one worker more."""
        folder = self.folder / f"worker-{self._made}"
        own = ("--cores", "1", "--memory", "900m", "--work-dir", str(folder))
        self.workers.append(self._start("worker.Worker", *own, self.url))

    def driver(self, *args: str) -> subprocess.Popen[bytes]:
        """Start a driver with these arguments, the last of which is the size of a batch."""
        *others, size = args
        command = [sys.executable, "-m", "tests_fleet.driver", *others, self.url, size]
        return self._run(command, f"driver-{self._made}")

    def close(self) -> None:
        """Kill what runs."""
        for process in self.processes:
            kill(process)

    def _start(self, name: str, *args: str) -> subprocess.Popen[bytes]:
        command = [str(_CLASS), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        return self._run([*command, "--webui-port", "0", *args], f"{name}-{self._made}")

    def _run(self, command: list[str], log: str) -> subprocess.Popen[bytes]:
        self._made += 1
        env = (
            os.environ
            | QUICK
            | {
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_EXECUTOR_MEMORY": "512m",
                "SPARK_DRIVER_MEMORY": "800m",
                "PYTHONPATH": str(Path.cwd()),
                "PYSPARK_PYTHON": sys.executable,
            }
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{log}.log").open("wb") as out:
            process = subprocess.Popen(
                command, env=env, stdout=out, stderr=out, start_new_session=True
            )
        self.processes.append(process)
        return process

    def _until_listening(self) -> None:
        end = time.monotonic() + _WAIT_S
        while time.monotonic() < end:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1):
                return
            time.sleep(0.2)
        raise TimeoutError("the master does not listen")


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that it started, as `kill -9` does."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
