"""What somebody knows who has only the trace: `python -m tests_vllm.reconstruct TRACE`.

Nothing of the engine or of the plugin is used: reports say what was accepted, what was refused and
because of whom; facts say what requests needed, and which blocks hold what.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def reconstruct(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Claims with the blocks that they held when the engine ended, which takes all, and requests
    with how they ended.
    """
    claims: dict[str, Any] = {}
    stated: dict[str, set[str]] = {}
    contents: dict[str, set[str]] = {}
    requests: dict[str, Any] = {}
    for line in lines:
        kind, claim, request = line["kind"], line.get("claim_id"), line.get("request_id")
        if kind == "claim_registered":
            stated[claim] = set(line.get("keys", ()))
        elif kind == "claim_committed":
            contents[claim] = stated[claim]
        elif kind == "claim_accepted":
            claims[claim] = {"footprint": line["footprint"], "said": ["accepted"], "held": {}}
        elif kind == "block_cached" and claim:
            held = zip(line["positions"], line["block_ids"], strict=True)
            claims[claim]["held"].update(held)
        elif kind in {"block_evicted", "block_lost"} and "block_ids" in line:
            gone = set(line["block_ids"])
            for each in claims.values():
                each["held"] = {at: b for at, b in each["held"].items() if b not in gone}
        elif kind in {"claim_materialized", "claim_harmed", "claim_released"}:
            claims[claim]["said"].append(kind.removeprefix("claim_"))
        elif kind == "request_arrived":
            resident = len(set().union(*contents.values()))
            over = resident + line["needed"] - line["usable"]
            requests[request] = {"needed": line["needed"], "over": max(0, over), "end": "served"}
        elif kind == "request_refused":
            requests[request].update(end="refused", because=line["blocking_claim_ids"])
    return {"claims": claims, "requests": list(requests.values())}


if __name__ == "__main__":
    read = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    print(json.dumps(reconstruct(read)))
