"""The lowering relation and its tables on random descriptors, beyond the universe."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.lowering.universe import Universe, read
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.supply import Atom, Depth, Order
from spec.lowering.depths import LADDER, PRECONDITIONS
from spec.lowering.descriptor import SCHEMA, Descriptor
from spec.lowering.evidence import SCHEMA as EVIDENCE_SCHEMA
from spec.lowering.evidence import EvidenceFile
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.relation import lower
from spec.lowering.signals import Signal
from spec.lowering.vocabulary import AnchorKind, Basis, ClaimScope, Label, Scope, Status

Document = dict[str, Any]

GOOD = {
    "kind": "trace",
    "path": "p",
    "note": "n",
    "order": [order.value for order in Order],
    "claim": "same_claim",
    "basis": "claim_events",
}


@st.composite
def anchors(draw: st.DrawFn) -> dict[str, Document]:
    """A good anchor, and some others."""
    found: dict[str, Document] = {"good": GOOD}
    for number in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(AnchorKind))
        anchor: Document = {"kind": kind.value, "source": "s", "note": "n"}
        if kind in (AnchorKind.TRACE, AnchorKind.ARTIFACT):
            anchor["order"] = draw(st.lists(st.sampled_from([o.value for o in Order]), max_size=8))
            anchor["claim"] = draw(st.sampled_from([*(c.value for c in ClaimScope), None]))
            anchor["basis"] = draw(st.sampled_from([*(b.value for b in Basis), None]))
        found[f"a{number}"] = anchor
    return found


@st.composite
def items(draw: st.DrawFn, mode: Mode, names: list[str], known: list[str]) -> Document:
    """Mostly an item that counts, with anything of it changed."""
    item: Document = {
        "obligation": draw(st.sampled_from(names)),
        "modes": [mode.value],
        "status": "supported",
        "scope": "litmus_trace",
        "anchor": "good",
        "action": "refuse",
    }
    changes: Document = {
        "modes": draw(st.lists(st.sampled_from([m.value for m in Mode]), min_size=1, max_size=2)),
        "status": draw(st.sampled_from(Status)).value,
        "scope": draw(st.sampled_from(Scope)).value,
        "anchor": draw(st.sampled_from([*known, None])),
    }
    changed = draw(st.lists(st.sampled_from(sorted(changes)), max_size=2))
    return {**item, **{name: changes[name] for name in changed}}


@st.composite
def rows(draw: st.DrawFn) -> tuple[Descriptor, Mode, EvidenceFile | None]:
    """A descriptor made for one mode, and perhaps evidence."""
    mode = draw(st.sampled_from(Mode))
    names = list(MODES[mode].names())
    known = draw(anchors())
    said = st.sampled_from([*known, None])
    held = st.sampled_from([True] * 12 + [False])

    def stated(most: int) -> list[Document]:
        some = draw(st.lists(items(mode, names, list(known)), max_size=most))
        whole = draw(st.sampled_from([(), names, names[1:]]))
        good = {"modes": [mode.value], "status": "supported", "scope": "conformance_trace"}
        every = [{**good, "obligation": o, "anchor": "good", "action": "refuse"} for o in whole]
        return [*some, *every] if draw(st.booleans()) else [*every, *some]

    deeper = st.sampled_from([*LADDER[1:], Depth.BACKEND_PATCH])
    depths = draw(st.lists(deeper, unique=True, max_size=3))
    adapters = [
        {
            "depth": depth.value,
            "preconditions": [
                {"precondition": each.value, "anchor": "good" if draw(held) else draw(said)}
                for each in PRECONDITIONS[depth]
                if draw(held)
            ],
            "evidence": stated(4),
        }
        for depth in depths
    ]
    document = {
        "schema": SCHEMA,
        "name": "d",
        "runtime": "r",
        "version": "v",
        "about": "a",
        "anchors": known,
        "native": stated(4) if draw(st.booleans()) else [],
        "adapters": adapters,
        "signals": [
            {"signal": s.value, "status": draw(st.sampled_from(Status)).value, "anchor": draw(said)}
            for s in draw(st.lists(st.sampled_from(Signal), unique=True, max_size=3))
        ],
        "observations": [
            {"atom": a.value, "anchor": "good" if draw(held) else draw(said)}
            for a in Atom
            if draw(held)
        ],
        "forbidden": [
            {
                "signal": "pin",
                "mode": draw(st.sampled_from([mode, Mode.HARD_PROTECTED])).value,
                "up_to": draw(st.sampled_from(Depth)).value,
                "because": "b",
                "anchor": "good",
            }
            for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2])))
        ],
    }
    return Descriptor.model_validate(document), mode, draw(evidence(mode, names))


@st.composite
def evidence(draw: st.DrawFn, mode: Mode, names: list[str]) -> EvidenceFile | None:
    """Evidence for a mode, or another, or none."""
    if draw(st.booleans()):
        return None
    shown = [
        {
            "obligation": name,
            "file": 0,
            "sequences": [0],
            "claims": ["c"],
            "verdict": "satisfied",
            "order": [draw(st.sampled_from([RELEVANT_ORDER[name], Order.LIFECYCLE])).value],
        }
        for name in draw(st.sampled_from([names, names[1:], names[:2]]))
    ]
    document = {
        "schema": EVIDENCE_SCHEMA,
        "mode": draw(st.sampled_from([mode, mode, Mode.DEMOTABLE])).value,
        "bundle": "contract",
        "spec": "s",
        "files": [{"path": "t", "sha256": "0" * 64}],
        "shown": shown,
    }
    return EvidenceFile.model_validate(document)


class TestDifferential:
    """Random descriptors with several items about one thing, at several depths."""

    def test_equal(self, universe: Universe) -> None:
        """The tables give every row of the mode the label that `lower` gives, and miss the same, at
        each depth; and every label is met."""
        met: set[Label] = set()

        @settings(max_examples=60, derandomize=True)
        @given(rows())
        def compared(row: tuple[Descriptor, Mode, EvidenceFile | None]) -> None:
            descriptor, mode, shown = row
            for bundle, depth in product(Bundle, LADDER):
                found = lower(descriptor, mode, depth, bundle, shown)
                case = read(descriptor, mode, bundle, depth, shown)
                assert (found.label, found.subtype, found.missing) == universe.answer(case)
                met.add(found.label)

        compared()
        assert set(Label) == met
