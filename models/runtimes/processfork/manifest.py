"""Defines the manifest of an image of ProcessFork's cache layer, and reads it.

Source: ProcessFork documentation, cache layer, 1.0.1 of 2026-05-06: what `page_manifest.json` has.
The names of its fields are ours, except `logical_seqs`: no manifest was at hand.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from spec.files.json_text import decode_json
from spec.language.errors import DocumentError
from spec.language.schemas import framed_schema

__all__ = ["LogicalSequence", "Page", "PageManifest", "manifest_schema", "parse_manifest"]

SCHEMA: Final = "resident-claims/page-manifest/1"

_MOST_BYTES: Final = 256 << 20

_Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_Name = Annotated[str, Meta(min_length=1, max_length=256)]
_Count = Annotated[int, Meta(ge=1)]
_Index = Annotated[int, Meta(ge=0)]


class Page(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page by its content: SHA-256 of its keys and of its values, uncompressed."""

    k: _Digest
    v: _Digest


class LogicalSequence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sequence: its pages by index, in order, and the tokens in the last of them (`fill`)."""

    id: _Name
    pages: Annotated[list[_Index], Meta(min_length=1)]
    fill: _Count


class PageManifest(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="schema", tag=SCHEMA
):
    """An image of a worker's KV cache.

    `page_size` is in tokens, and `head_dim` in elements. Sequences share pages by their index.
    """

    layout: _Name
    page_size: _Count
    layers: _Count
    heads: _Count
    head_dim: _Count
    dtype: _Name
    pages: list[Page]
    logical_seqs: list[LogicalSequence]

    def __post_init__(self) -> None:
        ids = set[str]()
        for each in self.logical_seqs:
            if each.id in ids:
                raise ValueError(f"two sequences are called {each.id}")
            ids.add(each.id)
            if each.fill > self.page_size:
                has = f"the last page of sequence {each.id} holds {each.fill} tokens"
                raise ValueError(f"{has} of {self.page_size}")
            if missing := [index for index in each.pages if index >= len(self.pages)]:
                has = f"sequence {each.id} has page {missing[0]}"
                raise ValueError(f"{has}, and the manifest names {len(self.pages)}")

    def tokens(self, sequence: LogicalSequence) -> int:
        """The tokens of a sequence whose keys and values the image has."""
        return (len(sequence.pages) - 1) * self.page_size + sequence.fill


def parse_manifest(content: bytes, name: str) -> PageManifest:
    """The manifest in a file of this name.

    Raises:
        DocumentError: it is none; with file, field and reason.
    """
    if len(content) > _MOST_BYTES:
        raise DocumentError(f"{name}: it has over {_MOST_BYTES} bytes", "name a manifest")
    try:
        return decode_json(content, PageManifest)
    except ValueError as problem:
        cause = f"{name}: {problem}"
        raise DocumentError(cause, "docs/schema/page-manifest.json says what it has") from None


def manifest_schema() -> dict[str, Any]:
    """The JSON Schema of a manifest."""
    return framed_schema(SCHEMA, "python -m models docs", msgspec.json.schema(PageManifest))
