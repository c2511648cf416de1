"""One run of one scenario in a process of its own: `python -m tests_vllm.once ROW TWIN FOLDER`.

TWIN is empty for the scenario itself. Prints, as JSON, what was reported in order, how each request
ended, and the verdict.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests_vllm.rows import story
from tests_vllm.stage import end_of, play
from tests_vllm.table import ROWS


def main(name: str, twin: str, folder: str) -> None:
    """Play it."""
    row = ROWS[name]
    played = play(row, Path(folder), row.twins[twin].settings if twin else {})
    told = {
        "numbers": [event.sequence for event in played.events],
        "story": story(played.events),
        "ends": " ".join(map(end_of, played.answers)),
        "verdict": played.report.verdict,
        "why": played.report.why,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
