"""Defines and loads a registry: claims on prefixes of an engine that knows no claims."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from monitor.input.dialects import look
from monitor.input.kv_events.facts import adapter_extra, salt_extra
from monitor.watch.hashing import SGLANG, Hashing
from spec.claims.claim import BlockCount, Identifier, Priority
from spec.claims.predicates import ContiguousRange, LeadingPrefixAtLeast, parse_predicate
from spec.claims.states import Mode
from spec.language.errors import ClaimError, DocumentError, SpecError
from spec.lowering.load import parse_document, read_bounded

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "MOST_CLAIMS",
    "SCHEMA",
    "Claim",
    "HashScheme",
    "Registry",
    "Watched",
    "Watching",
    "load_registry",
]

SCHEMA: Final = "resident-claims/registry/1"

MOST_CLAIMS: Final = 10_000
"""Claims of one registry."""

_EXPECTED: Final = f"expected: a registry of claims, which has schema: {SCHEMA}"
_MOST_TOKENS: Final = 4 << 20  # of one prefix
_SECOND: Final = 1_000_000_000


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _is_stated(cls, value: object) -> object:
        """A field without a value is refused: it may have been meant as a salt."""
        if value is None:
            raise ClaimError("it has no value", "state one, or leave the field out")
        return value


Token = Annotated[int, Field(strict=True, ge=0, lt=1 << 32)]


class Message(_Record):
    """A message of a chat."""

    role: Annotated[str, Field(max_length=256)]
    content: str


class Claim(_Record):
    """A claim on a prefix of prompts.

    The prefix is given by its token ids, or as a text or messages that `tokenizer` turns into ids.
    `adapter` is the name of the LoRA adapter, and `salt` the cache salt, of the requests that use
    the prefix. vLLM hashes `adapter_path`, too, as it was given to the engine. Without a
    `predicate` all whole blocks of the prefix are needed.
    """

    id: Identifier
    owner: Identifier
    mode: Literal["best_effort", "soft_priority", "routed_reuse"] = "best_effort"
    priority: Priority | None = None
    tokens: Annotated[tuple[Token, ...], Field(max_length=_MOST_TOKENS)] | None = None
    text: str | None = None
    messages: tuple[Message, ...] | None = None
    adapter: Identifier | None = None
    adapter_path: Annotated[str, Field(max_length=4096)] | None = None
    salt: Identifier | None = None
    predicate: Annotated[str, Field(max_length=200)] | None = None

    @model_validator(mode="after")
    def _states_one_prefix(self) -> Claim:
        given = [name for name in ("tokens", "text", "messages") if getattr(self, name) is not None]
        if len(given) != 1:
            said = " and ".join(given) or "no prefix"
            raise ClaimError(f"it states {said}", "state one of tokens, text and messages")
        if self.mode == "soft_priority" and self.priority is None:
            raise ClaimError("it has no priority", "state priority; more is higher")
        return self


class HashScheme(_Record):
    """How the engine hashes blocks: `sglang`, or vLLM's `--prefix-caching-hash-algo`.

    `seed` is the value of the engine's PYTHONHASHSEED, if it has one; of vLLM only.
    """

    scheme: Literal["sha256", "sha256_cbor", "xxhash", "xxhash_cbor", "sglang"]
    seed: Annotated[str, Field(max_length=4096)] | None = None

    @model_validator(mode="after")
    def _is_reproducible(self) -> HashScheme:
        if self.scheme.startswith("xxhash") and self.seed is None:
            remedy = "start the engine with PYTHONHASHSEED, and state its value as seed"
            raise ClaimError(f"{self.scheme} has no seed: vLLM makes one up", remedy)
        if self.scheme == SGLANG and self.seed is not None:
            raise ClaimError("the hashes of SGLang have no seed", "leave out seed")
        return self


class Registry(_Record):
    """The claims on one configuration of an engine, which several processes may serve.

    `block_size` is in tokens a block, as the engine states it in its events. `registered` is the
    time at which the claims were made; set it if the file was edited later. `tokenizer` is a file
    `tokenizer.json`, or the folder of a model; its path is relative to the registry. `hashing` is
    for engines whose events state no token ids.
    """

    schema_: Annotated[Literal["resident-claims/registry/1"], Field(alias="schema")]
    model: Identifier
    block_size: BlockCount
    registered: datetime | None = None
    tokenizer: Annotated[str, Field(max_length=4096)] | None = None
    hashing: HashScheme | None = None
    claims: Annotated[tuple[Claim, ...], Field(max_length=MOST_CLAIMS)]

    @field_validator("registered")
    @classmethod
    def _in_utc(cls, value: datetime | None) -> datetime | None:
        """The time in UTC, which a time without a zone is in already."""
        if value is None:
            return None
        try:
            return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        except OverflowError:
            raise ClaimError("it is too far away", "state when the claims were made") from None

    @model_validator(mode="after")
    def _names_each_once(self) -> Registry:
        if not self.claims:
            raise ClaimError("it has no claims", "state a claim")
        ids = set[str]()
        for each in self.claims:
            if each.id in ids:
                raise ClaimError(f"two claims are called {each.id}", "give each an id of its own")
            ids.add(each.id)
        return self


class Watched(NamedTuple):
    """A claim of a registry, with what is needed of its prefix.

    Attributes:
        blocks: the tokens of each block that the predicate needs, from position 0 on.
        extras: what else the content of every block depends on, and of the first block alone.
        is_part: whether the prefix has more whole blocks than are needed.
        identity: the cache identity, as one text without the salt.
        prefix: names the prefix; claims on one prefix have it in common.
        keys: of each block, by the hash scheme of the registry; empty if they cannot be computed.
    """

    claim_id: str
    owner: str
    mode: Mode
    priority: int | None
    blocks: tuple[tuple[int, ...], ...]
    extras: tuple[tuple[str, ...], tuple[str, ...]]
    is_part: bool
    identity: str
    prefix: str
    keys: tuple[tuple[int | str, ...], ...] = ()

    @property
    def predicate(self) -> str:
        """What has to be on the GPU, as a text."""
        return str(LeadingPrefixAtLeast(len(self.blocks)))

    def extra(self, position: int) -> tuple[str, ...]:
        """What the content of a block depends on beside the tokens up to it."""
        every, first = self.extras
        return every + first if position == 0 else every


class Watching(NamedTuple):
    """A registry that was loaded.

    Attributes:
        claims: by their ids.
        since_ns: when they were made, on the wall clock.
        is_dated: whether the registry itself says so.
        says_since: where that was read.
        says_tokens: where the token ids come from.
        sha256: of the file that was read.
        hashing: how the engine hashes blocks; None if the registry does not say so.
    """

    claims: dict[str, Watched]
    block_size: int
    since_ns: int
    is_dated: bool
    says_since: str
    says_tokens: str
    sha256: str
    hashing: Hashing | None = None


def load_registry(path: Path, *, routed: bool = False) -> Watching:
    """The claims in a file of YAML or JSON.

    Args:
        routed: for records of a router, which judge `routed_reuse` alone and state no adapter or
            salt; KV events judge the other modes.

    Raises:
        DocumentError: it cannot be read, or is no registry; with file, line and reason.
        SpecError: a prefix cannot be turned into tokens, or has no whole block, or a package is
            missing.
    """
    content = read_bounded(path)
    try:
        registry = parse_document(content, str(path), Registry, SCHEMA, private=True)
    except DocumentError as problem:
        what = "" if SCHEMA.encode() in content else look(content.partition(b"\n")[0])
        if not what:
            raise
        raise DocumentError(f"{path}: it looks like {what}", _EXPECTED, line=problem.line) from None
    claims, tokenized = dict[str, Watched](), False
    prefixes = dict[tuple[Any, ...], str]()
    salts = dict[str, int]()
    tokenizer = None
    given = registry.hashing
    hashing = None if given is None else Hashing(given.scheme, given.seed)
    for each in registry.claims:
        _check_readable(each, path, routed)
        tokens: Sequence[int] = each.tokens or ()
        if each.tokens is None:
            if tokenizer is None:
                tokenizer = _tokenizer(registry, each, path)
            tokens, tokenized = _tokens(each, tokenizer), True
        blocks = _needed(each, tokens, registry.block_size, path)
        salt = () if each.salt is None else (salt_extra(each.salt),)
        extras = () if each.adapter is None else (adapter_extra(each.adapter),), salt
        identity = f"model={registry.model} block_size={registry.block_size}"
        identity += "" if each.adapter is None else f" adapter={each.adapter}"
        if each.salt is not None:
            identity += f" salt={salts.setdefault(each.salt, len(salts) + 1)}"
        prefix = prefixes.setdefault((extras, blocks), each.id)
        adapter = None if each.adapter is None else (each.adapter, each.adapter_path)
        mode = Mode(each.mode)
        claims[each.id] = Watched(
            each.id,
            each.owner,
            mode,
            each.priority,
            blocks,
            extras,
            len(blocks) < len(tokens) // registry.block_size,
            identity,
            prefix,
            () if hashing is None else hashing.keys(blocks, adapter=adapter, salt=each.salt),
        )
    if registry.registered is not None:
        since_ns = int(registry.registered.timestamp() * _SECOND)
        says = f"registered {registry.registered:%Y-%m-%dT%H:%M:%SZ}"
    else:
        since_ns = os.stat(path).st_mtime_ns
        when = datetime.fromtimestamp(since_ns // _SECOND, UTC)
        says = f"{path.name} was last changed {when:%Y-%m-%dT%H:%M:%SZ}"
    source = f"the tokenizer {registry.tokenizer}" if tokenized else "token ids of the registry"
    is_dated = registry.registered is not None
    digest = hashlib.sha256(content).hexdigest()
    size = registry.block_size
    return Watching(claims, size, since_ns, is_dated, says, source, digest, hashing)


def _check_readable(claim: Claim, path: Path, routed: bool) -> None:
    """Raise DocumentError for a claim that cannot be compared with the records that are read."""
    if (claim.mode == "routed_reuse") is not routed:
        cause = f"{path}: claim {claim.id} is of {claim.mode}"
        reads = "watch reads KV events for it" if routed else "routes reads a router's records"
        raise DocumentError(cause, f"{reads}: give each command a registry of its own")
    if routed and (claim.adapter or claim.salt):
        cause = f"{path}: claim {claim.id} has an adapter or a salt"
        raise DocumentError(cause, "no record of a router states them: leave the claim out")


def _needed(claim: Claim, tokens: Sequence[int], size: int, path: Path) -> tuple[Any, ...]:
    """The blocks that the predicate of a claim needs."""
    whole = len(tokens) // size
    blocks = whole
    if claim.predicate is not None:
        try:
            predicate = parse_predicate(claim.predicate, block_size=size)
        except SpecError as problem:
            raise DocumentError(f"{path}: claim {claim.id}: {problem}") from None
        if isinstance(predicate, ContiguousRange):
            cause = f"{path}: claim {claim.id}: {predicate} does not begin with the prompt"
            raise DocumentError(cause, "a hit needs all blocks from the first on")
        blocks = predicate.blocks
    if not 0 < blocks <= whole:
        has = f"has {len(tokens)} tokens, which are {whole} whole blocks of {size}"
        needs = "one" if claim.predicate is None else f"{blocks}"
        cause = f"{path}: claim {claim.id}: the prefix {has}, and {needs} is needed"
        raise DocumentError(cause, "engines cache whole blocks")
    return tuple(tuple(tokens[n * size : (n + 1) * size]) for n in range(blocks))


def _tokens(claim: Claim, tokenizer: Any) -> Sequence[int]:
    if claim.text is not None:
        found: Sequence[int] = tokenizer.of_text(claim.text)
    else:
        found = tokenizer.of_messages([each.model_dump() for each in claim.messages or ()])
    return found


def _tokenizer(registry: Registry, claim: Claim, path: Path) -> Any:
    from monitor.watch.tokens import Tokenizer

    if registry.tokenizer is None:
        what = "text" if claim.text is not None else "messages"
        cause = f"{path}: claim {claim.id} states {what}, but the registry names no tokenizer"
        raise DocumentError(cause, "state tokenizer, or the token ids")
    return Tokenizer(path.parent / registry.tokenizer)
