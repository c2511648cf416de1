"""The policies that a simulation compares, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from models.simulation.policies.base import Policy
from models.simulation.policies.caching import NoReuse, Oracle
from models.simulation.policies.claims import Claims
from models.simulation.policies.kept import Offload, Retention
from models.simulation.policies.pins import Context, Pin
from models.simulation.policies.shares import CompletePrefix, FairShare, ValueDensity
from spec.language.errors import SpecError
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from models.simulation.request import Workload

__all__ = ["POLICIES", "Chosen", "chosen"]

_ALL: Final = (
    Policy, NoReuse, Pin, Context, Retention, Offload, FairShare, CompletePrefix, ValueDensity,
    Claims, Oracle,
)  # fmt: skip

POLICIES: Final[dict[str, type[Policy]]] = {each.name: each for each in _ALL}


class Chosen(NamedTuple):
    """A policy with its options, as a person wrote it."""

    text: str
    policy: type[Policy]
    options: Any

    def made(self, workload: Workload, blocks: int) -> Callable[[], Policy]:
        """A function that makes the policy of one more engine."""
        return self.policy.made(workload, blocks, self.options)


def chosen(text: str) -> Chosen:
    """Read `NAME` or `NAME:OPTION=VALUE,OPTION=VALUE`.

    Raises:
        SpecError: there is no such policy or option, or a value is not of its type or range.
    """
    name, _, rest = text.partition(":")
    name = resolve(name, POLICIES, what="policy")
    policy = POLICIES[name]
    text = ":".join(filter(None, (name, rest.strip(","))))
    return Chosen(text, policy, options_of(policy, text, rest))


def options_of(policy: type[Policy], text: str, rest: str) -> Any:
    """The options of a policy, of `OPTION=VALUE,OPTION=VALUE`."""
    names = policy.Options.__struct_fields__
    takes = f"options of {policy.name}: {', '.join(names) or 'none'}"
    given: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        option, equals, value = part.partition("=")
        if not equals or option in given or option not in names:
            raise SpecError(f"{part!r} is no option of {text!r}", takes)
        given[option] = value
    try:
        return msgspec.convert(given, policy.Options, strict=False)
    except msgspec.ValidationError as problem:
        raise SpecError(f"{text!r}: {problem}", takes) from None
