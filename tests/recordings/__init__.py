"""Traces that the plugin recorded in a real engine, redacted; see README.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from spec.claims.states import Mode

__all__ = ["FOLDER", "OBSERVED", "ON_GPU", "OPERATED", "RECORDED", "Observed", "Recorded"]

FOLDER: Final = Path(__file__).parent


class Recorded(NamedTuple):
    """A scene of `python -m runtime_hooks demo`, and what its trace must come to."""

    scene: str
    mode: Mode
    verdict: str
    folder: str = ""

    @property
    def path(self) -> Path:
        """Where its trace lies."""
        return FOLDER / self.folder / f"{self.scene.replace(', ', '_').replace(' ', '_')}.jsonl"


RECORDED: Final = (
    Recorded("hard", Mode.HARD_PROTECTED, "kept"),
    Recorded("hard, not enforced", Mode.HARD_PROTECTED, "violated"),
    Recorded("demotable, reset", Mode.DEMOTABLE, "kept"),
    Recorded("expiring", Mode.EXPIRING, "kept"),
    Recorded("offloadable", Mode.OFFLOADABLE, "kept"),
    Recorded("offloadable, load fails", Mode.OFFLOADABLE, "kept"),
    Recorded("priority", Mode.SOFT_PRIORITY, "kept"),
)

ON_GPU: Final = (
    Recorded("L3 hard claim", Mode.HARD_PROTECTED, "kept", "gpu"),
    Recorded("L3 hard claim not enforced", Mode.HARD_PROTECTED, "violated", "gpu"),
    Recorded("path A success", Mode.OFFLOADABLE, "kept", "gpu"),
    Recorded("path B failure", Mode.OFFLOADABLE, "kept", "gpu"),
    Recorded("path C two claims", Mode.OFFLOADABLE, "kept", "gpu"),
)
"""Rows of the table of `tests_vllm`, on an NVIDIA H200."""


class Observed(NamedTuple):
    """A row of the table of `tests_vllm`, and the model that it is of.

    `twin` is that of the row in which its enforcement is off; empty where there is no claim.
    """

    row: str
    twin: str
    model: str

    @property
    def path(self) -> Path:
        """Where its trace lies."""
        name = f"{self.row} {self.twin}".strip().lower()
        return FOLDER / "observed" / f"{re.sub('[^a-z0-9]+', '_', name)}.jsonl"


_OFF: Final = "not enforced"

OBSERVED: Final = (
    Observed("L1 native", "", "vllm_pool"),
    Observed("L2 write no-admit", "", "vllm_pool"),
    Observed("best effort", "", "vllm_pool"),
    Observed("L3 hard claim", _OFF, "vllm_pool"),
    Observed("L5 expiry", _OFF, "vllm_pool"),
    Observed("reset of a hard claim", _OFF, "vllm_pool"),
    Observed("control: ordinary offload", "", "vllm_offload"),
    Observed("control: fallback recompute", "", "vllm_offload"),
    Observed("path A, success", _OFF, "vllm_offload"),
    Observed("path C, two claims", _OFF, "vllm_offload"),
)
"""Rows in which nothing is enforced."""

OPERATED: Final = (
    Observed("a demotion by the operator", "", "plugin"),
    Observed("a drain", "", "plugin"),
    Observed("a claim after its rejection", "", "plugin"),
)
"""Rows in which an operator acts, or a claim is rejected and stated again."""
