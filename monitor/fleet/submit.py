"""The command `fleet` as the file that spark-submit runs.

`spark-submit monitor/fleet/submit.py SOURCE --checkpoint DIR --out DIR`, where each worker has
resident-claims[fleet] installed, of the same release.
"""

from __future__ import annotations

import sys

from monitor.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["fleet", *sys.argv[1:]]))
