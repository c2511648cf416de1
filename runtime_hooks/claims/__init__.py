"""Represents claims: parsed from requests, owned, registered ahead, pinned, and held while live.

`register`, `release` and `list_claims` are for callers in the engine's process.
"""

from runtime_hooks.claims.api import Ticket, list_claims, register, release

__all__ = ["Ticket", "list_claims", "register", "release"]
