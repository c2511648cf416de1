"""Tracks what is stated of the contents of objects: what one claim states, all on its object have.

It is known of a claim as far as the claim reaches. Where two contents of one position of an object
are stated, these contradict each other (`spec.projection.contents`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.pool.objects import noted_on

if TYPE_CHECKING:
    from collections.abc import Hashable

    from monitor.evaluate.claim import ClaimRun
    from monitor.pool.objects import Objects

__all__ = ["Contents"]

_ALONE: Final = 2  # claims of which one states contents, or none does


def _differ(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether these contents differ at any position."""
    return any(here != there for here, there in zip(one, other, strict=False))


class _Object:
    """The claims on one object, in one cache, by the contents that are known of them; and those of
    which that is not all, by how much it is.

    All contents are prefixes of the `longest`, unless some differ.
    """

    __slots__ = ("by_keys", "differ", "lacking", "longest")

    def __init__(self) -> None:
        self.by_keys: dict[tuple[str, ...], dict[str, ClaimRun]] = {}
        self.lacking: dict[int, dict[str, ClaimRun]] = {}
        self.longest: tuple[str, ...] = ()
        self.differ = False

    def put(self, claim: ClaimRun) -> None:
        """A claim is on the object, with the contents that are known of it."""
        keys = claim.keys
        if keys:
            self.by_keys.setdefault(keys, {})[claim.claim_id] = claim
            self.differ = self.differ or _differ(keys, self.longest)
            self.longest = max(self.longest, keys, key=len)
        if len(keys) < claim.extent:
            self.lacking.setdefault(len(keys), {})[claim.claim_id] = claim

    def drop(self, claim_id: str, keys: tuple[str, ...]) -> None:
        """A claim, of which these contents were known, is there no more."""
        for known in (self.by_keys.get(keys), self.lacking.get(len(keys))):
            if known is not None:
                known.pop(claim_id, None)
        if not self.by_keys.get(keys, True):
            del self.by_keys[keys]
        if not self.lacking.get(len(keys), True):
            del self.lacking[len(keys)]

    def stated(self, claim: ClaimRun) -> list[tuple[str, ...]]:
        """The contents that are known of the others, as far as they say more than those of one that
        is there.
        """
        if not self.differ and self._has(self.longest, claim):
            return [] if claim.keys == self.longest else [self.longest]
        there = [keys for keys in [*self.by_keys] if self._has(keys, claim)]
        self.longest = max(there, key=len, default=())
        self.differ = any(_differ(self.longest, keys) for keys in there)
        return there if self.differ else [self.longest]

    def _has(self, keys: tuple[str, ...], claim: ClaimRun) -> bool:
        """Whether these contents are known of this claim, or of one that counts; those that do not
        are there again once they come again.
        """
        known, over, found = self.by_keys.get(keys, {}), list[str](), False
        for name in reversed(known):
            if found := known[name] is claim or known[name].counts:
                break
            over.append(name)
        for name in over:
            del known[name]
        if not known:
            self.by_keys.pop(keys, None)
        return found


def _others(known: dict[str, ClaimRun], claim: ClaimRun) -> list[ClaimRun]:
    """The others of these claims that count."""
    return [each for each in known.values() if each is not claim and each.counts]


class Contents:
    """What is stated of the contents of objects that several claims are on, of which any states
    contents.

    Args:
        objects: knows which claims are on which object.
    """

    def __init__(self, objects: Objects) -> None:
        self._known = objects
        self._objects: dict[bytes, dict[Hashable, _Object]] = {}
        self._where: dict[str, tuple[bytes, Hashable, tuple[str, ...]]] = {}  # a claim was put
        self._adopted: set[str] = set()  # claims of which others stated the contents

    def are_about(self, claim: ClaimRun) -> bool:
        """Whether anything is stated of the contents of a claim's object, and others are on it."""
        return bool(self._objects) and noted_on(claim) in self._objects

    def may_state(self, claim: ClaimRun) -> bool:
        """Whether a claim did not state its own contents yet."""
        return not claim.keys or claim.claim_id in self._adopted

    def state(self, claim: ClaimRun, keys: tuple[str, ...]) -> None:
        """A claim states its own contents, for the first time."""
        self._adopted.discard(claim.claim_id)
        if claim.keys[: len(keys)] != keys:
            claim.keys = keys

    def note(self, claim: ClaimRun) -> _Object | None:
        """A claim is on its object; what is known of the contents of that, if anything."""
        if (not self._objects and self._known.is_alone(claim)) or (name := noted_on(claim)) is None:
            return None
        if (there := self._objects.get(name)) is None:
            if self._known.is_alone(claim):
                return None
            beside = self._known.on(name)
            # Of more than two claims the others did not state any: else there would be this.
            some = beside if len(beside) <= _ALONE else (claim,)
            if not any(each.keys for each in some):
                return None
            there = self._objects[name] = {}
            for each in beside:
                self._put(name, each)
        self._put(name, claim)
        return there[claim.object]

    def _put(self, name: bytes, claim: ClaimRun) -> None:
        self._drop(claim.claim_id)
        self._objects[name].setdefault(claim.object, _Object()).put(claim)
        self._where[claim.claim_id] = name, claim.object, claim.keys

    def _drop(self, claim_id: str) -> None:
        if (where := self._where.pop(claim_id, None)) is not None:
            name, on, keys = where
            self._objects[name][on].drop(claim_id, keys)

    def forget(self, claim: ClaimRun, *, last: bool) -> None:
        """A claim is forgotten.

        Args:
            last: no other is on its object.
        """
        self._adopted.discard(claim.claim_id)
        self._drop(claim.claim_id)
        if last and self._objects and (name := noted_on(claim)) is not None:
            self._objects.pop(name, None)

    def disputed(
        self, claim: ClaimRun, on: _Object | None, before: tuple[str, ...]
    ) -> list[ClaimRun]:
        """The claims of which two contents of one position are stated, now that this one states its
        own, or is on an object, or is longer there.

        Args:
            before: the contents that it had by what others stated.
        """
        found: list[ClaimRun] = []
        mixed = _differ(before, claim.keys)
        if on is not None:
            stated = on.stated(claim)
            for keys in stated:
                if _differ(keys, claim.keys):
                    found += _others(on.by_keys[keys], claim)
            begun = [keys[: claim.extent] for keys in stated]
            longest = max(begun, key=len, default=())
            mixed = mixed or any(_differ(longest, keys) for keys in begun)
        return [claim, *found] if found or mixed else []

    def adopt(self, claim: ClaimRun, on: _Object) -> list[ClaimRun]:
        """The claim has the contents that others on its object state, and they have those that it
        states, each as far as it reaches. The others that have more than before.
        """
        keys = max((claim.keys, *(k[: claim.extent] for k in on.stated(claim))), key=len)
        if keys != claim.keys:
            self._extend(claim, keys)
        lengths = sorted(length for length in on.lacking if length < len(claim.keys))
        more = [each for length in lengths for each in _others(on.lacking[length], claim)]
        for each in more:
            self._extend(each, claim.keys[: each.extent])
        return more

    def _extend(self, claim: ClaimRun, keys: tuple[str, ...]) -> None:
        if self.may_state(claim):
            self._adopted.add(claim.claim_id)
        claim.keys = keys
        name = noted_on(claim)
        assert name is not None
        self._put(name, claim)
