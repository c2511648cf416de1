"""An engine whose model is split over two processes, with the connector of `own_connector`: `python
-m tests_vllm.two_ranks_own FOLDER`.

Prints, as JSON, what became of a claim that a reset took and a load brought back.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["VLLM_CPU_OMP_THREADS_BIND"] = "0|1"

from runtime_hooks.demo import tiny
from runtime_hooks.demo.engine import Engine, claim
from spec.claims.states import Mode
from tests_vllm.own_connector import owning


def main(folder: str) -> None:
    """Play it."""
    tiny._CONFIG.update(hidden_size=128, head_dim=64)
    engine = Engine(Path(folder), tensor_parallel_size=2, **owning())
    (first,) = engine.serve(("resident", 61, claim()))
    assert engine.core.scheduler.reset_prefix_cache()
    (again,) = engine.serve(("resident", 61))
    (pressing,) = engine.serve(("active", 70))
    engine.close()
    said = {
        "same": first.tokens == again.tokens,
        "cached": again.cached,
        "pressing": pressing.finish_reason,
        "verdict": engine.judge(Mode.HARD_PROTECTED).verdict,
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
