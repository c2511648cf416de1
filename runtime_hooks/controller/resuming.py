"""Keeps what claims need to outlive their engine, and has those of the engine before resumed.

On an orderly stop the claims that say so are written with the tokens of their blocks. In the next
engine each has a successor, which waits for the first request with its prefix, as a claim that was
registered ahead. Until then no promise is made, and no block counts for it. Where the claim says
`restore` and a tier has the prefix, the engine loads it by a request of its own (decision 0037).
"""

from __future__ import annotations

import heapq
import time
from array import array
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from msgspec.structs import replace

from runtime_hooks.claims.arrivals import Prompt
from runtime_hooks.claims.metadata import Resume, UnreadableClaim, resume_of
from runtime_hooks.claims.outliving import MOST_CLAIMS, MOST_TOKENS, SCHEMA, Outliving, Stored
from runtime_hooks.claims.qualified import outlived, untried
from runtime_hooks.claims.registry import seconds_text
from runtime_hooks.trace.faults import LOG
from runtime_hooks.trace.names import PREFIX, object_of
from spec.claims.claim import MAX_ID
from spec.claims.durations import TimeUnit
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from runtime_hooks.claims.arrivals import Arrival
    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.preregistration import Preregistration
    from runtime_hooks.claims.registry import Now, Registry
    from spec.claims.claim import ResidentClaim

__all__ = ["NextEngine", "Resuming"]

_NS: Final = 1_000_000_000
_LONGEST: Final = 1024  # characters of a cache salt
_NUMBER: Final = len(" (resumed 1000000)")
_SALT: Final = f"it cannot be resumed: its cache_salt is not {_LONGEST} printable characters"
_MORE: Final = "it cannot be resumed: its blocks have more in them than tokens, or none"
_UNREADABLE: Final = "what the file has of it is no claim"
_OVER: Final = "its duration is over"


class NextEngine(Protocol):
    """What the engine says of claims that outlive engines."""

    @property
    def cache(self) -> Mapping[str, str]:
        """What must be the same in the engine that resumes the claims."""

    @property
    def tier(self) -> bool:
        """Whether it loads prompts from a tier that outlives it."""

    def restore(self, prompt: Prompt) -> None:
        """Have the engine load the blocks of a prompt, if its tier has them all."""


@dataclass(slots=True)
class _Kept:
    """A claim that is to outlive the engine: live, or a successor that waits.

    `before` is what the file had of it, where it was resumed, and `ends_ns` when its duration ends
    while it waits.
    """

    how: Resume
    owner: str
    tokens: array[int]
    salt: str
    before: Stored | None = None
    ends_ns: int | None = None


class Resuming:
    """The claims of one engine that outlive it, and those that it resumes.

    Args:
        epoch: of this engine.
        now: its clocks.
        waiting: the claims that wait for their prefix.
        decline: reports under a name why a claim is not resumed.
        engine: None where no claim outlives it; `off` says why.
    """

    off = "its setting resume is off"

    def __init__(
        self,
        registry: Registry,
        epoch: str,
        now: Now,
        waiting: Preregistration,
        decline: Callable[[str, str], None],
        engine: NextEngine | None,
    ) -> None:
        self._registry, self._names, self._epoch = registry, registry.names, epoch
        self._now, self._waiting, self._decline = now, waiting, decline
        self._engine = engine
        self._kept: dict[str, _Kept] = {}  # by the engine's id
        self._ends: list[tuple[int, str]] = []  # when the wait of those ends that may not wait on
        waiting.over = self.ended

    # While the engine runs.

    def rejection(self, claim: ResidentClaim, how: Resume, arrival: Arrival) -> str:
        """Why a claim cannot outlive its engine as it says; empty where it can."""
        if how is Resume.NEVER:
            return ""
        if self._engine is None:
            return f"no claim outlives this engine: {self.off}"
        waits = claim.claim_id in self._kept
        if how is Resume.RESTORE and not (self._engine.tier or waits):
            return "this engine has no tier that outlives it: say recompute"
        if len(untried(claim.claim_id)) > MAX_ID - _NUMBER:
            return f"it cannot be resumed: with {_NUMBER} more characters its id would be too long"
        if arrival.prompt is None:
            return _MORE
        size = claim.footprint_blocks
        tokens = size * claim.cache_identity.block_size
        try:
            prompt = arrival.prompt()
            salt = prompt.salt
            if len(salt) > _LONGEST or not salt.isprintable():
                return _SALT
            prefix = self._waiting.prefix(claim, Prompt(prompt.token_ids[:tokens], salt))
        except ClaimError as error:
            return str(error)
        if prefix != object_of(arrival.keys[size - 1]):
            return _MORE  # an adapter, an image, an embedding
        # No running sums: there are at most a thousand lengths, and few claims ask for this.
        others = [each for claim_id, each in self._kept.items() if claim_id != claim.claim_id]
        own = [each for each in others if each.owner == claim.owner_scope]
        for among, share in ((others, 1), (own, 2 if self._names.qualified else 1)):
            if len(among) >= MOST_CLAIMS // share:
                return f"{len(among)} claims are to be resumed, which is the most"
            if tokens + sum(len(each.tokens) for each in among) > MOST_TOKENS // share:
                return f"the claims to be resumed would have over {MOST_TOKENS // share} tokens"
        return ""

    def why(self, claim: ResidentClaim) -> str:
        """Which claim one that waited follows, as a part of the reason of the decision on it."""
        claim_id = claim.claim_id
        if claim_id in self._registry.live or self._waiting.is_waiting(claim_id):
            return ""  # it is another claim of this id
        kept = self._kept.get(claim_id)
        return f"{_origin(kept.before)}: " if kept is not None and kept.before else ""

    def keep(self, entry: Entry, how: Resume, arrival: Arrival) -> None:
        """A claim was accepted, which outlives its engine or does not."""
        before = self._kept.pop(entry.claim_id, None)
        entry.acknowledged = entry.acknowledged or before is not None  # its owner knew the first
        if how is Resume.NEVER or arrival.prompt is None:
            return
        prompt = arrival.prompt()
        size = entry.footprint * entry.claim.cache_identity.block_size
        tokens = array("i", prompt.token_ids[:size])
        owner, stored = entry.claim.owner_scope, before.before if before is not None else None
        self._kept[entry.claim_id] = _Kept(how, owner, tokens, prompt.salt, stored)

    def follow(self, first: Entry, second: Entry) -> None:
        """A claim gives way to its owner's next one, which outlives the engine as it would."""
        if (kept := self._kept.get(first.claim_id)) is not None:
            self._kept[second.claim_id] = kept

    def of(self, entry: Entry) -> Resume:
        """Whether a live claim outlives its engine."""
        kept = self._kept.get(entry.claim_id)
        return Resume.NEVER if kept is None else kept.how

    def ended(self, claim_id: str) -> None:
        """A claim ended, or waits no more."""
        self._kept.pop(claim_id, None)

    def expire(self) -> None:
        """End the wait of claims whose duration is over."""
        while self._ends and self._ends[0][0] <= self._now[TimeUnit.SECONDS]:
            _, claim_id = heapq.heappop(self._ends)
            kept = self._kept.get(claim_id)
            if kept is not None and kept.before and self._waiting.is_waiting(claim_id):
                self._waiting.withdraw(claim_id, _OVER)
                self._decline(claim_id, f"{_origin(kept.before)}, and is not resumed: {_OVER}")

    # It stops, and the next one starts.

    def content(self, unanswered: Container[Entry]) -> Outliving | None:
        """What outlives this engine now; None where no claim does.

        Args:
            unanswered: the claims that end if their requests do, as these do with the engine.
        """
        live = self._registry.live
        claims = [
            self._stored(claim_id, kept)
            for claim_id, kept in self._kept.items()
            if claim_id not in live or live[claim_id] not in unanswered
        ]
        if self._engine is None or not claims:
            return None
        return Outliving(SCHEMA, time.time(), dict(self._engine.cache), claims)

    def _stored(self, claim_id: str, kept: _Kept) -> Stored:
        entry = self._registry.live.get(claim_id)
        if entry is None:  # it waits
            assert kept.before is not None
            return replace(kept.before, claim={**kept.before.claim, **self._left(kept)})
        claim = entry.claim
        stated = claim.model_dump(mode="json", exclude_none=True, exclude={"cache_identity"})
        stated["claim_id"] = self._names.owners_id(claim_id, claim.owner_scope)
        stated["resume"] = kept.how.value
        if (left := self._registry.left_exactly(entry)) is not None:
            stated["duration"] = left
        if (object_id := stated["object_id"]).startswith(PREFIX):
            del stated["object_id"]
        return Stored(
            stated,
            kept.tokens.tolist(),
            object_id,
            claim_id,
            self._epoch,
            outlived(claim_id) + 1,
            kept.salt,
        )

    def resume(self, content: Outliving) -> list[Prompt]:
        """Have the claims of the engine before resumed; for each that is not, its end is reported.

        The time between the engines counts. A wall clock that was set back gives no claim more
        than it had left.

        Returns:
            The prompts to be loaded.
        """
        assert self._engine is not None
        down = max(Fraction(0), Fraction(time.time()) - Fraction(content.saved_at))
        differs = _difference(content.cache, self._engine.cache)
        resumed, prompts = 0, list[Prompt]()
        for number, each in enumerate(content.claims):
            name = f"resumed claim {number}"
            try:
                prompt = Prompt(tuple(each.prompt_token_ids), each.cache_salt)
                claim = self._waiting.parse(each.claim, prompt)
                if self._waiting.is_waiting(claim.claim_id):
                    raise ClaimError("another claim of its id waits already")
                name = self._names.resume(claim.claim_id, each.stops)
                if differs:
                    raise ClaimError(differs)
                if not self._registry.owners.knows(claim.owner_scope):
                    raise ClaimError("no API key has its owner scope")
                if self._register(name, each, claim, prompt, down):
                    prompts.append(prompt)
                resumed += 1
            except ClaimError as error:
                why = _UNREADABLE if isinstance(error, UnreadableClaim) else error
                self._decline(name, f"{_origin(each)}, and is not resumed: {why}")
        LOG.info("resident-claims: %d of %d claims are resumed", resumed, len(content.claims))
        return prompts

    def _register(
        self, name: str, stored: Stored, claim: ResidentClaim, prompt: Prompt, down: Fraction
    ) -> bool:
        """Have a successor wait for its prefix; returns whether it is to be loaded.

        Raises:
            ClaimError: it cannot be resumed.
        """
        assert self._engine is not None
        _, how = resume_of(stored.claim)
        if how is Resume.NEVER:
            raise ClaimError("it does not say how")
        tokens = array("i", prompt.token_ids)
        kept = _Kept(how, claim.owner_scope, tokens, prompt.salt, stored)
        if (duration := claim.duration) is not None and duration.unit is TimeUnit.SECONDS:
            left = int((duration.exact - down) * _NS)
            if left <= 0:
                raise ClaimError(_OVER)
            kept.ends_ns = self._now[TimeUnit.SECONDS] + left
        self._waiting.add(stored.claim, prompt, partial(self._left, kept))
        self._kept[name] = kept
        if kept.ends_ns is not None:
            heapq.heappush(self._ends, (kept.ends_ns, name))
        if how is not Resume.RESTORE or not self._engine.tier:
            return False
        return self._waiting.prefix(claim, prompt) == stored.object_id

    def _left(self, kept: _Kept) -> dict[str, str]:
        """What is left of the duration of a claim that waits, as a term."""
        if kept.ends_ns is None:
            return {}
        return {"duration": seconds_text(kept.ends_ns - self._now[TimeUnit.SECONDS])}


def _origin(stored: Stored) -> str:
    return f"it follows {stored.follows} of epoch {stored.epoch}"


def _difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """How the cache of this engine differs from that of the engine before; or empty."""
    for name in sorted({*before, *now}):
        if (was := before.get(name, "")) != (this := now.get(name, "")):
            return f"its blocks had the {name} {was!r}, and this engine has {this!r}"
    return ""
