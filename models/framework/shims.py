"""Relabels what a runtime without claims says, as a naive reader of it does.

A runtime without claims never reports that it accepted one. A reader who infers a mode from a
feature takes the call of that feature for the acceptance of a claim. A `Shim` names that call, the
calls that are taken for the end of the claim, and the messages that are taken for reports about it.
It relabels what the model emitted, adds nothing that was not there, and drops what such a reader
ignores. Where the contract's event has to name a request, and the message names none, the model
gives the request of that step: the best that a reader could join.

One rule serves all: a call that is taken for acceptance becomes `claim_registered` and
`claim_accepted`, with `claim_committed` between them in the modes in which a runtime takes
responsibility: it took the call, so it is responsible. Without the commitment every such claim
would break `explicit_acceptance` at once, and the trace would show nothing of the runtime.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import msgspec

from models.framework.model import CACHE, Emitted, Fact, Signal
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.events.fields import IDENTITY, fields_of

__all__ = ["PLAIN", "Shim", "claim_of", "events_of", "stream_of"]


def claim_of(holder: str) -> str:
    """The id of the claim that a naive reader sees in what a holder has."""
    return f"claim:{holder}"


@dataclass(frozen=True)
class Shim:
    """How a naive reader of a runtime names what it sees.

    Args:
        mode: the mode that the claims are taken to be in.
        accepts: the calls that are taken for the acceptance of a claim.
        means: what other calls and messages are taken for: the end of the claim's entry
            (`claim_retired`), the end of its duration, or a report about it.
    """

    mode: Mode | None = None
    accepts: frozenset[str] = frozenset()
    means: Mapping[str, Kind] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.mode, self.accepts, tuple(sorted(self.means.items()))))

    def events(self, emitted: Emitted) -> tuple[Event, ...]:
        """The events that a naive reader writes for what a model emitted."""
        return (emitted.event,) if isinstance(emitted, Fact) else _relabelled(self, emitted)


PLAIN: Final = Shim()
"""Relabels nothing: for models of runtimes that have claims."""


def events_of(shim: Shim, emits: Iterable[Emitted]) -> list[Event]:
    """The events that a reader writes for what was emitted."""
    return [event for each in emits for event in shim.events(each)]


def stream_of(shim: Shim, emits: Iterable[Emitted], name: str) -> list[Event]:
    """The same as a complete stream, numbered from 0."""
    return [
        msgspec.structs.replace(event, stream=name, sequence=number)
        for number, event in enumerate(events_of(shim, emits))
    ]


@cache
def _relabelled(shim: Shim, said: Signal) -> tuple[Event, ...]:
    if said.name in shim.accepts:
        return tuple(_event(kind, said, shim.mode) for kind in _acceptance(shim.mode))
    kind = shim.means.get(said.name)
    return () if kind is None else (_event(kind, said, shim.mode),)


def _acceptance(mode: Mode | None) -> tuple[Kind, ...]:
    watched = mode is not None and MODES[mode].constants["watched"]
    commits = () if watched else (Kind.CLAIM_COMMITTED,)
    return (Kind.CLAIM_REGISTERED, *commits, Kind.CLAIM_ACCEPTED)


def _event(kind: Kind, said: Signal, mode: Mode | None) -> Event:
    """An event of the claim of a signal's holder, with the fields that its kind has."""
    given: dict[str, Any] = {
        "claim_id": claim_of(said.holder),
        "cache_identity": CACHE,
        **said.fields,
    }
    if mode is not None:
        given["mode"] = str(mode)
    means = {*fields_of(kind), *IDENTITY, "claim_id"}
    if kind is Kind.CLAIM_OFFLOADED:
        means.discard("by")  # an offload with a caller would end the claim
    return Event(kind=kind, **{name: value for name, value in given.items() if name in means})
