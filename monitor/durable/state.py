"""Lists the classes that the state of a monitor consists of."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from monitor import engine
from monitor.durable.known import Known, Remade
from monitor.evaluate import (
    claim,
    claim_fields,
    compile,
    constants,
    event_view,
    in_hand,
    observer_state,
    positions,
    restless,
    unusual,
)
from monitor.evaluate.by_kind import unmoved
from monitor.evaluate.nothing import NOTHING
from monitor.evaluate.partial_observation import left_of, without
from monitor.input import errors, records
from monitor.pool import (
    ahead,
    blocks,
    cells,
    contents,
    groups,
    objects,
    owners,
    ranks,
    room,
    seen,
    stated,
    sums,
)
from monitor.requests import blame, ledger, observability, request
from monitor.stream import (
    claim_store,
    keep,
    order,
    projection,
    retired_claims,
    retired_record,
    unmet,
)
from spec.claims import predicates, states
from spec.claims.claim import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Mark
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STATE"]

_KINDS: Final[tuple[type, ...]] = (
    *(Bundle, Kind, Mark, Mode, Verdict, states.ClaimState),
    *(predicates.ContiguousRange, predicates.LeadingPrefixAtLeast),
    engine.Monitor,
    *(records.At, records.Form, records.Source, records.Stamp),
    *(claim.ClaimRun, claim_fields.Expansion, constants.Constants, event_view.EventView),
    *(observer_state.Finding, in_hand.InHand, observer_state.ObserverState),
    *(positions.Placed, positions.Positions, restless.Restless, unusual.Unusual),
    *(blocks.Blocks, seen.Recent, seen.Seen, objects.Objects, ranks.Ranks, stated.Stated),
    *(groups.Groups, owners.Owners),
    *(ahead.Ahead, contents.Contents, contents._Object),
    *(cells.Cells, cells.Run, sums.Ends, room.Room, room._Object),
    *(blame.Early, ledger.Requests, observability.ObservabilityLoss, request.Request),
    *(claim_store.ClaimStore, keep.Keep, order.Clock, order.Order, projection.Stream),
    *(retired_record.Alike, retired_claims.RetiredClaims, retired_record.Record, unmet.Unmet),
)

# Parts of a compiled mode that the state refers to: all claims have them in common.
_INNER: Final = (
    *("steps", "first", "places", "scoped_places", "scoped", "pending"),
    *("claim_initial", "request_initial", "own_initial"),
)


def _mode_of(compiled: compile.Compiled) -> tuple[Mode, Bundle]:
    for bundle in Bundle:
        same = MODES[compiled.mode].bundle(bundle) == compiled.observers
        if same and compile.compile_mode(compiled.mode, bundle) is compiled:
            return compiled.mode, bundle
    raise TypeError(f"no snapshot of observers that are not those of a bundle of {compiled.mode}")


def _compiled(mode: Any, bundle: Any) -> compile.Compiled:
    return compile.compile_mode(Mode(mode), Bundle(bundle))


def _inner(compiled: compile.Compiled) -> Mapping[str, object]:
    found = {name: getattr(compiled, name) for name in _INNER}
    for name in ("steps", "first"):
        found |= {f"{name} {index}": each for index, each in enumerate(found[name])}
    return found


def _step_of(step: Any) -> tuple[str, frozenset[str]]:
    """A step that is not among those of a compiled mode."""
    if step is unmoved:
        return "", frozenset()
    found = left_of(step)
    if found is None:
        raise TypeError(f"no snapshot of the function {step.__qualname__}")
    return found


def _step(name: str, fields: frozenset[str]) -> Any:
    step = without(name, fields) if name else unmoved
    if step is None:
        raise ValueError(name)
    return step


def _error_of(error: errors.InputError) -> tuple[object, ...]:
    return error.args


def _error(file: str, reason: str, line: int | None, field: str | None, hint: str) -> Any:
    return errors.InputError(file, reason, line=line, field=field, hint=hint)


STATE: Final = Known(
    _KINDS,
    remade=(
        Remade(compile.Compiled, _mode_of, _compiled, _inner),
        Remade(FunctionType, _step_of, _step),
        Remade(errors.InputError, _error_of, _error),
    ),
    constants={"canonical": records.CANONICAL, "nothing": NOTHING, "usual": unusual.USUAL},
)
"""The state of the monitor of one mode, and what it is judged by."""
