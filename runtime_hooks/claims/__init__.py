"""Represents claims: parsed from requests, owned, registered ahead, pinned, and held while live.

`register`, `release`, `change_mode` and `list_claims` are for callers in the engine's process.
"""

from runtime_hooks.claims.api import Ticket, change_mode, list_claims, register, release

__all__ = ["Ticket", "change_mode", "list_claims", "register", "release"]
