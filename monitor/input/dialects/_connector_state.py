"""Keeps the state that the connector dialect needs: claims, requests, restore attempts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from monitor.input.dialects._recorded import Ended

if TYPE_CHECKING:
    from spec.claims.predicates import MaterializationPredicate

__all__ = ["REQUESTS", "Claim", "Request", "Restore", "Run", "block_size_of"]

REQUESTS: Final = 100_000
"""Requests remembered per run; beyond them the oldest is forgotten."""


@dataclass(slots=True)
class Claim:
    """One claim of a run.

    `accepted` says whether an acceptance was derived from the metadata and may still be restated;
    `stored` whether a copy is believed to be in the offload tier; `on_gpu` how many leading blocks
    the last look-up or load showed on the GPU.
    """

    predicate: MaterializationPredicate | None = None
    identity: dict[str, object] = field(default_factory=dict)
    accepted: bool = False
    restated: bool = False
    stored: bool = False
    on_gpu: int = 0
    ended: Ended = field(default_factory=Ended)

    @property
    def threshold(self) -> int:
        """Blocks that the predicate asks for; 1 where no predicate is stated."""
        return self.predicate.threshold if self.predicate else 1

    @property
    def start(self) -> int:
        """The first block that the predicate asks for."""
        return self.predicate.start if self.predicate else 0

    @property
    def end(self) -> int:
        """The block behind the last one that the predicate asks for."""
        return self.start + self.threshold


@dataclass(slots=True)
class Restore:
    """One request's attempts to get one claim back.

    `generation` is the attempt that is outstanding; `answered` are those of which the scheduler has
    reported the failure; `failures` are those already emitted as facts, by job and by generation.
    """

    generation: int | None = None
    answered: set[int | None] = field(default_factory=set)
    failures: set[tuple[str, int | str | None]] = field(default_factory=set)
    failed: bool = False
    refused: bool = False

    def begin(self, generation: int | None) -> None:
        """A restore is required, as attempt number `generation` or as the next one."""
        self.generation = (self.generation or 0) + 1 if generation is None else generation
        self.failed = self.refused = False

    def answer(self, generation: int | None) -> None:
        """The scheduler has reported the failure of the attempt that it means."""
        self.answered.add(self.generation if generation is None else generation)

    def is_duplicate(self, generation: int | None) -> bool:
        """A connector's report about this attempt repeats what the scheduler has reported."""
        if self.generation is None:
            return bool(self.answered)
        return (self.generation if generation is None else generation) in self.answered

    def fail(self, job: int | str | None, generation: int | None) -> bool:
        """Whether this failure of a load is emitted for the first time."""
        attempt = ("generation", self.generation if generation is None else generation)
        key = attempt if job is None else ("job", job)
        first = key not in self.failures
        self.failures |= {key, attempt}
        return first


@dataclass(slots=True)
class Request:
    """One request: the claims that its lines named, what its prompt and its look-up showed."""

    role: str | None = None
    claims: set[str] = field(default_factory=set)
    block_size: int | None = None
    visible: int | None = None
    found: int = 0
    useful: bool = False
    finished: bool = False
    restores: dict[str, Restore] = field(default_factory=dict)

    def restore(self, claim: str) -> Restore:
        return self.restores.setdefault(claim, Restore())

    @property
    def failed(self) -> bool:
        """A load of some claim has failed for it."""
        return any(restore.failures for restore in self.restores.values())


@dataclass(slots=True)
class Run:
    """One stream: its claims, its requests, and the block size that it shows, in tokens."""

    claims: dict[str, Claim] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)
    prompt_block: int | None = None
    load_block: int | None = None

    def claim(self, name: str) -> Claim:
        return self.claims.setdefault(name, Claim())

    def request(self, name: str) -> Request:
        request = self.requests.get(name)
        return self.begin(name) if request is None else request

    def begin(self, name: str) -> Request:
        """The request anew, whatever was known of this id."""
        self.requests.pop(name, None)
        if len(self.requests) >= REQUESTS:
            del self.requests[next(iter(self.requests))]
        request = self.requests[name] = Request()
        return request

    def block_size(self, request: Request) -> int | None:
        """Tokens per block as this request shows it, else any prompt, else any load."""
        return request.block_size or self.prompt_block or self.load_block


def block_size_of(tokens: int | None, hashes: int | None) -> int | None:
    """Tokens per block of a prompt of so many tokens that has so many full blocks.

    Several sizes fit most prompts: a power of two is taken where one does, else the largest.
    """
    if not tokens or not hashes or tokens < hashes:
        return None
    largest = tokens // hashes
    power = 1 << (largest.bit_length() - 1)
    return power if tokens // power == hashes else largest
