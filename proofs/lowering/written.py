"""Reads a Z3 model as a readable descriptor that the schema admits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml
import z3

from proofs.lowering.results import Case, Counterexample
from proofs.lowering.symbols import ABSENT, value
from spec.claims.states import Mode
from spec.contract.modes import Bundle, ConflictAction, Depth
from spec.contract.obligations import OBLIGATIONS
from spec.lowering.depths import LADDER
from spec.lowering.descriptor import SCHEMA, Descriptor
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.signals import Signal
from spec.lowering.vocabulary import AnchorKind, Basis, ClaimScope, Label, Order, Scope, Status

if TYPE_CHECKING:
    from enum import StrEnum

    from proofs.lowering.encoding import Relation
    from proofs.lowering.logic import Expr
    from proofs.lowering.symbols import Anchor, Item
    from proofs.lowering.theorems import Theorem

__all__ = ["counterexample"]

_KNOWN: Final = {"source": "https://example.org", "note": "found by the solver"}


def counterexample(theorem: Theorem, model: Expr) -> Counterexample:
    """The row or the two rows of a theorem, as a model has them."""
    row = theorem.before.row
    mode = _Reader(model).member(row.mode, Mode)
    contract = _Reader(model).holds(row.contract)
    after = None if theorem.after is None else _case(theorem.after, model, Mode(mode))
    return Counterexample(
        mode=Mode(mode),
        bundle=Bundle.CONTRACT if contract else Bundle.PAPER,
        row=_case(theorem.before, model, Mode(mode)),
        after=after,
    )


def _case(of: Relation, model: Expr, mode: Mode) -> Case:
    read = _Reader(model)
    described = _Writer(read, of, mode)
    shows = read.holds(of.described.taken)
    return Case(
        depth=Depth(read.member(of.row.depth, Depth)),
        labels=[str(label) for label in Label if read.holds(of.is_label(label))],
        descriptor=described.text(),
        shows=[n for n in OBLIGATIONS if shows and read.holds(of.described.shown[n])],
    )


class _Reader:
    """The values of terms in a model, with model completion."""

    def __init__(self, model: Expr) -> None:
        self._model = model

    def holds(self, term: Expr) -> bool:
        return bool(z3.is_true(self._model.eval(term, model_completion=True)))

    def member(self, term: Expr, kind: type[StrEnum]) -> str:
        """The member that a term stands for; `ABSENT` for none."""
        found = self._model.eval(term, model_completion=True)
        names = [*map(str, kind), *([ABSENT] if kind in (ClaimScope, Basis) else [])]
        return next(n for n in names if found.eq(value(kind, None if n == ABSENT else n)))


class _Flow(dict[str, Any]):
    """A statement, which is written on one line."""


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes descriptors as the shipped ones are."""


def _on_one_line(dumper: _Dumper, flow: _Flow) -> Expr:
    return dumper.represent_mapping("tag:yaml.org,2002:map", flow, flow_style=True)


_Dumper.add_representer(_Flow, _on_one_line)


class _Writer:
    """Writes a descriptor, statement by statement. Equal anchors are merged."""

    def __init__(self, read: _Reader, of: Relation, mode: Mode) -> None:
        self._read, self._described, self._mode = read, of.described, mode
        self._anchors: dict[str, dict[str, Any]] = {}

    def text(self) -> str:
        """The YAML of a descriptor, which was validated."""
        body = {
            "native": self._items(Depth.NONE),
            "adapters": [
                {
                    "depth": depth.value,
                    "preconditions": self._holds(depth),
                    "evidence": self._items(depth),
                }
                for depth in LADDER[1:]
                if self._read.holds(self._described.offered[depth])
            ],
            "signals": self._signals(),
            "observations": self._observations(),
            "forbidden": self._forbidden(),
        }
        document = {
            "schema": SCHEMA,
            "name": "counterexample",
            "runtime": "any",
            "version": "any",
            "about": "Found by the solver.",
            "anchors": self._anchors,
            **{name: part for name, part in body.items() if part},
        }
        Descriptor.model_validate(document)
        text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=1000)
        return text

    def _items(self, place: Depth) -> list[dict[str, Any]]:
        found = []
        for name in OBLIGATIONS:
            item = self._described.items[place, name]
            if self._read.holds(item.there):
                found.append(self._item(name, item))
            if self._read.holds(self._described.others_count[place, name]):
                found.append(self._other(name, Status.SUPPORTED, Scope.LITMUS_TRACE))
            elif self._read.holds(self._described.others_relate[place, name]):
                found.append(self._other(name, Status.PARTIAL, Scope.DOCS_ONLY))
        return found

    def _item(self, name: str, item: Item) -> dict[str, Any]:
        modes = [self._mode] if self._read.holds(item.named) else [self._other_mode()]
        return self._stated(
            name,
            modes,
            self._read.member(item.status, Status),
            self._read.member(item.scope, Scope),
            self._anchor(item.anchor, RELEVANT_ORDER[name]),
        )

    def _other(self, name: str, status: Status, scope: Scope) -> dict[str, Any]:
        ran = {
            "kind": AnchorKind.TRACE.value,
            **_KNOWN,
            "order": [RELEVANT_ORDER[name].value],
            "claim": ClaimScope.SAME_CLAIM.value,
            "basis": Basis.CLAIM_EVENTS.value,
        }
        return self._stated(name, [self._mode], status, scope, {"anchor": self._named(ran)})

    def _stated(
        self, name: str, modes: list[Mode], status: str, scope: str, anchor: dict[str, str]
    ) -> dict[str, Any]:
        statement: dict[str, Any] = {"obligation": name, "modes": [m.value for m in modes]}
        statement |= {"status": str(status), "scope": str(scope), **anchor}
        if name == "explicit_conflict_action":
            statement["action"] = ConflictAction.REFUSE.value
        return _Flow(statement)

    def _other_mode(self) -> Mode:
        return next(mode for mode in Mode if mode is not self._mode)

    def _anchor(self, anchor: Anchor, order: Order) -> dict[str, str]:
        if not self._read.holds(anchor.there):
            return {}
        fields: dict[str, Any] = {"kind": self._read.member(anchor.kind, AnchorKind), **_KNOWN}
        if self._read.holds(anchor.order):
            fields["order"] = [order.value]
        for name, kind in (("claim", ClaimScope), ("basis", Basis)):
            found = self._read.member(getattr(anchor, name), kind)
            if found != ABSENT:
                fields[name] = found
        return {"anchor": self._named(fields)}

    def _named(self, anchor: dict[str, Any]) -> str:
        for name, known in self._anchors.items():
            if known == anchor:
                return name
        name = f"{anchor['kind']}{len(self._anchors) + 1}"
        self._anchors[name] = _Flow(anchor)
        return name

    def _plain(self, anchored: Expr) -> dict[str, str]:
        if not self._read.holds(anchored):
            return {}
        return {"anchor": self._named({"kind": AnchorKind.DOCS.value, **_KNOWN})}

    def _holds(self, depth: Depth) -> list[dict[str, str]]:
        return [
            _Flow({"precondition": each.value, **self._plain(seen.anchored)})
            for (of, each), seen in self._described.holds.items()
            if of is depth and self._read.holds(seen.there)
        ]

    def _signals(self) -> list[dict[str, str]]:
        return [
            _Flow(
                signal=signal.value,
                status=str(self._read.member(seen.status, Status)),
                **self._plain(seen.anchored),
            )
            for signal, seen in self._described.signals.items()
            if self._read.holds(seen.there)
        ]

    def _observations(self) -> list[dict[str, str]]:
        return [
            _Flow({"atom": atom.value, **found})
            for atom, anchor in self._described.atoms.items()
            if (found := self._anchor(anchor, Order.PRESSURE_BEFORE_LOSS))
        ]

    def _forbidden(self) -> list[dict[str, str]]:
        return [
            _Flow(
                signal=Signal.BLOCK_EVENTS.value,
                mode=self._mode.value,
                up_to=up_to.value,
                because="found by the solver",
                **self._plain(z3.BoolVal(True)),
            )
            for up_to, there in self._described.forbidden.items()
            if self._read.holds(there)
        ]
