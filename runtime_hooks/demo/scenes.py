"""Lists the scenarios of the demo: requests to a tiny real engine, and the expected verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import DEVICE
from runtime_hooks.engines import installed, package_of
from runtime_hooks.settings.config import Drill
from spec.claims.states import Mode
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from runtime_hooks.demo.engine import Asked

__all__ = ["RESET", "SCENES", "Scene", "offloading"]

RESET: Final = "reset"
_RESIDENT: Final = ("resident", 60)
_ACTIVE: Final = ("active", 70)
_LOSSES: Final = (Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_BLOCK_LOST)
_HARD, _OFF, _SOFT, _BEST = (
    Mode.HARD_PROTECTED,
    Mode.OFFLOADABLE,
    Mode.SOFT_PRIORITY,
    Mode.BEST_EFFORT,
)


@dataclass(frozen=True)
class Scene:
    """Requests to an engine of 80 usable blocks, and the expected exit code of the check.

    `RESET` among the requests is a reset of the cache.
    """

    name: str
    says: str
    mode: Mode
    code: int
    asks: tuple[Asked | str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    offload: bool = False


def offloading(policy: str = "fail", **more: Any) -> dict[str, Any]:
    """The engine's configuration for offloading; 16 MiB hold some 500 blocks.

    Without a GPU the stock spec does not run.
    """
    from vllm.config import KVTransferConfig

    spec = {
        "spec_name": "MemcpyOffloadingSpec",
        "spec_module_path": f"{package_of(installed())}.memcpy",
    }
    extra = {"cpu_bytes_to_use": 16 << 20, **(spec if DEVICE == "cpu" else {}), **more}
    return {
        "kv_transfer_config": KVTransferConfig(
            kv_connector="OffloadingConnector",
            kv_role="kv_both",
            kv_load_failure_policy=policy,
            kv_connector_extra_config=extra,
        )
    }


def _pressed(mode: str, **more: Any) -> tuple[Asked, ...]:
    return ((*_RESIDENT, claim(mode=mode, **more)), _ACTIVE)


def _harmed(mode: str, **more: Any) -> tuple[Asked | str, ...]:
    """A reset removes the claim's blocks, they are computed again, and a large request follows."""
    return ((*_RESIDENT, claim(mode=mode, **more)), RESET, _RESIDENT, _ACTIVE)


def _brought_back() -> tuple[Asked, ...]:
    """A prompt one block longer than the claim is computed, copied, evicted and needed again."""
    longer = ("resident", 61)
    return ((*longer, claim(mode="offloadable")), ("filler", 1), _ACTIVE, longer)


def _ranked(first: int, second: int) -> tuple[Asked, ...]:
    """Two claims of 20 blocks with these priorities, and 20 unclaimed blocks; then 50 must go."""
    claims = {"a": first, "b": second}
    return (
        *((n, 20, claim(f"claim:{n}", 20, _SOFT, priority=rank)) for n, rank in claims.items()),
        ("unclaimed", 20),
        _ACTIVE,
    )


SCENES: Final = (
    Scene("native", "without a claim 50 blocks are evicted", _HARD, 3, (_RESIDENT, _ACTIVE)),
    Scene(
        "no-admit",
        "the large request is not cached; 50 blocks are evicted all the same",
        _HARD,
        3,
        (_RESIDENT, (*_ACTIVE, {"no_admit": True})),
    ),
    Scene(
        "hard",
        "the request is refused, and the claim is named",
        _HARD,
        0,
        _pressed("hard_protected"),
    ),
    Scene(
        "hard, not enforced",
        "the claim's blocks are evicted",
        _HARD,
        1,
        _pressed("hard_protected"),
        {"enforce": ()},
    ),
    Scene(
        "hard, not reported",
        "the report of the refusal is suppressed",
        _HARD,
        1,
        _pressed("hard_protected"),
        {"drill": Drill(suppress=(Kind.REQUEST_REFUSED,))},
    ),
    Scene(
        "hard, reset",
        "reported harmed, computed again, then kept",
        _HARD,
        0,
        _harmed("hard_protected"),
    ),
    Scene("demotable", "demoted, then evicted", Mode.DEMOTABLE, 0, _pressed("demotable")),
    Scene(
        "demotable, reset", "reported harmed, then demoted", Mode.DEMOTABLE, 0, _harmed("demotable")
    ),
    Scene(
        "expiring",
        "the request waits until the claim expires",
        Mode.EXPIRING,
        0,
        _pressed("expiring", duration="2 s"),
        {"defer_s": 30.0},
    ),
    Scene(
        "expiring, reset",
        "reported harmed, then expired",
        Mode.EXPIRING,
        0,
        _harmed("expiring", duration="4 s"),
        {"defer_s": 30.0},
    ),
    Scene(
        "offloadable", "copied, evicted, restored, reused", _OFF, 0, _brought_back(), offload=True
    ),
    Scene(
        "offloadable, load fails",
        "the request that needs it is refused, and the claim is named",
        _OFF,
        0,
        _brought_back(),
        {"drill": Drill(fail_loads={"claim:resident": 1})},
        offload=True,
    ),
    Scene("priority", "the lower priority is evicted first", _SOFT, 0, _ranked(1, 9)),
    Scene(
        "priority, swapped", "now the other claim has the lower priority", _SOFT, 0, _ranked(9, 1)
    ),
    Scene(
        "priority, equal", "of equal priorities the older is evicted first", _SOFT, 0, _ranked(3, 3)
    ),
    Scene(
        "priority, not enforced",
        "the older is evicted first, though it has the higher priority",
        _SOFT,
        1,
        _ranked(9, 1),
        {"enforce": ()},
    ),
    Scene(
        "priority, not reported",
        "the reports of losses are suppressed",
        _SOFT,
        1,
        _ranked(1, 9),
        {"drill": Drill(suppress=_LOSSES)},
    ),
    Scene(
        "best effort",
        "nothing is kept, and the loss is reported",
        _BEST,
        0,
        _pressed("best_effort"),
    ),
    Scene(
        "best effort, not reported",
        "the report of the loss is suppressed; then the prompt is computed again",
        _BEST,
        1,
        (*_pressed("best_effort"), _RESIDENT),
        {"drill": Drill(suppress=_LOSSES)},
    ),
)
