"""Asks a KV indexer of NVIDIA Dynamo which blocks it believes that each of its workers has.

Its `/dump` states the blocks by the hashes of the engine's KV events, and `/workers` the socket
that it reads for each worker. No tokens are sent to it. `/query` is not asked: an indexer that
knows blocks on the GPU alone answers with their number for `cpu` and `disk`, too. Source:
`python -m dynamo.indexer` of ai-dynamo-runtime 1.6.1.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from monitor.follow.fetch import fetch, parts_of
from monitor.input.errors import InputError
from monitor.input.kv_events.dynamo import TIERS
from monitor.input.kv_events.facts import Malformed, keys_of, shown_name
from monitor.watch.holdings import Copies
from monitor.watch.peers import View
from monitor.watch.prefixes import Key
from spec.language.prose import counted
from spec.stream.pool import GPU

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PREFIX", "DynamoPeer"]

PREFIX: Final = "dynamo:"

_ASK_S: Final = 2.0  # between two questions
_ANSWER_S: Final = 10.0  # for each answer
_STALE_S: Final = 30.0  # the last answer counts for so long
_MOST_BYTES: Final = 64 << 20
_READY: Final = "active"
_EXAMPLE: Final = "such as dynamo:http://127.0.0.1:8090"

_Place: TypeAlias = tuple[int, str, str, int]

_Number = Annotated[int, Meta(ge=0)]


class _Listener(msgspec.Struct, frozen=True):
    status: str = _READY


class _Worker(msgspec.Struct, frozen=True):
    """A worker as `/workers` lists it; `endpoints` are its sockets by the rank, and `listeners`
    what reads them.
    """

    instance_id: _Number
    model_name: str
    routing_group: str
    block_size: int
    endpoints: dict[_Number, str]
    status: str = _READY
    listeners: dict[_Number, _Listener] = {}

    def place(self, rank: int) -> _Place:
        """Names a rank of the worker."""
        return self.instance_id, self.model_name, self.routing_group, rank

    def unready(self, rank: int) -> str:
        """The status for which a rank is not compared yet; empty if it is read."""
        states = self.status, self.listeners.get(rank, _Listener()).status
        return next((each for each in states if each != _READY), "")


class _Block(msgspec.Struct, frozen=True):
    block_hash: Any


class _Stored(msgspec.Struct, frozen=True):
    blocks: list[_Block]


class _Data(msgspec.Struct, frozen=True):
    stored: _Stored


class _Event(msgspec.Struct, frozen=True):
    data: _Data
    dp_rank: _Number = 0


class _Routed(msgspec.Struct, frozen=True):
    worker_id: _Number
    storage_tier: str
    event: _Event


class _Index(msgspec.Struct, frozen=True):
    events: list[_Routed]


_WORKERS: Final = msgspec.json.Decoder(list[_Worker])
_DUMP: Final = msgspec.json.Decoder(dict[str, _Index])


class _Answer(NamedTuple):
    """What an indexer answered: its workers, and the blocks of each of their ranks, by tier."""

    workers: list[_Worker]
    blocks: dict[_Place, dict[str, set[Key]]]
    asked_ns: int


class _Believed(View):
    """The blocks that an indexer believes one rank of a worker to have, by tier.

    Args:
        asked_ns: when the indexer was asked first.
    """

    def __init__(self, asked_ns: int) -> None:
        super().__init__()
        self.holdings.read(asked_ns, None)
        self.holdings.forget("")  # what an answer leaves out is not held

    def answer(self, blocks: Mapping[str, set[Key]], asked_ns: int) -> None:
        """Take an answer; a tier that was stated once may be empty later."""
        self.holdings.read(asked_ns, None)
        self.holdings.stated.update(blocks)
        for tier in self.holdings.stated:
            now = blocks.get(tier, set[Key]())
            for key in now ^ self.holdings.keys(tier):
                if tier == GPU:
                    self.holdings.put(0, key, Copies.ONE if key in now else None)
                else:
                    self.holdings.copy(tier, 0, key, add=key in now)


class DynamoPeer:
    """An indexer that is asked again and again, by a thread of its own.

    Args:
        name: its address, `dynamo:http://HOST:PORT`.

    Raises:
        InputError: that is no address.
    """

    def __init__(self, name: str) -> None:
        self.name, self._url = name, _checked(name)
        self._workers: list[_Worker] = []
        self._believed: dict[_Place, _Believed] = {}
        self._fault, self._answered_s = "it has not answered yet", time.monotonic()
        self._answers: deque[_Answer | str] = deque(maxlen=1)  # only the newest one counts
        self._closing = threading.Event()
        threading.Thread(target=self._run, name=f"ask {name}", daemon=True).start()

    def view(self, stream: str, size: int, *, alone: bool) -> View | str:
        """What it believes of the worker whose socket it reads under the same address, or of its
        only worker if no other engine is watched; or why that cannot be compared.

        Args:
            size: tokens of a block.
            alone: whether no other engine is watched.
        """
        if self._answers:
            self._take(self._answers.pop())
        if (silent := time.monotonic() - self._answered_s) > _STALE_S:
            return f"it has not answered for {silent:.0f} s"
        if self._fault:
            return self._fault
        every = [(each, rank) for each in self._workers for rank in each.endpoints]
        found = [
            (each, rank)
            for each, rank in every
            if stream in (each.endpoints[rank], f"{each.endpoints[rank]} rank {rank}")
        ]
        if not found and alone and len(every) == 1:
            found = every
        if len(found) != 1:
            return f"{len(found) or 'none'} of its {counted(len(every), 'worker')} reads {stream}"
        ((worker, rank),) = found
        if worker.block_size != size:
            return f"its blocks have {worker.block_size} tokens"
        if status := worker.unready(rank):
            return f"its worker is {shown_name(status)}, and not {_READY}"
        return self._believed.get(worker.place(rank)) or "it has no index of the worker's model"

    def close(self) -> None:
        """Ask no more."""
        self._closing.set()

    def _take(self, answer: _Answer | str) -> None:
        """Take an answer, or why there is none."""
        if isinstance(answer, str):
            self._fault = answer
            return
        before, self._believed = self._believed, {}
        for place, blocks in answer.blocks.items():
            believed = before.get(place) or _Believed(answer.asked_ns)
            believed.answer(blocks, answer.asked_ns)
            self._believed[place] = believed
        self._workers, self._fault, self._answered_s = answer.workers, "", time.monotonic()

    def _run(self) -> None:
        while True:
            try:
                self._answers.append(_asked(self._url))
            except (msgspec.MsgspecError, RecursionError, Malformed) as error:
                self._answers.append(f"its answer is not understood: {str(error)[:200]}")
            except (OSError, ValueError) as error:
                self._answers.append(f"it does not answer: {error}")
            if self._closing.wait(_ASK_S):
                return


def _asked(url: str) -> _Answer:
    """The answer of an indexer.

    Raises:
        OSError: it does not answer, or not in time.
        ValueError: its answer is too long, or not understood.
    """
    workers = _WORKERS.decode(fetch(f"{url}/workers", _MOST_BYTES, _ANSWER_S))
    asked_ns = time.time_ns()
    indexes = _DUMP.decode(fetch(f"{url}/dump", _MOST_BYTES, _ANSWER_S))
    blocks = {
        worker.place(rank): _blocks(worker, rank, index)
        for worker in workers
        if (index := indexes.get(f"{worker.model_name}:{worker.routing_group}")) is not None
        for rank in worker.endpoints
    }
    return _Answer(workers, blocks, asked_ns)


def _blocks(worker: _Worker, rank: int, index: _Index) -> dict[str, set[Key]]:
    """The blocks of one rank of a worker, by tier; raises Malformed."""
    found: dict[str, set[Key]] = {GPU: set()}
    for each in index.events:
        mine = len(worker.endpoints) == 1 or each.event.dp_rank == rank
        if each.worker_id == worker.instance_id and mine:
            if (tier := TIERS.get(each.storage_tier)) is None:
                raise Malformed(f"the storage tier {shown_name(each.storage_tier)} is not known")
            keys = keys_of(block.block_hash for block in each.event.data.stored.blocks)
            found.setdefault(tier, set()).update(keys)
    return found


def _checked(name: str) -> str:
    """The URL in an address; raises InputError."""
    text = name.removeprefix(PREFIX)
    parts = parts_of(text)
    if parts is None or "@" in parts.netloc or parts.path.strip("/") or parts[3:] != ("", ""):
        shown = name if "@" not in name else PREFIX
        raise InputError(shown, "no address of an indexer", hint=_EXAMPLE)
    return text.rstrip("/")
