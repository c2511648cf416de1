"""Shows the operator an engine's claims, ends those that the runtime may end, and drains it.

Everything here runs on the engine's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from runtime_hooks.claims.metadata import CHANGE, RELEASE, mode_change_of
from runtime_hooks.claims.preregistration import Ticket
from runtime_hooks.controller.successors import NO_CLAIM
from runtime_hooks.controller.views import (
    SCHEMA,
    ChangePage,
    ClaimDetails,
    ClaimsPage,
    ClaimView,
    DrainPage,
    EngineView,
    OwnerView,
    QuotasPage,
    ReleasePage,
    ShowPage,
    StepView,
)
from runtime_hooks.settings.quotas import Quota
from runtime_hooks.trace.faults import LOG
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.fields import RUNTIME
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.registry import Registry
    from runtime_hooks.controller.admission import Admission
    from runtime_hooks.controller.views import FiguresPage
    from runtime_hooks.tracking.tracker import BlockTracker

__all__ = ["MOST", "NotAllowed", "Operator", "UnknownClaim"]

MOST: Final = 1_000
"""The most claims in one answer."""

_NS: Final = 1_000_000_000
_OWNERS: Final = 1_000  # quotas of owners that may be set while the engine runs


class UnknownClaim(SpecError):
    """The engine has no live claim of this id, and none that waits."""


class NotAllowed(SpecError):
    """The contract gives nobody but the owner the right to do this."""


class Operator:
    """What the operator of one engine sees and does, and owners, who use ids of their own.

    Args:
        epoch, stream: of the engine.
        usable: blocks of the pool without the null block.
        now_ns: the time.
        requests: how many requests are unfinished.
        alarm: the reason why no more claims are accepted; empty while they are.
        figures: makes the figures for Prometheus, with this epoch.
        scope_of: the scope of a caller who asks for this; empty where it is unknown.
    """

    def __init__(
        self,
        registry: Registry,
        admission: Admission,
        tracker: BlockTracker,
        *,
        epoch: str,
        stream: str,
        usable: int,
        now_ns: Callable[[], int],
        requests: Callable[[], int],
        alarm: Callable[[], str],
        figures: Callable[[str], FiguresPage],
        scope_of: Callable[[dict[str, Any], dict[str, Any]], str],
    ) -> None:
        self._registry, self._admission, self._tracker = registry, admission, tracker
        self._epoch, self._stream, self._usable = epoch, stream, usable
        self._now_ns, self._requests, self._alarm = now_ns, requests, alarm
        self._figures, self._scope_of = figures, scope_of

    def claims(self, owner: str = "") -> ClaimsPage:
        """The live and waiting claims, of one owner, by its ids, or of all; at most `MOST`."""
        live = self._registry.live.values()
        found = [e for e in live if owner in ("", e.claim.owner_scope)]
        waiting = [t for t in self._waiting() if owner in ("", t.owner_scope)]
        views = [*map(self._view, found[:MOST]), *map(_waiting_view, waiting)][:MOST]
        if owner:
            views = [self._for_owner(view) for view in views]
            for entry in found[:MOST]:
                self._admission.acknowledge(entry)
        left_out = len(found) + len(waiting) - len(views)
        return ClaimsPage(SCHEMA, self._engine(), views, left_out)

    def figures(self) -> FiguresPage:
        """The figures for Prometheus."""
        return self._figures(self._epoch)

    def show(self, claim_id: str, owner: str = "") -> ShowPage:
        """One claim.

        Args:
            owner: whose claim it must be, and whose id of it is given; empty for anybody's.

        Raises:
            UnknownClaim: there is none.
        """
        found = self._one(claim_id, owner)
        shown = _waiting_details(found) if isinstance(found, Ticket) else self._details(found)
        if owner:
            shown = replace(shown, claim=self._for_owner(shown.claim))
            if not isinstance(found, Ticket):
                self._admission.acknowledge(found)
        return ShowPage(SCHEMA, self._engine(), shown)

    def release(self, claim_id: str) -> ReleasePage:
        """End a claim as the runtime: demote it, or end its wait.

        Raises:
            UnknownClaim: there is none.
            NotAllowed: only its owner may end it.
        """
        entry = self._one(claim_id)
        if isinstance(entry, Ticket):
            self._admission.preregistration.withdraw(claim_id, "the operator ended its wait")
            LOG.info("resident-claims: the operator ended the wait of claim %r", claim_id)
            return ReleasePage(SCHEMA, self._engine(), claim_id, "withdrawn", RUNTIME, 0)
        if entry.claim.protection_mode is not Mode.DEMOTABLE:
            raise NotAllowed(f"claim {claim_id} is not ended: {self._ends(entry)}", _REMEDY)
        self._admission.end(entry, Kind.CLAIM_DEMOTED)
        LOG.info("resident-claims: the operator had claim %r demoted", claim_id)
        report, blocks = Kind.CLAIM_DEMOTED.value, len(entry.blocks)
        return ReleasePage(SCHEMA, self._engine(), claim_id, report, RUNTIME, blocks)

    def release_own(self, claim_id: str, caller: dict[str, Any]) -> ReleasePage:
        """Release a claim, or end its wait, in the name of its owner.

        Args:
            caller: the owner, with a proof for this release; it is used up where there is a claim.

        Raises:
            UnknownClaim: there is none of this owner.
            NotAllowed: the proof is none, or callers are not authenticated.
        """
        owner = caller.get("scope")
        if not isinstance(owner, str) or not owner:
            raise NotAllowed("the caller is not known", "the server has no scopes")
        entry = self._one(claim_id, owner)
        if self._scope_of(caller, {RELEASE: {"claim_id": claim_id}}) != owner:
            raise NotAllowed("the caller is not known", "its proof is none, or was used before")
        if isinstance(entry, Ticket):
            self._admission.preregistration.withdraw(entry.claim_id, "its owner ended its wait")
            return ReleasePage(SCHEMA, self._engine(), claim_id, "withdrawn", owner, 0)
        self._admission.end(entry, Kind.CLAIM_RELEASED)
        report, blocks = Kind.CLAIM_RELEASED.value, len(entry.blocks)
        return ReleasePage(SCHEMA, self._engine(), claim_id, report, owner, blocks)

    def change_own(self, change: dict[str, Any], caller: dict[str, Any]) -> ChangePage:
        """Have a claim of another mode follow an owner's claim.

        Args:
            change: as a request states it.
            caller: the owner, with a proof for this change; it is used up.

        Raises:
            ClaimError: this is no change of the mode.
            UnknownClaim: there is no such claim of this owner.
            NotAllowed: the proof is none, or callers are not authenticated.
        """
        owner = self._scope_of(caller, {CHANGE: change})
        if not owner:
            raise NotAllowed("the caller is not known", "its proof is none, or was used before")
        asked = mode_change_of(change, owner)
        why = self._admission.successors.change_mode(asked)
        if why == NO_CLAIM:
            raise UnknownClaim(f"there is no live claim {asked.claim_id!r:.100}", _LIST)
        return ChangePage(SCHEMA, self._engine(), *asked[:2], asked.mode.value, why)

    def drain(self, *, undo: bool = False) -> DrainPage:
        """Accept no more claims and let the live ones end; or accept claims again."""
        if self._admission.drains is undo:
            self._admission.drains = not undo
            LOG.info("resident-claims: %s", "claims are accepted again" if undo else _DRAINS)
        unlimited = sum(e.claim.duration is None for e in self._registry.live.values())
        return DrainPage(SCHEMA, self._engine(), unlimited)

    def quotas(
        self, owner: str = "", change: dict[str, Any] | None = None, floor: int | None = None
    ) -> QuotasPage:
        """Change the quota of an owner, or of every owner, for claims to come; and the floor.

        Args:
            change: the fields of a quota to set; None lifts a field.

        Raises:
            SpecError: too many owners have a quota of their own.
        """
        owners = self._registry.owners
        quotas = owners.quotas
        if floor is not None:
            quotas = replace(quotas, floor=floor)
        if change and owner:
            own = replace(quotas.owners.get(owner, Quota()), **change)
            kept = {name: each for name, each in quotas.owners.items() if name != owner}
            kept |= {} if own == Quota() else {owner: own}
            if len(kept) > _OWNERS:
                raise SpecError(f"{_OWNERS} owners have quotas already", "set that of every owner")
            quotas = replace(quotas, owners=kept)
        elif change:
            quotas = replace(quotas, each=replace(quotas.each, **change))
        if quotas != owners.quotas:
            owners.quotas = quotas
            LOG.info("resident-claims: the operator set quotas")
        names = sorted({*owners.names, *quotas.owners})[:MOST]
        views = [OwnerView(n, owners.claims(n), owners.blocks(n), owners.quota(n)) for n in names]
        return QuotasPage(SCHEMA, self._engine(), owners.quota(""), views)

    def _engine(self) -> EngineView:
        registry = self._registry
        return EngineView(
            epoch=self._epoch,
            stream=self._stream,
            usable=self._usable,
            claimed=len(registry.declared),
            floor=registry.owners.quotas.floor,
            live=len(registry.live),
            requests=self._requests(),
            drains=self._admission.drains,
            alarm=self._alarm(),
        )

    def _view(self, entry: Entry) -> ClaimView:
        return ClaimView(
            claim_id=entry.claim_id,
            owner_scope=entry.claim.owner_scope,
            mode=entry.claim.protection_mode.value,
            state=entry.lifecycle.state.value,
            blocks=len(entry.blocks),
            held=entry.cached,
            age_s=round((self._now_ns() - entry.since_ns) / _NS, 3),
            left=self._registry.left(entry),
            never_there=entry.never_there,
        )

    def _details(self, entry: Entry) -> ClaimDetails:
        claim, excluded = entry.claim, self._tracker.excluded
        return ClaimDetails(
            claim=self._view(entry),
            predicate=str(claim.materialization_predicate),
            holds=entry.holds,
            object_id=claim.object_id,
            priority=claim.priority,
            duration="" if claim.duration is None else str(claim.duration),
            excluded=sum(any(b in excluded for b in c.blocks) for c in entry.contents),
            shared=sum(len(c.owners) > 1 for c in entry.contents),
            copied=len(entry.stored),
            restores=entry.restores,
            steps=[
                StepView(each.trigger, str(each.by), each.dest.value)
                for each in entry.lifecycle.history
            ],
            ends=self._ends(entry),
        )

    def _for_owner(self, view: ClaimView) -> ClaimView:
        """A claim by its owner's id."""
        names = self._registry.names
        return replace(view, claim_id=names.owners_id(view.claim_id, view.owner_scope))

    def _ends(self, entry: Entry) -> str:
        """Who may end a claim, and when it ends by itself."""
        mode, owner = entry.claim.protection_mode, entry.claim.owner_scope
        if mode is Mode.DEMOTABLE:
            return f"the runtime may demote it, and {owner} may release it"
        left = self._registry.left(entry)
        expires = f"; it expires in {left}" if left else ""
        return f"it is {mode.value}, so only {owner} may release it{expires}"

    def _waiting(self) -> list[Ticket]:
        ahead = self._admission.preregistration
        return [each for each in ahead.tickets() if ahead.is_waiting(each.claim_id)]

    def _one(self, claim_id: str, owner: str = "") -> Entry | Ticket:
        """A live or waiting claim, of one owner, by the owner's id, or of anybody."""
        engine_id = self._registry.names.engine_id(claim_id, owner) if owner else claim_id
        entry = self._registry.live.get(engine_id)
        if entry is not None and owner in ("", entry.claim.owner_scope):
            return entry
        for ticket in self._waiting() if entry is None else ():
            if ticket.claim_id == engine_id and owner in ("", ticket.owner_scope):
                return ticket
        raise UnknownClaim(f"there is no live claim {claim_id!r:.100}", _LIST)


_DRAINS: Final = "the operator drains this engine: it accepts no more claims"
_REMEDY: Final = "to drain the engine accepts no more claims, and lets this one end"
_LIST: Final = "the list of claims has them all"


def _waiting_view(ticket: Ticket) -> ClaimView:
    return ClaimView(
        ticket.claim_id, ticket.owner_scope, ticket.mode.value, ticket.state, 0, 0, 0.0, ""
    )


def _waiting_details(ticket: Ticket) -> ClaimDetails:
    ends = "it waits for a request with its prefix; the operator may end the wait"
    return ClaimDetails(_waiting_view(ticket), "", False, "", None, "", 0, 0, 0, 0, [], ends)
