"""A request as the keeper needs it, and why one is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spec.events.canonical import CapacityProof

__all__ = ["Arrival", "Refusal"]


class Arrival(msgspec.Struct, frozen=True):
    """A request, in whole blocks of its prompt.

    `keys` are their contents; `blocks` are the most that it can come to use; of the first
    `reusable` it may use what is cached. `claim` is the claim that came with it, and `release` the
    one that it gives up, `pin` says of which job it is, all unread; `no_admit` says that its blocks
    are not cached, `faults` why other things that came with it are turned away. `caller` is who is
    said to call, unread, and `scope` who does, None where that is not asked; `namespace` and
    `adapter` are of its cache.
    """

    request_id: str
    keys: Sequence[bytes]
    blocks: int
    reusable: int
    claim: object = None
    release: object = None
    pin: object = None
    no_admit: bool = False
    faults: dict[str, str] = {}
    caller: object = None
    scope: str | None = None
    namespace: str = ""
    adapter: str | None = None

    @property
    def asks(self) -> bool:
        """Whether it asks for something in the name of a scope."""
        return not (self.claim is None and self.release is None and self.pin is None)

    @property
    def plain(self) -> bool:
        """Whether nothing came with it that is to be decided on or answered."""
        return not (self.asks or self.faults)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused: the claims that it does not fit beside, and the sum; or, without a
    sum, the claims whose blocks did not come back for it.
    """

    request_id: str
    blocking_claim_ids: tuple[str, ...]
    proof: CapacityProof | None = None
