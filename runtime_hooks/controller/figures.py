"""Counts what an engine's claims take and what became of them, for its metrics."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol

from runtime_hooks.controller.views import SCHEMA, FiguresPage, ModeFigures
from runtime_hooks.trace.inline import Inline
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runtime_hooks.claims.registry import Registry
    from runtime_hooks.controller.admission import Admission
    from runtime_hooks.trace.emitter import Emitter
    from runtime_hooks.trace.faults import Faults
    from runtime_hooks.trace.journal import Journal
    from runtime_hooks.tracking.tracker import BlockTracker

__all__ = ["Figures", "MeasuredPool"]

_NS: Final = 1_000_000_000


class MeasuredPool(Protocol):
    """What the figures need of the engine's block pool."""

    @property
    def usable(self) -> int:
        """The blocks of the pool without the null block."""

    def used(self) -> int:
        """How many blocks are not free."""

    def alone(self, blocks: Iterable[int]) -> int:
        """How many of these excluded blocks nobody else uses."""


class Figures:
    """The figures of one engine; everything here runs on the engine's thread.

    Args:
        alarm: the reason why no more claims are accepted; empty while they are.
    """

    def __init__(
        self,
        pool: MeasuredPool,
        registry: Registry,
        admission: Admission,
        tracker: BlockTracker,
        emitter: Emitter,
        journal: Journal,
        faults: Faults,
        *,
        alarm: Callable[[], str],
    ) -> None:
        self._pool, self._registry, self._admission = pool, registry, admission
        self._tracker, self._emitter, self._journal = tracker, emitter, journal
        self._faults, self._alarm = faults, alarm

    def page(self, epoch: str) -> FiguresPage:
        """The figures now; takes time in proportion to live claims and excluded blocks."""
        reports, journal, pins = self._emitter.reports, self._journal, self._admission.pins
        faults: Counter[str] = Counter()
        for (hook, _), times in self._faults.counts.items():
            faults[hook] += times
        restoring = self._emitter.restore_refusals
        monitor, verdicts = journal.sink(Inline), dict[str, dict[str, int]]()
        for (mode, verdict), times in () if monitor is None else [*monitor.verdicts.items()]:
            verdicts.setdefault(mode, {})[verdict] = times
        failed = Inline.__name__ in journal.lost
        drains, alarmed = self._admission.drains, bool(self._alarm())
        oldest, now = journal.oldest_ns, self._emitter.now_ns
        excluded = self._tracker.excluded
        return FiguresPage(
            schema=SCHEMA,
            epoch=epoch,
            modes=self._modes(),
            usable=self._pool.usable,
            claimed=len(self._registry.declared),
            used=self._pool.used(),
            held=len(excluded),
            idle=self._pool.alone(excluded),
            refusals={
                "capacity": reports[Kind.REQUEST_REFUSED] - restoring,
                "restoration": restoring,
            },
            bounded=reports[Kind.REQUEST_BOUNDED],
            harms=reports[Kind.CLAIM_HARMED],
            restores={
                "restored": reports[Kind.CLAIM_RESTORED],
                "failed": reports[Kind.CLAIM_RESTORATION_FAILED],
            },
            pins={"accepted": pins.pinned, "rejected": pins.rejected},
            faults=dict(faults),
            accepting=not (drains or alarmed),
            trace_alive=set(journal.lost) <= {Inline.__name__},
            waiting=journal.waiting,
            lag_s=0.0 if oldest is None else max(0, now - oldest) / _NS,
            dropped=journal.dropped,
            drains=drains,
            alarmed=alarmed,
            monitor="failed" if failed else "off" if monitor is None else "up",
            verdicts=verdicts,
            overdue=self._admission.overdue,
            given_up={} if monitor is None else monitor.given_up,
        )

    def _modes(self) -> dict[str, ModeFigures]:
        live, absent = Counter[str](), dict[str, list[int]]()
        for entry in self._registry.live.values():
            mode = entry.claim.protection_mode.value
            live[mode] += 1
            if entry.never_there:
                absent.setdefault(mode, []).append(self._emitter.now_ns - entry.since_ns)
        held: Counter[str] = Counter()
        for content in self._tracker.excluded_contents:
            held.update({owner.claim.protection_mode.value for owner in content.owners})
        decided, found = self._admission.decided, dict[str, ModeFigures]()
        for mode in sorted({*live, *decided}):
            ages, (accepted, rejected) = absent.get(mode, []), decided.get(mode, (0, 0))
            longest = max(ages, default=0) / _NS
            counts = (live[mode], held[mode], accepted, rejected, len(ages))
            found[mode] = ModeFigures(*counts, longest)
        return found
