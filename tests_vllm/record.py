"""Records scenes of the demo in a real engine, redacted: `python -m tests_vllm.record`.

It writes the traces of tests/recordings anew, and refuses one whose verdict is not the one due, or
is another one after the redaction. Rows of the table are recorded as well: some that enforce
nothing, and those with an operator.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from monitor.check.files import check_files
from runtime_hooks.demo.play import play_all
from tests.recordings import OBSERVED, OPERATED, RECORDED, Recorded
from tests.recordings.redact import redacted
from tests_vllm.stage import play
from tests_vllm.table import ROWS

__all__ = ["main"]


def main() -> None:
    """Play the scenes, and write those that are kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "scenes"
        play_all(lambda _: None, folder)
        for recorded in RECORDED:
            _write(recorded, folder)
        for observed in (*OBSERVED, *OPERATED):
            row = ROWS[observed.row]
            settings = row.twins[observed.twin].settings if observed.twin else {}
            played = play(row, folder / observed.path.stem, settings)
            observed.path.write_bytes(redacted(played.trace.read_bytes()))
            print(observed.path.name)


def _write(recorded: Recorded, folder: Path) -> None:
    trace = folder / recorded.scene.replace(", ", "-").replace(" ", "-") / "trace.jsonl"
    after = folder / recorded.path.name
    after.write_bytes(redacted(trace.read_bytes()))
    verdicts = [check_files(each, recorded.mode).verdict for each in (trace, after)]
    if verdicts != [recorded.verdict] * 2:
        sys.exit(f"{recorded.scene}: {' and '.join(verdicts)}, and {recorded.verdict} is due")
    recorded.path.write_bytes(after.read_bytes())
    print(recorded.path.name)


if __name__ == "__main__":
    main()
