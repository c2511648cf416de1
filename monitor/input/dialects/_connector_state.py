"""Defines a line of the connector dialect, and the state of its run."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitor.input.dialects import _recorded
from monitor.input.dialects._recorded_line import Bound, Count, Order
from spec.events.canonical import Name

__all__ = ["Claim", "Line", "Now", "Request", "Restore", "Run", "block_size_of"]


class Line(Bound, frozen=True):
    """The fields of a line."""

    resident_claim: object = None
    resident_claim_role: str | None = None
    num_prompt_tokens: Count | None = None
    num_block_hashes: Count | None = None
    num_computed_tokens: Count | None = None
    num_hit_tokens: Count | None = None
    num_external_tokens: Count | None = None
    num_offloadable_tokens: Count | None = None
    src_block_count: Count | None = None
    dst_block_count: Count | None = None
    key_count: Count | None = None
    invalid_block_count: Count | None = None
    transfer_type: tuple[str, ...] | None = None
    transfer_size: Order | None = None
    success: bool | None = None
    job_id: Order | Name | None = None
    restoration_generation: Order | None = None


@dataclass(slots=True)
class Claim(_recorded.Claim):
    """One claim of a run.

    `accepted` says whether an acceptance was derived from the metadata and may still be restated;
    `stored` whether a copy is believed to be in the offload tier; `on_gpu` how many leading blocks
    the last look-up or load showed on the GPU.
    """

    accepted: bool = False
    restated: bool = False
    stored: bool = False
    on_gpu: int = 0

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
class Request(_recorded.Request):
    """One request: the claims that its lines named, what its prompt and its look-up showed."""

    role: str | None = None
    claims: set[str] = field(default_factory=set)
    block_size: int | None = None
    visible: int | None = None
    found: int = 0
    useful: bool = False
    restores: dict[str, Restore] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """A load of some claim has failed for it."""
        return any(restore.failures for restore in self.restores.values())


class Run(_recorded.Run[Claim, Request]):
    """One stream, and the block size that it shows, in tokens."""

    def __init__(self) -> None:
        super().__init__(Claim, Request)
        self.prompt_block: int | None = None
        self.load_block: int | None = None

    def block_size(self, request: Request) -> int | None:
        """Tokens per block as this request shows it, else any prompt, else any load."""
        return request.block_size or self.prompt_block or self.load_block


@dataclass(frozen=True, slots=True)
class Now(_recorded.Now[Line, Claim, Request]):
    """A line in its run."""

    run: Run

    @property
    def role(self) -> str | None:
        """The part that the claim has in the request; a claimed line that says none is in doubt."""
        role = self.line.resident_claim_role or self.request.role
        if self.line.claim_id is not None and role not in ("resident", "reuse"):
            self.doubt("the request does not say whether it is the claim's resident or a reuse")
        return role

    @property
    def restore(self) -> Restore:
        """The attempts of the request to get back the claim that the line names."""
        claim = self.line.claim_id or self.line.outcome_claim_id or ""
        return self.request.restores.setdefault(claim, Restore())


def block_size_of(tokens: int | None, hashes: int | None) -> int | None:
    """Tokens per block of a prompt of so many tokens that has so many full blocks.

    Several sizes fit most prompts: a power of two is taken where one does, else the largest.
    """
    if not tokens or not hashes or tokens < hashes:
        return None
    largest = tokens // hashes
    power = 1 << (largest.bit_length() - 1)
    return power if tokens // power == hashes else largest
