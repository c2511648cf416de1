"""Runs a tiny real engine in this process, with its hooks."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from vllm import LLM, SamplingParams

from monitor.check.files import check
from monitor.report.verdict import Report
from runtime_hooks.demo.tiny import BLOCK, DTYPE, MEMORY, model_folder, tokens
from runtime_hooks.plugin.arming import Armed, arm, disarm
from runtime_hooks.settings.config import Settings
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.canonical import Event, Mark

Asked: TypeAlias = tuple[str, int] | tuple[str, int, dict[str, Any]]
"""A prompt by its name, its blocks, and the metadata of the request."""


@dataclass(frozen=True)
class Answer:
    """The response to a request; `metadata` are the plugin's answers, without the epoch."""

    request: str
    tokens: tuple[int, ...]
    finish_reason: str
    stop_reason: str | int | None
    cached: int
    metadata: dict[str, Any]


def tiny_llm(folder: Path, usable: int, config: Any = None, **more: Any) -> LLM:
    """Make an engine with this many usable blocks; its model is configured in the folder.

    Args:
        config: of the model; by default the usual one.
    """
    usual = {
        "load_format": "dummy",
        "skip_tokenizer_init": True,
        "enable_prefix_caching": True,
        "enforce_eager": True,
        "num_gpu_blocks_override": usable + 1,  # one is the null block
        "block_size": BLOCK,
        "max_model_len": 80 * BLOCK,
        "max_num_seqs": 4,
        "dtype": DTYPE,
        "seed": 0,
        **MEMORY,
    }
    return LLM(model=str(model_folder(folder / "model", config)), **{**usual, **more})


def serve(llm: LLM, *asked: Asked) -> list[Answer]:
    """Generate one token for each (prompt, blocks, metadata) and return the answers."""
    prompts = [{"prompt_token_ids": tokens(name, blocks)} for name, blocks, *_ in asked]
    params = [sampling(*rest) for _, _, *rest in asked]
    return [
        Answer(
            output.request_id,
            tuple(output.outputs[0].token_ids),
            output.outputs[0].finish_reason,
            output.outputs[0].stop_reason,
            output.num_cached_tokens or 0,
            without_epoch((output.kv_transfer_params or {}).get("resident_claims", {})),
        )
        for output in llm.generate(prompts, params, use_tqdm=False)
    ]


def without_epoch(said: dict[str, Any]) -> dict[str, Any]:
    """The plugin's answers without the epoch, which is another in each life of an engine."""
    return {name: value for name, value in said.items() if name != "epoch"}


class Engine:
    """One hooked engine, and its trace.

    Args:
        usable: blocks of the pool that can be used.
    """

    def __init__(self, folder: Path, usable: int = 80, settings: Any = None, **engine: Any) -> None:
        self.trace = folder / "trace.jsonl"
        self._ending = sys.maxsize  # the number of the first event of the shutdown
        usual = {"trace": str(self.trace), "control": str(folder / "control")}
        self.armed: Armed = arm(Settings(**{**usual, **(settings or {})}))
        try:
            self.llm = tiny_llm(folder, usable, **engine)
        except BaseException:
            disarm()
            raise

    @property
    def core(self) -> Any:
        """The engine's core."""
        return self.llm.llm_engine.engine_core.engine_core

    def serve(self, *asked: Asked) -> list[Answer]:
        """Generate one token for each (prompt, blocks, metadata) and return the answers."""
        return serve(self.llm, *asked)

    def close(self) -> None:
        """Shut the engine down, and end the trace."""
        for attachment in self.armed.attachments:
            self._ending = min(self._ending, attachment.journal.used)
        self.llm.llm_engine.engine_core.shutdown()
        disarm()

    def events(self) -> list[Event]:
        """The events of the trace before the shutdown; the engine must be closed."""
        return [event for event in self._events() if (event.sequence or 0) < self._ending]

    def _events(self) -> list[Event]:
        lines = map(msgspec.json.decode, self.trace.read_bytes().splitlines())
        return [msgspec.convert(line, Event) for line in lines if line["kind"] not in set(Mark)]

    def kinds(self, *kinds: str) -> list[Event]:
        """The events of some kinds."""
        return [event for event in self.events() if event.kind in kinds]

    def judge(self, mode: Mode) -> Report:
        """The report of `python -m monitor check` on the trace."""
        return check([str(self.trace)], mode, Bundle.CONTRACT)


def claim(
    name: str = "claim:resident", blocks: int = 60, mode: str = "hard_protected", **more: Any
) -> dict[str, Any]:
    """The metadata of a request that claims the first blocks of its prompt."""
    return {
        "resident_claim": {
            "claim_id": name,
            "materialization_predicate": f"leading_prefix_at_least({blocks})",
            "protection_mode": mode,
            "owner_scope": "tenant",
            **more,
        }
    }


def sampling(metadata: dict[str, Any] | None = None) -> SamplingParams:
    """One token, and the metadata of the request."""
    extra = None if metadata is None else {"kv_transfer_params": metadata}
    return SamplingParams(max_tokens=1, temperature=0.0, detokenize=False, extra_args=extra)
