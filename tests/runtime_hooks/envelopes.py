"""Envelopes of KV hints, as JSON states them."""

from __future__ import annotations

from typing import Any

from runtime_hooks.claims.hints import RETAIN, SET_PRIORITY


def span(start: int, end: int | None, priority: int, **more: Any) -> dict[str, Any]:
    """A directive."""
    return {"start": start, "end": end, "priority": priority, **more}


def envelope(*actions: tuple[str, Any], message: str = "m", version: str = "1.0") -> dict[str, Any]:
    """An envelope of these types and payloads."""
    return {
        "protocol_version": "1.0",
        "message_id": message,
        "actions": [
            {"action_id": f"a{n}", "action_type": kind, "action_version": version, "payload": own}
            for n, (kind, own) in enumerate(actions)
        ],
    }


def retain(*directives: Any, message: str = "m", **more: Any) -> dict[str, Any]:
    """An envelope with one `kv.retain`."""
    return envelope((RETAIN, {"directives": list(directives), **more}), message=message)


def setting(revision: int, value: int | None = 7, **more: Any) -> dict[str, Any]:
    """An envelope with one `vllm.set_priority`."""
    own = {"target": "request_cached", "location": "local_g1", "claim_id": "c"}
    return envelope((SET_PRIORITY, {**own, "revision": revision, "value": value, **more}))
