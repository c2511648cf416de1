"""One run of one scene in a process of its own: `python -m tests_vllm.once SCENE FOLDER`.

Prints, as JSON, what was told in order, how the last request ended, and the verdict.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from runtime_hooks.config import Drill
from runtime_hooks.demo.engine import Engine, claim
from runtime_hooks.demo.scenes import offloading
from spec.alphabet import Kind
from spec.claims import Mode

PROMPT, ACTIVE, FILLER = ("resident", 61), ("active", 75), ("filler", 1)
CLAIMED = ((*PROMPT, claim(mode="offloadable")), FILLER, ACTIVE)
OTHER = (("other", 61), ("filler 2", 1), ("more", 75), ("other", 61))
FAIL = Drill(fail_loads={"claim:resident": 1})
WRONG = dict.fromkeys((Kind.CLAIM_RESTORATION_FAILED, Kind.REQUEST_REFUSED), "claim:a")
BOTH = (
    (*PROMPT, claim("claim:a", mode="offloadable")),
    FILLER,
    ("b", 61, claim("claim:b", mode="offloadable")),
    ("filler 2", 1),
    ACTIVE,
    ("b", 61),
)
SCENES: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "success": ((*CLAIMED, PROMPT), {}, "fail"),
    "failure": ((*CLAIMED, PROMPT), {"drill": FAIL}, "fail"),
    "failure, recompute": ((*CLAIMED, PROMPT), {"drill": FAIL}, "recompute"),
    "retry": ((*CLAIMED, PROMPT, PROMPT), {"drill": FAIL}, "fail"),
    "ordinary offload": ((PROMPT, FILLER, ACTIVE, PROMPT), {}, "fail"),
    "unclaimed failure": ((*CLAIMED, *OTHER), {"drill": Drill(fail_loads={"": 1})}, "fail"),
    "wrong claim": (
        BOTH,
        {"drill": Drill(fail_loads={"claim:b": 1}, misattribute=WRONG)},
        "fail",
    ),
    "fallback recompute": ((*CLAIMED, PROMPT), {"drill": FAIL, "enforce": ()}, "recompute"),
}


def main(name: str, folder: str) -> None:
    """Play it."""
    asks, settings, policy = SCENES[name]
    engine = Engine(Path(folder), 80, settings, **offloading(policy))
    answers = [answer for asked in asks for answer in engine.serve(asked)]
    engine.close()
    report = engine.judge(Mode.OFFLOADABLE)
    told = {
        "events": [[event.sequence, event.kind] for event in engine.events()],
        "claims": sorted({event.claim_id for event in engine.events() if event.claim_id}),
        "end": answers[-1].stop_reason or answers[-1].finish_reason,
        "verdict": report.verdict,
        "why": report.why,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
