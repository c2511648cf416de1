"""A fleet whose files lie where no Python process can open them, as in an object store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.monitor.follow.traces import trace
from tests.soak.compare import compared, due_of
from tests_fleet.runs import LOCAL, QUICK, verdicts, write


def test_another_file_system(tmp_path: Path) -> None:
    """Sources, state and rows on a file system that Java alone reads (viewfs, from Hadoop) have the
    verdicts of `check`, each once, also when a later run takes the state up.
    """
    lines = trace(30)
    whole = write(tmp_path / "whole.jsonl", lines)
    write(tmp_path / "fleet" / "in" / "engine" / "p-1.jsonl", lines[:150])
    conf = tmp_path / "conf" / "spark-defaults.conf"
    link = f"spark.hadoop.fs.viewfs.mounttable.fleet.link./a file:{tmp_path}/fleet\n"
    write(conf, [link.encode()])
    command = [sys.executable, "-m", "monitor", "fleet", "viewfs://fleet/a/in", *LOCAL]
    command += ["--checkpoint", "viewfs://fleet/a/state", "--out", "viewfs://fleet/a/out"]
    for _ in range(2):
        done = subprocess.run(
            [*command, "--format", "json"],
            env=os.environ | QUICK | {"SPARK_CONF_DIR": str(conf.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1, 3), done.stderr[-2000:]
        write(tmp_path / "fleet" / "in" / "engine" / "p-2.jsonl", lines[150:])
    assert str(tmp_path) not in json.loads(done.stdout)["out"]
    found = verdicts(tmp_path / "fleet" / "out")
    assert compared(found, due_of(whole), whole=True)["equal"] >= 20
    assert {"engine/"} == {line.source for line in found}
