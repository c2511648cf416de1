"""A manifest states every page, and how far the last page of each sequence is filled."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from models.runtimes.processfork.manifest import SCHEMA, manifest_schema, parse_manifest
from models.runtimes.processfork.model import Image, ProcessFork
from spec.language.errors import DocumentError
from tests.models.runtimes.walk import transitions
from tests.schemas import faults

ABOUT = {"schema": SCHEMA, "layout": "NHD", "page_size": 16, "layers": 2, "heads": 2}
WHOLE: dict[str, Any] = {
    **ABOUT,
    "head_dim": 32,
    "dtype": "float16",
    "pages": [{"k": "0" * 64, "v": "1" * 64}] * 2,
    "logical_seqs": [{"id": "a", "pages": [0, 1], "fill": 5}],
}


def manifest_of(image: Image) -> dict[str, Any]:
    """The manifest of an image of the model, in which a decoded page has one token more."""
    pages = [
        {side: hashlib.sha256(f"{side}{page}".encode()).hexdigest() for side in "kv"}
        for page in image.pages
    ]
    sequences = [
        {"id": name, "pages": [*at], "fill": 1 + int(image.pages[at[-1]][-1])}
        for name, at in image.sequences
    ]
    return {**WHOLE, "pages": pages, "logical_seqs": sequences}


def parsed(value: Any) -> Any:
    return parse_manifest(json.dumps(value).encode(), "page_manifest.json")


def test_tokens() -> None:
    """The fill of the last page says how many tokens a sequence has."""
    manifest = parsed(WHOLE)
    assert manifest.tokens(manifest.logical_seqs[0]) == 21


def test_images_of_the_model() -> None:
    """Each image that the model writes has a manifest, with the tokens at the moment of capture."""
    images = {step.after.image for step in transitions(ProcessFork())} - {None}
    assert len(images) == 8
    schema = manifest_schema()
    for image in images:
        value = manifest_of(image)
        assert faults(value, schema, schema) == []
        manifest = parsed(value)
        decoded = {name: int(pages[-1][-1]) for name, pages in image.moment}
        held = {each.id: manifest.tokens(each) for each in manifest.logical_seqs}
        assert held == {name: 17 + more for name, more in decoded.items()}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"logical_seqs": [{"id": "a", "pages": [0, 2], "fill": 1}]},
            "has page 2, and the manifest names 2",
        ),
        ({"logical_seqs": [{"id": "a", "pages": [0], "fill": 17}]}, "holds 17 tokens of 16"),
        ({"logical_seqs": [{"id": "a", "pages": [0], "fill": 0}]}, "fill"),
        ({"logical_seqs": [{"id": "a", "pages": [0]}]}, "fill"),
        ({"logical_seqs": [{"id": "a", "pages": [], "fill": 1}]}, "pages"),
        ({"logical_seqs": [{"id": "a", "pages": [0], "fill": 1}] * 2}, "two sequences"),
        ({"pages": [{"k": "0" * 63, "v": "1" * 64}]}, "pages"),
        ({"page_size": True}, "page_size"),
        ({"schema": "resident-claims/registry/1"}, "schema"),
    ],
)
def test_refused(changes: dict[str, Any], said: str) -> None:
    """A manifest that is not whole is refused, with its file and the reason."""
    with pytest.raises(DocumentError, match=said) as caught:
        parsed(WHOLE | changes)
    assert str(caught.value).startswith("page_manifest.json: ")
