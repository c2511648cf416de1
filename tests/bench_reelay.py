"""What reelay asks of a stream with one property over all claims, for part (b) of bench_monitor.

The property is that a claim is restored only after a restore of it was required. reelay gets the
events decoded already, with the two fields that it reads, and says whether each keeps the property;
it names no claim. It is the extra `bench`, which nothing else needs.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["PROPERTY", "decoded", "is_there", "keep"]

PROPERTY: Final = (
    "forall[c]. {kind: claim_restored, claim_id: *c} implies "
    "once {kind: claim_restore_required, claim_id: *c}"
)

Read = dict[str, str]


class _Needed(msgspec.Struct):
    kind: str
    claim_id: str = ""


def is_there() -> bool:
    """Whether reelay is installed; where it is not, that is said on standard error."""
    if find_spec("reelay") is not None:
        return True
    print("(b) skipped: reelay is not installed (pip install '.[bench]')", file=sys.stderr)
    return False


def decoded(path: Path) -> list[Read]:
    """The events of a file, each with the fields that the property reads."""
    found = msgspec.json.Decoder(_Needed).decode_lines(path.read_bytes())
    return [msgspec.structs.asdict(event) for event in found]


def keep(events: Iterable[Read]) -> bool:
    """Whether all events keep the property."""
    import reelay

    monitor: Any = reelay.discrete_timed_monitor(pattern=PROPERTY, condense=False)
    update, kept = monitor.update, True
    for event in events:
        kept &= update(event)["value"]
    return kept
