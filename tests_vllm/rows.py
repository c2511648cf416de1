"""What a row of the table is: a scenario, what must come out of it, and its twins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from runtime_hooks.demo.engine import Asked
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.demo.tiny import DEVICE
from runtime_hooks.settings.config import Drill
from spec.claims.states import Mode
from spec.events.alphabet import REPORTS, Kind
from spec.events.canonical import Event
from tests_vllm.actions import Act
from tests_vllm.architectures import configured

__all__ = ["AHEAD", "Row", "Setting", "Twin", "drill", "ordered", "story", "twins"]

Setting: TypeAlias = Mapping[str, Any]

AHEAD: Final = 0 if DEVICE == "cpu" else 1
"""Blocks that asynchronous scheduling may allocate before it is known that a request has ended; on
a CPU vLLM turns it off.
"""

_FACTS: Final = {
    Kind.BLOCK_EVICTED: "evicted",
    Kind.BLOCK_LOST: "lost",
    Kind.DURATION_ELAPSED: "elapsed",
    Kind.HOST_COPY_LOST: "copy_lost",
    Kind.LOAD_FAILED: "load_failed",
    Kind.LOAD_FINISHED: "loaded",
    Kind.PREFIX_REUSED: "reused",
    Kind.REQUEST_FINISHED: "end",
    Kind.STORE_FINISHED: "stored",
}


@dataclass(frozen=True)
class Twin:
    """The settings of a twin, and an obligation that finds it."""

    settings: Setting
    broken: str


@dataclass(frozen=True)
class Row:
    """One scenario, and what must come out of it.

    Args:
        code: what the check of its trace exits with.
        ends: of each request, how many of its blocks it found in the cache or in the tier, or why
            it was not served.
        victims: blocks that were evicted.
        told: the reports, and the facts that go with them, in order.
        named: the claims that each refusal blames.
        proofs: the sum in each refusal for want of room.
        looks: what the engine's own pool held on the way.
        usable: blocks of the pool.
        tier: the failure policy of the offload tier; empty where there is none.
        worker: a spec of `tests_vllm.specs` whose loads go wrong.
        model: one of `tests_vllm.architectures`, with several caches; by default one of full
            attention.
        more: of the engine's configuration, with files in a folder.
        under: what holds in this process while the engine runs.
    """

    mode: Mode
    asks: tuple[Asked | Act, ...]
    code: int
    ends: str
    victims: int
    told: str
    named: tuple[str, ...] = ()
    proofs: tuple[tuple[int, ...], ...] = ()
    looks: tuple[object, ...] = ()
    usable: int = 80
    settings: Setting = field(default_factory=dict)
    tier: str = ""
    worker: str = ""
    model: str = ""
    more: Callable[[Path], dict[str, Any]] = lambda folder: {}
    under: Callable[[], AbstractContextManager[object]] = nullcontext
    twins: Mapping[str, Twin] = field(default_factory=dict)

    def engine(self, folder: Path) -> dict[str, Any]:
        """The configuration of its engine, beside the pool; what that needs is in the folder."""
        made = configured(self.model) if self.model else {}
        named = {"spec_name": self.worker, "spec_module_path": "tests_vllm.specs"}
        tier = offloading(self.tier, **(named if self.worker else {})) if self.tier else {}
        return {**made, **tier, **self.more(folder)}


def story(events: Iterable[Event]) -> str:
    """What was reported, in short: each report, and the facts of `_FACTS`."""
    return " ".join(
        _FACTS.get(event.kind) or event.kind.partition("_")[2]
        for event in events
        if event.kind in REPORTS or event.kind in _FACTS
    )


def ordered(told: Iterable[str]) -> list[str]:
    """What was told, in order as far as the order is determined.

    On a GPU a copy to the offload tier ends at a time of its own: before or after a request does.
    """
    return list(told) if DEVICE == "cpu" else sorted(told)


def drill(*kinds: Kind, other: str = "", fail: str | None = None) -> Setting:
    """Settings by which reports of these kinds are kept back.

    Args:
        other: the claim that they name instead, if they are written.
        fail: the claim of which one load fails, or of nobody's blocks if it is empty.
    """
    loads = {} if fail is None else {fail: 1}
    if other:
        return {"drill": Drill(misattribute=dict.fromkeys(kinds, other), fail_loads=loads)}
    return {"drill": Drill(suppress=kinds, fail_loads=loads)}


def twins(
    *kinds: Kind,
    off: str = "",
    untold: str,
    misnamed: str = "",
    other: str = "claim:other",
    fail: str | None = None,
) -> dict[str, Twin]:
    """The twins of a row whose reports of these kinds matter: what finds each of them.

    Args:
        off: empty where nothing is enforced.
        misnamed: where it is another obligation than `untold`.
    """
    unkept = {"not enforced": Twin({"enforce": (), **drill(fail=fail)}, off)}
    return {
        **(unkept if off else {}),
        "not told": Twin(drill(*kinds, fail=fail), untold),
        "misattributed": Twin(drill(*kinds, other=other, fail=fail), misnamed or untold),
    }
