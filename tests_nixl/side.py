"""Runs one engine with NixlConnector and the plugin, which serves what it reads as JSON lines."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from vllm.config import KVTransferConfig

from runtime_hooks.demo.engine import Engine, sampling
from runtime_hooks.demo.tiny import tokens


def main() -> None:
    """`python -m tests_nixl.side TRACE PORT LEASE_S ROLE`; a line is a prompt, blocks, metadata."""
    trace, port, lease_s, role = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    os.environ["VLLM_NIXL_SIDE_CHANNEL_PORT"] = port
    say = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # NIXL prints where the answers go
    transfer = KVTransferConfig(
        kv_connector="NixlConnector",
        kv_role=role,
        kv_buffer_device="cpu",
        kv_connector_extra_config={"kv_lease_duration": lease_s},
    )
    # Both engines have one model folder: NIXL compares the names of the models.
    engine = Engine(trace.parent, settings={"trace": str(trace)}, kv_transfer_config=transfer)
    say.write(f"{json.dumps(len(engine.armed.attachments))}\n")
    for line in sys.stdin:
        name, blocks, metadata = json.loads(line)
        prompt: Any = {"prompt_token_ids": tokens(name, blocks)}
        (output,) = engine.llm.generate([prompt], [sampling(metadata)], use_tqdm=False)
        answer = {
            "tokens": [*output.outputs[0].token_ids],
            "params": output.kv_transfer_params,
            "free": engine.core.scheduler.kv_cache_manager.block_pool.get_num_free_blocks(),
            "faults": len(engine.armed.attachments[0].faults),
        }
        say.write(f"{json.dumps(answer)}\n")
    engine.close()


if __name__ == "__main__":
    main()
