"""One scenario with the engine in another process.

Usage: `python -m tests_vllm.other_process ROW TWIN FOLDER`.

The plugin is turned on by the environment alone, in each of vLLM's processes. What is seen of the
pool on the way is left out. Prints, as JSON, how each request ended; the trace is in the folder.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import msgspec

from runtime_hooks.demo.engine import serve, tiny_llm
from runtime_hooks.settings.config import Settings
from tests_vllm.conftest import LONG_S
from tests_vllm.stage import end_of
from tests_vllm.table import ROWS

_IDLE_S = 2.0  # an engine that falls idle may miss a signal: docs/findings.md


def main(name: str, twin: str, folder: str) -> None:
    """Play it."""
    row, at = ROWS[name], Path(folder)
    changed = {**row.settings, **(row.twins[twin].settings if twin else {})}
    settings = at / "settings.json"
    trace, control = f"{at}/{{pid}}.jsonl", f"{at}/control"
    settings.write_bytes(msgspec.json.encode(Settings(trace=trace, control=control, **changed)))
    os.environ.update(RESIDENT_CLAIMS=str(settings), VLLM_ENABLE_V1_MULTIPROCESSING="1")
    llm = tiny_llm(at, row.usable, shutdown_timeout=LONG_S, **row.engine(at))
    ends = [end_of(*serve(llm, asked)) for asked in row.asks if isinstance(asked, tuple)]
    time.sleep(_IDLE_S)
    llm.llm_engine.engine_core.shutdown(timeout=LONG_S)
    print(json.dumps({"ends": " ".join(ends), "process": os.getpid()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
