"""Chooses the data-parallel rank of a request: that of the claim that it names, or begins with.

What names no claim, and begins with no claimed prefix, is left to the engine's own load balancer.
"""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from runtime_hooks.claims.metadata import CHANGE, CLAIM, PIN, RELEASE, RENEW, TRY
from runtime_hooks.claims.ownership import CALLING
from runtime_hooks.claims.qualified import ClaimNames
from runtime_hooks.routing.prefix import prefixes_of
from runtime_hooks.settings.switch import mark_server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runtime_hooks.routing.routes import Known, RouteTable
    from runtime_hooks.settings.config import Routing

__all__ = [
    "TRIED",
    "Asked",
    "Choice",
    "Router",
    "Why",
    "goes_elsewhere",
    "marked",
    "route_in",
]

Why = Literal["header", "name", "in flight", "prefix", "full", "elsewhere", "balancer"]
_MOST: Final = 4096  # requests in flight whose claims are remembered


TRIED: Final[ContextVar[list[int] | None]] = ContextVar("tried", default=None)
"""The ranks that the HTTP request in hand was sent to, if it is sent on where it does not fit; None
where it is not.
"""

_ROUTE: Final = "resident_claims_route"
_ELSEWHERE: Final = "resident_claims_elsewhere"
_MARKS: Final = (_ROUTE, _ELSEWHERE)
"""The marks among a request's extra arguments. Each begins with the mark of the server, which its
processes alone know, so that an engine takes no mark of a client.
"""


def marked(
    extra: Mapping[str, Any] | None, choice: Choice | None = None, *, elsewhere: bool = False
) -> dict[str, Any] | None:
    """The extra arguments of a request with the marks for its engine, and with no others.

    Args:
        choice: of its rank, which may have a cost.
        elsewhere: whether it is sent to another rank where it does not fit beside claims.
    """
    made = {name: value for name, value in (extra or {}).items() if name not in _MARKS}
    if choice is not None and choice.cost is not None:
        made[_ROUTE] = [mark_server(), choice.cost, f"rank {choice.rank}"]
    if elsewhere:
        made[_ELSEWHERE] = [mark_server()]
    return made or None


def route_in(extra: Mapping[str, Any] | None) -> tuple[int, str] | None:
    """The cost and the rank of a request's route; None where no router of this server gave one."""
    match (extra or {}).get(_ROUTE):
        case [server, cost, worker] if server == mark_server():
            return int(cost), str(worker)
    return None


def goes_elsewhere(extra: Mapping[str, Any] | None) -> bool:
    """Whether a router of this server sends a request to another rank where it does not fit beside
    claims.
    """
    return (extra or {}).get(_ELSEWHERE) == [mark_server()]


class Asked(NamedTuple):
    """A request to be routed; `metadata` is what came with it for the engine."""

    request_id: str
    tokens: Sequence[int]
    salt: str | None = None
    adapter: str | None = None
    metadata: Mapping[str, Any] = {}


class Choice(NamedTuple):
    """The rank that has a claim of the request, and why; None where the load balancer chooses.

    `refused` says that the request is to be refused, because that rank is full. `cost` is that of a
    route to a claim whose routes are reported: how many blocks of the prompt no claim of the rank
    has, and how many requests wait there. None where there is no such claim.
    """

    rank: int | None
    why: Why
    refused: bool = False
    cost: int | None = None


class Router:
    """The routes of one process. `chosen` counts the choices by their reason.

    Args:
        qualified: whether callers are authenticated, so that an id is its owner's own.
    """

    def __init__(self, table: RouteTable, settings: Routing, *, qualified: bool) -> None:
        self.chosen: Counter[str] = Counter()
        self._table, self._settings = table, settings
        self._names, self._qualified = ClaimNames(qualified=qualified), qualified
        self._sent: dict[str, str] = {}  # requests in flight, by the claim that each names

    def left(self, *, header: bool) -> None:
        """A request is not routed: its client chose the rank, or it belongs to one in flight."""
        self.chosen["header" if header else "in flight"] += 1

    def elsewhere(self, waiting: Sequence[float], tried: Sequence[int]) -> Choice:
        """Choose another rank for a request that did not fit beside the claims of those tried.

        Raises:
            ValueError: all were tried.
        """
        self.chosen["elsewhere"] += 1
        left = (rank for rank in range(len(waiting)) if rank not in tried)
        return Choice(min(left, key=lambda rank: waiting[rank]), "elsewhere")

    def choose(
        self,
        asked: Asked,
        waiting: Sequence[float],
        rank_of: Callable[[str], int | None],
    ) -> Choice:
        """Choose the rank of a request.

        Args:
            waiting: how many requests wait at each rank.
            rank_of: the rank that a request in flight was sent to; None where it has ended.
        """
        choice = self._choice(asked, waiting, rank_of)
        self.chosen[choice.why] += 1
        for name in self._names_in(asked.metadata):
            self._sent.pop(name, None)
            self._sent[name] = asked.request_id
            if len(self._sent) > _MOST:
                del self._sent[next(iter(self._sent))]
        return choice

    def _choice(
        self, asked: Asked, waiting: Sequence[float], rank_of: Callable[[str], int | None]
    ) -> Choice:
        self._table.refresh()
        names = self._names_in(asked.metadata)
        for name in names:
            for rank, known in self._table.known():
                if name in known.claims and rank < len(waiting):
                    cost = self._cost(asked, known, waiting[rank])
                    return Choice(rank, "name", cost=cost)
        for name in names:  # the engine may not have decided on it yet
            if name in self._sent and (sent := rank_of(self._sent[name])) is not None:
                return Choice(sent, "in flight")
        ranks = [rank for rank in self._with_prefix(asked) if rank < len(waiting)]
        if not ranks:
            return Choice(None, "balancer")
        best = min(ranks, key=lambda rank: waiting[rank])
        if waiting[best] < self._settings.queue:
            known = dict(self._table.known())[best]
            return Choice(best, "prefix", cost=self._cost(asked, known, waiting[best]))
        if self._settings.full == "refuse":
            return Choice(best, "full", refused=True)
        return Choice(None, "full")

    def _with_prefix(self, asked: Asked) -> list[int]:
        """The ranks with a claim on the longest prefix that the prompt begins with."""
        known = [*self._table.known()]
        lengths = {length for _, each in known for length in each.lengths}
        found: list[int] = []
        for prefix in prefixes_of(asked.tokens, lengths, asked.salt, asked.adapter):
            found = [rank for rank, each in known if prefix in each.prefixes] or found
        return found

    def _cost(self, asked: Asked, known: Known, waiting: float) -> int | None:
        """The cost of a route to a rank, as `Choice` has it."""
        if not known.routed:
            return None
        found = prefixes_of(asked.tokens, known.lengths, asked.salt, asked.adapter)
        claimed = [prefix for prefix in found if prefix in known.prefixes]
        if known.routed.keys().isdisjoint(claimed):
            return None
        return -(-(len(asked.tokens) - claimed[-1].tokens) // known.block) + int(waiting)

    def _names_in(self, metadata: Mapping[str, Any]) -> list[str]:
        """The engine's ids of the claims that a request names, and the jobs of its pins."""
        found = []
        for key in (RELEASE, RENEW, CHANGE, CLAIM, TRY, PIN):
            stated = metadata.get(key)
            if not isinstance(stated, dict):
                continue
            owner = stated.get("owner_scope", "")
            if self._qualified:  # the request may name any caller: the engine checks the proof
                owner = CALLING.get() or None
            if not isinstance(owner, str):
                continue
            if isinstance(claim_id := stated.get("claim_id"), str):
                found.append(self._names.engine_id(claim_id, owner))
            elif key == PIN and isinstance(job := stated.get("job_id"), str):
                found.append(f"\0{owner}\0{job}")  # no claim has such an id
        return found
