"""The command `fleet` as the file that spark-submit runs.

`spark-submit monitor/fleet/submit.py SOURCE --checkpoint DIR --out DIR`, where each worker has
resident-claims[fleet] installed, of the same release.
"""

from __future__ import annotations

import sys

from monitor.fleet.cli import register
from spec.cli.common import new_app, run

if __name__ == "__main__":
    app = new_app("monitor", "Judge the streams of a fleet on Spark.")
    register(app)
    sys.exit(run(app, ["fleet", *sys.argv[1:]]))
