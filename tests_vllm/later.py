"""Rows of the table that were tried with vLLM 0.32 alone. The models of the pool lack them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.scenes import offloading
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from tests_vllm.connectors import saving
from tests_vllm.drafts import drafting
from tests_vllm.images import images, pictured
from tests_vllm.others import SEVERAL
from tests_vllm.own_connector import owning
from tests_vllm.rows import Row, Twin, drill
from tests_vllm.table import HARD_TWINS, L3, ROWS
from tests_vllm.tier import FAILED, LEFT

__all__ = ["TRIED_LATER"]

LOADED: Final = replace(
    ROWS["reset of a hard claim"],
    ends="0 59 refused",
    more=lambda folder: saving(folder / "saved"),
)

LOADED_AGAIN: Final = (
    ("prefix", 13, claim("claim:p", 12, Mode.OFFLOADABLE)),
    ("filler", 1),
    ("active", 18),
    ("more", 18),
    ("prefix", 13),
)
"""With several caches: a claim whose blocks others take, and a request that needs them again."""


def tiers(folder: Path) -> dict[str, Any]:
    """A tier in host memory, and one on disk behind it."""
    disk = {"type": "fs", "root_dir": str(folder / "disk")}
    return offloading(spec_name="MemcpyTieringSpec", secondary_tiers=[disk])


TRIED_LATER: Final = {
    "several caches, a load that fails": Row(
        Mode.OFFLOADABLE,
        LOADED_AGAIN,
        code=0,
        ends="0 0 0 0 not_restored",
        victims=34,
        told=f"{LEFT} evicted evicted end evicted {FAILED}",
        named=("claim:p",),
        usable=44,
        tier="fail",
        worker="FailingSpec",
        model="gpt-oss",
        twins={"not enforced": Twin({"enforce": ()}, "restoration_failure_outcome")},
    ),
    "an image": Row(
        Mode.HARD_PROTECTED,
        (
            pictured("red", claim(blocks=20)),
            ("active", 70),
            pictured("red"),
            pictured("blue"),  # the same tokens
        ),
        code=0,
        ends="refused",
        victims=0,
        told="accepted materialized end refused end reused end end",
        named=("claim:resident",),
        proofs=((20, 70, 90, 80, 10),),
        looks=(0, 20, 1),
        more=images,
        twins=HARD_TWINS,
    ),
    "Mamba 2 in vLLM's own scheduler": replace(  # its steps are not computed
        SEVERAL, proofs=((15, 27, 42, 40, 2),), usable=40, model="granite 4"
    ),
    "one cache, with a window": replace(
        SEVERAL, proofs=((4, 18, 22, 21, 1),), usable=21, model="mistral"
    ),
    "a drafting model": replace(
        L3,
        proofs=((60, 71, 131, 80, 51),),  # one block more for drafted tokens
        more=lambda folder: drafting("eagle", folder),
        twins=HARD_TWINS,
    ),
    "MTP": replace(
        L3,
        proofs=((60, 71, 131, 80, 51),),
        more=lambda folder: drafting("mtp", folder),
        twins=HARD_TWINS,
    ),
    "several caches, a drafting model": replace(  # a block more of the window, which is dropped
        SEVERAL,
        ends="0 refused 11",
        told="accepted materialized end refused end end",
        proofs=((17, 38, 55, 44, 11),),
        more=lambda folder: drafting("eagle3", folder, "gpt-oss"),
    ),
    "a draft model": replace(
        L3,
        proofs=((60, 71, 131, 80, 51),),
        more=lambda folder: drafting("draft_model", folder),
        twins={},
    ),
    "two caches, one of states": replace(
        SEVERAL, proofs=((15, 27, 42, 32, 10),), usable=32, model="lfm2", twins={}
    ),
    "several caches, blocks of two sizes": replace(
        SEVERAL,
        asks=(
            *((name, 12, claim(f"claim:{name}", 12)) for name in ("p", "q")),
            ("active", 18),
            ("p", 13),
        ),
        ends="0 0 refused 12",
        told="accepted materialized end accepted materialized end refused end reused end",
        proofs=((44, 63, 107, 90, 17),),
        usable=90,
        model="gemma 4, two sizes",
        twins={},
    ),
    "a connector": LOADED,
    "several connectors": replace(
        LOADED, more=lambda folder: saving(folder / "saved", several=True), twins={}
    ),
    "a connector that loads ahead": replace(LOADED, more=lambda folder: owning(steps=2), twins={}),
    "several tiers": replace(
        ROWS["path A, success"],
        tier="",
        more=tiers,
        twins={"not told": ROWS["path A, success"].twins["not told"]},  # a disk has all copies
    ),
    "several tiers, several caches": Row(
        Mode.OFFLOADABLE,
        LOADED_AGAIN,
        code=0,
        ends="0 0 0 0 12",
        victims=36,
        told=f"{LEFT} evicted evicted end evicted "
        "restore_required loaded loaded restored reused evicted evicted end",
        usable=44,
        model="gpt-oss",
        more=tiers,
        twins={"not told": Twin(drill(Kind.CLAIM_RESTORED), "offload_restorability")},
    ),
}
