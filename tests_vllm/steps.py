"""An executor that computes no step: vLLM's own scheduler and pool, without a run of the model.

For models that vLLM builds on a CPU and cannot run there.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.executor.uniproc_executor import UniProcExecutor
from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput

__all__ = ["StepsExecutor"]

_TOKEN = 7


class StepsExecutor(UniProcExecutor):  # type: ignore[misc]
    """Answers each step with one token a request, once its prompt is computed.

    Of the tokens that were drafted for a request it accepts the first half; it drafts for each
    request that has got a token.
    """

    def _init_executor(self) -> None:
        super()._init_executor()
        self._prompts = dict[str, int]()  # lengths
        self._drafted = dict[str, list[int]]()

    def execute_model(self, scheduler_output: SchedulerOutput, non_block: bool = False) -> Any:
        """The tokens of a step, as if it had been run."""
        drafted = scheduler_output.scheduled_spec_decode_tokens
        new, old = scheduler_output.scheduled_new_reqs, scheduler_output.scheduled_cached_reqs
        self._prompts |= {each.req_id: len(each.prompt_token_ids or ()) for each in new}
        begun = {each.req_id: (each.num_computed_tokens, 0) for each in new}
        counts = zip(old.num_computed_tokens, old.num_output_tokens, strict=True)
        begun |= zip(old.req_ids, counts, strict=True)
        sampled = []
        for name, scheduled in scheduler_output.num_scheduled_tokens.items():
            computed, outputs = begun[name]
            drafts = drafted.get(name, [])
            whole = computed + scheduled - len(drafts) >= self._prompts[name] + outputs
            sampled.append([*drafts[: len(drafts) // 2], _TOKEN] if whole else [])
        names = list(scheduler_output.num_scheduled_tokens)
        count = self.vllm_config.num_speculative_tokens
        self._drafted = {
            name: [_TOKEN] * count for name, got in zip(names, sampled, strict=True) if got
        }
        for name in scheduler_output.finished_req_ids:
            self._prompts.pop(name, None)
        indices = {name: at for at, name in enumerate(names)}
        output = ModelRunnerOutput(names, indices, sampled_token_ids=sampled)
        if not non_block:
            return output
        future = Future[ModelRunnerOutput]()
        future.set_result(output)
        return future

    def take_draft_token_ids(self) -> DraftTokenIds:
        """What was drafted after the last step."""
        return DraftTokenIds(list(self._drafted), list(self._drafted.values()))
