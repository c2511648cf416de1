"""Defines the alphabet: the sets of kinds of events, by role and effect.

A **fact** is what an instrumented allocator, connector, scheduler or router did; the one assumption
is that hooks observe facts faithfully. A **report** is what the runtime states, and is checked
against the facts. Some facts are the runtime's own choice (it evicts a block); others are the
environment's (a device resets, a clock reaches a duration), and a runtime is never blamed for
those.

Names are vLLM's and the papers' where they have one.
"""

from __future__ import annotations

from msgspec import Struct

from spec.events.kinds import Kind, Role

__all__ = [
    "BLOCKS_GONE",
    "CONFLICT_ACTIONS",
    "ENDS",
    "ENVIRONMENT",
    "FACTS",
    "KINDS",
    "LIFECYCLE_REPORTS",
    "REPORTS",
    "Kind",
    "KindInfo",
    "Role",
]


class KindInfo(Struct, frozen=True):
    """The meaning and the role of a kind of event."""

    kind: Kind
    role: Role
    says: str


KINDS: dict[Kind, KindInfo] = {kind: KindInfo(kind, kind.row.role, kind.row.says) for kind in Kind}

REPORTS = frozenset(kind for kind in Kind if kind.row.role is Role.REPORT)
ENVIRONMENT = frozenset(kind for kind in Kind if kind.row.role is Role.ENVIRONMENT)
FACTS = ENVIRONMENT | {kind for kind in Kind if kind.row.role is Role.CHOICE}
LIFECYCLE_REPORTS = frozenset(kind for kind in Kind if kind.row.lifecycle)
ENDS = frozenset(kind for kind in Kind if kind.row.ends)
BLOCKS_GONE = frozenset(kind for kind in Kind if kind.row.blocks_gone)
CONFLICT_ACTIONS = frozenset(kind for kind in Kind if kind.row.action)
