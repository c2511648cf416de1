"""States what a request costs in time, and reads the figures of an engine from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from spec.files.json_text import decode_json
from spec.language.errors import DocumentError
from spec.lowering.load import read_bounded

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SCHEMA", "Cost", "read_cost"]

SCHEMA = "resident-claims/cost/1"
_MOST_BYTES = 65_536

_Rate = Annotated[float, msgspec.Meta(ge=1e-6, le=1e12)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e6)]


class Cost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The cost model of one engine. The defaults are made-up figures of a model of medium size.

    Prompts are computed one after another: a request waits for the prompts that were admitted
    before it. The answers of all running requests are decoded at once, at a speed that does not
    depend on their number.

    Attributes:
        prefill_tokens_s: tokens of prompts that the engine computes in a second.
        decode_s: seconds for each token of an answer after the first.
        load_blocks_s: blocks loaded from an offload tier in a second.
        step_s: seconds that each prompt takes besides its tokens.
    """

    prefill_tokens_s: _Rate = 10_000.0
    decode_s: _Seconds = 0.02
    load_blocks_s: _Rate = 2_000.0
    step_s: _Seconds = 0.01

    def prefill(self, tokens: int, loaded: int) -> float:
        """Seconds to load some blocks and to compute so many tokens of a prompt."""
        return tokens / self.prefill_tokens_s + loaded / self.load_blocks_s


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["resident-claims/cost/1"]
    cost: Cost
    measured: dict[str, Any] = {}  # how `calibrate` measured it


def read_cost(path: Path) -> Cost:
    """The cost model in a JSON file: `{"schema": "resident-claims/cost/1", "cost": {...}}`.

    Raises:
        DocumentError: it cannot be read, is larger than 64 KiB, or states other fields.
    """
    content = read_bounded(path, _MOST_BYTES)
    try:
        return decode_json(content, _File).cost
    except ValueError as problem:
        raise DocumentError(
            f"{path} is no cost file: {problem}", f"its schema is {SCHEMA}"
        ) from None
