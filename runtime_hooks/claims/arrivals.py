"""Describes a request and its prompt to the controller, and the controller's decision on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spec.events.canonical import CapacityProof

__all__ = ["Arrival", "Decision", "Prompt", "Refusal"]

_MOST_TOKENS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt of a claim as token ids, and its cache salt.

    Raises:
        ClaimError: these are not token ids.
    """

    token_ids: tuple[int, ...]
    salt: str = ""

    def __post_init__(self) -> None:
        ids = self.token_ids
        if len(ids) > _MOST_TOKENS or not all(type(i) is int and 0 <= i < 2**31 for i in ids):
            raise ClaimError("these are not token ids", f"give at most {_MOST_TOKENS} numbers")


class Arrival(msgspec.Struct, frozen=True):
    """A request that arrived, in whole blocks of its prompt.

    `keys` are the contents of these blocks. `blocks` is the most blocks that the request can come
    to use, and `least` the fewest with which it can be served, if its output has no limit but the
    end of the context; else 0. `certain` are the blocks that it needs at one time to compute the
    tokens that it has, whatever it generates; 0 where that is not known. It may use cached blocks
    for the first `reusable` ones.
    `claim`, `release`, `pin`, `renewal`, `trial` (a claim that is only tried), `mode_change` and
    `hints` came with it and are not parsed yet. `no_admit` says that its blocks are not cached.
    `faults` says why other parts of its metadata are rejected.
    `caller` is who calls by the request's own word, with a proof. `scope` is the authenticated
    owner scope: empty for an unknown caller, None where callers are not authenticated.
    `namespace` and `adapter` belong to the cache identity of its blocks. `elsewhere` says that it
    is sent to another rank where it does not fit beside the claims. `prompt` gives its tokens; it
    is None where they are not known.
    """

    request_id: str
    keys: Sequence[bytes]
    blocks: int
    reusable: int
    claim: object = None
    release: object = None
    pin: object = None
    renewal: object = None
    trial: object = None
    mode_change: object = None
    hints: object = None
    no_admit: bool = False
    faults: dict[str, str] = {}
    caller: object = None
    scope: str | None = None
    namespace: str = ""
    adapter: str | None = None
    least: int = 0
    certain: int = 0
    elsewhere: bool = False
    prompt: Callable[[], Prompt] | None = None

    @property
    def actions(self) -> tuple[object, ...]:
        """What it asks for in the name of a scope, in the order of `metadata.ACTIONS`."""
        own = self.claim, self.release, self.pin, self.renewal, self.trial, self.mode_change
        return *own, self.hints

    @property
    def asks(self) -> bool:
        """Whether it asks for something in the name of a scope."""
        return any(each is not None for each in self.actions)

    @property
    def plain(self) -> bool:
        """Whether nothing came with it that needs a decision or an answer."""
        return not (self.asks or self.faults)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused: claims block it, by this proof; or, without a proof, these claims
    were not restored for it. `owners` has for each of them its owner and the blocks that it
    declares. `elsewhere` says that it is sent to another rank.
    """

    request_id: str
    blocking_claim_ids: tuple[str, ...]
    proof: CapacityProof | None = None
    owners: tuple[tuple[str, int], ...] = ()
    elsewhere: bool = False

    @property
    def never_fits(self) -> bool:
        """Whether the request needs more blocks than the pool has: no claim is the reason."""
        return self.proof is not None and self.proof.active > self.proof.usable


@dataclass(frozen=True, slots=True)
class Decision:
    """What the controller decided on a request that arrived.

    `runs` says that it may be scheduled. Otherwise it waits, or it is refused, if there is a
    `refusal`. `bound` is the number of blocks to which its output is bounded; 0 where it is not.
    `answers` says for `claim`, `release`, and for everything else by its key in the
    metadata, as far as it came with the request, why it was rejected; empty where it was not.
    `hints` is the answer to its KV hints, which changes when the request ends. `scope` is as in
    `Arrival`.
    """

    runs: bool
    answers: dict[str, str] = field(default_factory=dict)
    refusal: Refusal | None = None
    scope: str | None = None
    bound: int = 0
    hints: dict[str, Any] | None = None
