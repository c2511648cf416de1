"""Defines a naive inference: from a feature of a runtime to a mode, an obligation or an outcome.

An inference is stated beside the model of its runtime. It holds no result: the label follows from
the relation of `spec.lowering`, and what is broken from the runs of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from models.framework.model import Model
from models.framework.shims import Shim
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.lowering.descriptor import Descriptor

__all__ = ["Inference"]


@dataclass(frozen=True)
class Inference:
    """A false inference that a documented feature tempts to.

    Args:
        name: "feature -> conclusion".
        feature: the feature, as the runtime's documentation names it.
        mode: the mode whose obligations the runs are judged by.
        shim: what the reader takes the runtime's calls and messages for.
        model: makes the instance of the model in which a shortest run is searched for.
        tracked: the holder whose claim is judged.
        concludes: what is inferred: `mode`, the name of an obligation, or of an outcome.
        premises: the approximation signals (`spec.lowering.signals`) from which it is inferred.
        also: further premises, any of which must fail, too: descriptors of what was shown.
        row: its row in table 9 of "Fail-Closed Lowering of Resident KV Claims", from 1.
        parent: the inference of the paper that it varies.
        adds: what of the runtime makes it fail, in sentences, where the run alone does not show it.
    """

    name: str
    feature: str
    mode: Mode
    shim: Shim
    model: Callable[[], Model[Any]]
    tracked: str
    concludes: str = "mode"
    premises: tuple[str, ...] = ()
    also: tuple[Descriptor, ...] = ()
    row: int | None = None
    parent: str | None = None
    adds: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        feature: str,
        mode: Mode,
        accepts: str,
        model: Callable[[], Model[Any]],
        tracked: str,
        means: Mapping[str, Kind] | None = None,
        **given: Any,
    ) -> Inference:
        """One whose reader takes a single call for acceptance.

        Args:
            accepts: that call.
            means: what the reader takes messages and other calls for.
        """
        shim = Shim(mode, frozenset({accepts}), means or {})
        return cls(name, feature, mode, shim, model, tracked, **given)
