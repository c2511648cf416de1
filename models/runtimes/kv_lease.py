"""Models the lease of KV blocks between a prefill and a decode engine, as vLLM's NixlConnector has.

Source: vLLM 0.32.0, `distributed/kv_transfer/kv_connector/v1/nixl/`:
* `pull_scheduler.py` (`request_finished`: the blocks are not freed, their lease begins),
* `base_scheduler.py` (`on_new_request`, `build_connector_meta`: which heartbeats are sent, and at
  most how often; `update_connector_output`: when they stop),
* `base_worker.py` (`_handle_heartbeat`: a heartbeat extends a lease to 2/3 of its duration from
  now, and never shortens it; `_reap_expired_send_leases`),
* `pull_worker.py` (`_get_new_notifs`: a read of blocks whose lease is over is noticed afterwards,
  counted and logged by the prefill engine alone; `_is_turn2_read_expired`).
Defaults there: 30 s, heartbeats every 5 s, extensions of 20 s. Leases were merged in #41383. That
completed requests were served from blocks that had been released (8 of 42, all under HTTP 200), is
from the field.

A prefill engine computes a prefix and keeps its blocks under a lease. A decode engine that has the
request, and waits to schedule it, renews the lease by heartbeats; where it is stalled, or they do
not arrive, it does not. Then the prefill engine frees the blocks, and gives them to others. The
decode engine reads them by their ids. The read itself succeeds whatever they hold. With `checks`
it declines to read after the end of the lease, the load counts as failed, and by the default policy
for failed loads the request ends. Upstream checks only where the prefill engine reads back what a
decode engine computed for the last turn (`bidirectional_kv_xfer`): only there is the deadline sent.

A heartbeat can be sent while the request waits; upstream also sends it until the transfer is
complete, which here takes no time.

Left out: several workers, the push mode, handshakes, and failures of the transfer itself. The pool
of the decode engine has room for all; blocks of the prefill engine that were freed are a copy until
another request is given them. One step of the clock is a third of a lease, 10 s of the defaults.
Upstream can send two heartbeats in it; one is enough here, because a lease counts from the last.

Names are not interchangeable: there is one prefix, with one request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple

from models.framework.inference import Inference
from models.framework.model import Action, Model, Next, fact, signal
from models.framework.shims import Shim
from spec.claims.states import Mode
from spec.events.alphabet import Kind

__all__ = ["INFERENCES", "VARIANTS", "KvLease", "Lease", "Reader", "State"]


class Lease(StrEnum):
    """What the prefill engine has of a prefix."""

    NONE = "none"
    HELD = "held"
    FREED = "freed"
    REUSED = "reused"
    READ = "read"


class Reader(StrEnum):
    """Where the request of the decode engine stands."""

    ABSENT = "absent"
    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


class State(NamedTuple):
    """Of each object: its lease, the steps that it has left, and the request that reads it.

    `beat` says whether a heartbeat was sent since the clock stepped, `stale` which requests ran on
    blocks that held something else.
    """

    leases: tuple[Lease, ...]
    left: tuple[int, ...]
    readers: tuple[Reader, ...]
    beat: bool = False
    stale: tuple[str, ...] = ()


class KvLease(Model[State]):
    """A prefill and a decode engine.

    Args:
        objects: the size in blocks of each prefix; the request that reads object x is r-x.
        lease: the steps that a lease lasts.
        extension: the steps from now to which a heartbeat extends it.
        checks: the decode engine does not read after the end of the lease.
    """

    name: ClassVar = "kv_lease"
    about: ClassVar = "Leases of KV blocks with heartbeats between two engines (NIXL)."
    source: ClassVar = "vLLM 0.32.0, distributed/kv_transfer/kv_connector/v1/nixl"
    left_out: ClassVar = "several workers, the push mode, handshakes, failed transfers"

    def __init__(
        self,
        objects: Mapping[str, int] | None = None,
        lease: int = 3,
        extension: int = 2,
        *,
        checks: bool = False,
    ) -> None:
        self.objects = {"a": 1} if objects is None else dict(objects)
        self.lease, self.extension, self.checks = lease, extension, checks
        self.holders = tuple(self.objects)
        self.requests = tuple(f"r-{each}" for each in self.holders)
        ends = [sum([*self.objects.values()][: at + 1]) for at in range(len(self.objects))]
        self.blocks = [
            tuple(range(end - size, end))
            for end, size in zip(ends, self.objects.values(), strict=True)
        ]

    def initial(self) -> Iterator[State]:
        """Nothing was computed."""
        count = len(self.holders)
        yield State((Lease.NONE,) * count, (0,) * count, (Reader.ABSENT,) * count)

    def actions(self, state: State) -> Iterator[Action]:
        """What the engines and the clock can do next."""
        waits = [reader is Reader.WAITING for reader in state.readers]
        for at, holder in enumerate(self.holders):
            lease, reader = state.leases[at], state.readers[at]
            if lease is Lease.NONE:
                yield Action("prefill", (holder,))
            elif reader is Reader.ABSENT:
                yield Action("arrive", (holder,))
            if lease is Lease.HELD and state.left[at] == 0:
                yield Action("reap", (holder,))
            if lease is Lease.FREED:
                yield Action("reuse", (holder,))
            if waits[at]:
                yield Action("read", (holder,))
            if reader is Reader.RUNNING:
                yield Action("finish", (holder,))
        if any(waits) and not state.beat:
            yield Action("heartbeat")
        if Lease.HELD in state.leases:
            yield Action("tick")

    def apply(self, state: State, action: Action) -> Next[State]:
        """Both engines after an action."""
        if action.name == "tick":
            left = tuple(max(0, each - 1) for each in state.left)
            return Next(state._replace(left=left, beat=False))
        if action.name == "heartbeat":
            return self._heartbeat(state)
        holder = str(action.what[0])
        at = self.holders.index(holder)
        match action.name:
            case "prefill":
                return self._prefill(state, at, holder)
            case "arrive":
                came = fact(
                    Kind.REQUEST_ARRIVED,
                    request_id=self.requests[at],
                    needed=0,
                    usable=sum(self.objects.values()),
                )
                return Next(_reader(state, at, Reader.WAITING), (came,))
            case "reap":
                over = signal("kv_expired_req", holder, by="runtime")
                return Next(_lease(state, at, Lease.FREED), (over,))
            case "reuse":
                gone = fact(Kind.HOST_COPY_LOST, object_id=holder)
                return Next(_lease(state, at, Lease.REUSED), (gone,))
            case "read":
                return self._read(state, at, holder)
        ended = fact(Kind.REQUEST_FINISHED, request_id=self.requests[at])
        return Next(_reader(state, at, Reader.ENDED), (ended,))

    def _prefill(self, state: State, at: int, holder: str) -> Next[State]:
        """The prefill engine ends its request: the response says where the blocks are."""
        size = self.objects[holder]
        leased = signal(
            "kv_transfer_params",
            holder,
            object_id=holder,
            predicate=f"leading_prefix_at_least({size})",
            footprint=size,
            owner_scope=f"owner:{holder}",
        )
        found = fact(Kind.HOST_COPY_FOUND, object_id=holder)
        left = tuple(self.lease if each == at else old for each, old in enumerate(state.left))
        state = _lease(state, at, Lease.HELD)._replace(left=left)
        return Next(state, (leased, found, signal("remote_block_ids", holder)))

    def _heartbeat(self, state: State) -> Next[State]:
        """Each lease of a request that waits lasts so long from now; those that are over, do not.

        A lease that has no time left, but was not reaped yet, is extended, too.
        """
        left = tuple(
            max(old, self.extension) if (lease, reader) == (Lease.HELD, Reader.WAITING) else old
            for old, lease, reader in zip(state.left, state.leases, state.readers, strict=True)
        )
        return Next(state._replace(left=left, beat=True))

    def _read(self, state: State, at: int, holder: str) -> Next[State]:
        """The decode engine schedules its request, and reads by block ids.

        A read while the lease holds ends it. After that the prefill engine only counts it.
        """
        lease, request = state.leases[at], self.requests[at]
        about = {"request_id": request, "object_id": holder}
        asked = fact(Kind.PREFIX_LOOKUP, **about, held=0, asked=self.objects[holder])
        emits = (asked, signal("do_remote_prefill", holder, request_id=request))
        if self.checks and (lease is not Lease.HELD or state.left[at] == 0):
            failed = fact(Kind.LOAD_FAILED, **about)
            ended = fact(Kind.REQUEST_FINISHED, request_id=request)
            return Next(_reader(state, at, Reader.ENDED), (*emits, failed, ended))
        came = {"block_ids": self.blocks[at], "positions": tuple(range(self.objects[holder]))}
        reported = signal("finished_recving", holder, request_id=request, from_tier=True)
        used = fact(Kind.PREFIX_REUSED, **about)
        state = _reader(state, at, Reader.RUNNING)
        if lease is Lease.REUSED:
            state = state._replace(stale=tuple(sorted((*state.stale, request))))
            return Next(state, (*emits, reported, used))
        read = state if lease is Lease.FREED else _lease(state, at, Lease.READ)
        return Next(read, (*emits, fact(Kind.LOAD_FINISHED, **about, **came), reported, used))

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """A heartbeat gives a lease no more time than it had at first; the check is enough."""

        def timed(state: State) -> bool:
            return all(0 <= left <= self.lease for left in state.left)

        found: dict[str, Callable[[State], bool]] = {
            "a lease never has more time left than at its start": timed
        }
        if self.checks:
            found["no request is served from blocks of another"] = lambda state: not state.stale
        return found

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """A lease can end while its request waits; without a check the request is served."""

        def ends(state: State) -> bool:
            pairs = zip(state.leases, state.readers, strict=True)
            return (Lease.FREED, Reader.WAITING) in pairs

        found: dict[str, Callable[[State], bool]] = {"a lease ends while its request waits": ends}
        if not self.checks:
            found["a request is served from blocks of another"] = lambda state: bool(state.stale)
        return found


def _lease(state: State, at: int, lease: Lease) -> State:
    left = tuple(
        old if lease is Lease.HELD or each != at else 0 for each, old in enumerate(state.left)
    )
    return state._replace(leases=(*state.leases[:at], lease, *state.leases[at + 1 :]), left=left)


def _reader(state: State, at: int, reader: Reader) -> State:
    return state._replace(readers=(*state.readers[:at], reader, *state.readers[at + 1 :]))


VARIANTS: Final[Mapping[str, Callable[[], KvLease]]] = {
    "heartbeats": KvLease,
    "checks": lambda: KvLease(checks=True),
}

_MEANS: Final = {
    "remote_block_ids": Kind.CLAIM_OFFLOADED,
    "do_remote_prefill": Kind.CLAIM_RESTORE_REQUIRED,
    "finished_recving": Kind.CLAIM_RESTORED,
}

INFERENCES: Final = (
    Inference(
        "lease -> offloadable",
        "kv_lease_duration and heartbeats of the NixlConnector",
        Mode.OFFLOADABLE,
        Shim(Mode.OFFLOADABLE, frozenset({"kv_transfer_params"}), _MEANS),
        KvLease,
        "a",
        premises=("load_back",),
        adds="The blocks are released while the request waits, and it is served from them.",
    ),
)
