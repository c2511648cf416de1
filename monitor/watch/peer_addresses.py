"""Finds the observers that `watch --compare` names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from monitor.follow.addresses import is_publisher
from monitor.follow.discovery import is_server
from monitor.watch.dynamo_peer import PREFIX, DynamoPeer
from monitor.watch.peers import StreamPeer
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.follow.command import Asked

__all__ = ["MOST_PEERS", "Peer", "is_replayed", "peers_of"]

Peer: TypeAlias = StreamPeer | DynamoPeer
"""A second observer; its `name` is the address, as it was typed."""

MOST_PEERS: Final = 8
"""Observers that are compared at once."""


def peers_of(names: Sequence[str], asked: Asked) -> list[Peer]:
    """The observers of these addresses.

    Raises:
        InputError: an address is none.
        SpecError: an observer cannot be compared with the sources.
    """
    if len(names) > MOST_PEERS:
        raise SpecError(f"{len(names)} --compare", f"compare at most {MOST_PEERS} observers")
    for name in names:
        if names.count(name) > 1 or name in asked.sources:
            raise SpecError(f"--compare {name}: it is named twice", "name another observer")
        if is_server(name):
            hint = f"name its socket, tcp://HOST:PORT, or {PREFIX}{name} if it is an indexer"
            raise SpecError(f"--compare {name}: no source of KV events", hint)
    files = [each for each in asked.sources if not (is_publisher(each) or is_server(each))]
    for name in names:
        if name.startswith(PREFIX) and files:
            cause = (
                f"--compare {name}: an indexer states what it knows now, and {files[0]} is a file"
            )
            raise SpecError(cause, "watch the socket of the engine")
    return [
        DynamoPeer(name)
        if name.startswith(PREFIX)
        else StreamPeer(name, live=is_replayed(name, asked))
        for name in names
    ]


def is_replayed(name: str, asked: Asked) -> bool:
    """Whether a source is a socket whose last batch is known to have come if it is silent."""
    return is_publisher(name) and bool(asked.replays)
