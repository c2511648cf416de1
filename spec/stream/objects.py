"""Finds the claims that a key belongs to: objects by their ids, and content keys by the objects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from spec.events.canonical import Event
from spec.stream.breaks import Contradiction
from spec.stream.claim import Claim
from spec.stream.codes import Code
from spec.stream.pool import Content, Key, Object, Pool

__all__ = ["Objects"]


class Objects:
    """The objects of a stream, the claims on each, and the objects that hold each content.

    `forgot_keys` says that an object was forgotten whose keys had been stated.

    Args:
        most: how many objects without a claim are remembered, beside those that `_is_needed` keeps.
    """

    def __init__(self, pool: Pool, most: int) -> None:
        self._pool, self._most, self.forgot_keys = pool, most, False
        self._by_id: dict[str, list[Object]] = {}
        self._idle: dict[Object, None] = {}
        self._users: dict[Content | Key, dict[Object, list[int]]] = {}
        self.on: dict[Object, dict[Claim, None]] = {}

    # Objects.

    def meant(self, event: Event) -> Object | None:
        """The object that an event names, made if it is new (`called`); None if it names none."""
        if event.object_id is None:
            return None
        return self.called(event.object_id, event.cache_identity, event.token_map)

    def called(self, name: str, identity: str | None, token_map: str | None) -> Object:
        """The object of this id that agrees with what else is stated, a new one if there is none.

        Raises:
            Contradiction: it may be either of two.
        """
        found = [o for o in self._by_id.get(name, ()) if o.agrees(identity, token_map)]
        if len(found) > 1:
            raise Contradiction(Code.OBJECT_AMBIGUOUS, f"two objects are called {name}")
        if found:
            return found[0]
        for oldest in [*islice(self._idle, 2)]:  # two, so that their number sinks again
            if len(self._idle) >= self._most:
                del self._idle[oldest]
                if self._is_needed(oldest):
                    self._idle[oldest] = None
                else:
                    self._forget(oldest)
        obj = Object(name, identity, token_map)
        self._by_id.setdefault(name, []).append(obj)
        self._idle[obj] = None
        return obj

    def _is_needed(self, obj: Object) -> bool:
        """Whether a block or a copy is of a key that no other object has.

        So there are no more such objects than blocks and copies.
        """
        own = (name for name in obj.contents if len(self._users.get(name, ())) == 1)
        keys = (Key(obj.identity, group, name) for name in own for group in self._pool.groups)
        places = (Key(obj, *place) for place in obj.places)
        return any(map(self._pool.anywhere, chain(keys, places)))

    def _forget(self, obj: Object) -> None:
        self.forgot_keys |= bool(obj.contents or obj.same or obj.shared)
        self._unlist(obj)
        named = self._by_id.get(obj.object_id or "", [])
        if obj in named:
            named.remove(obj)
            if not named:
                del self._by_id[obj.object_id or ""]

    def enlist(self, obj: Object) -> None:
        """List an object under the contents that it holds."""
        for position, name in _contents(obj):
            self._list(obj, position, name)

    def _list(self, obj: Object, position: int, name: Content | Key) -> None:
        self._users.setdefault(name, {}).setdefault(obj, []).append(position)

    def _unlist(self, obj: Object) -> None:
        for _, name in _contents(obj):
            objects = self._users.get(name, {})
            objects.pop(obj, None)
            if not objects:
                self._users.pop(name, None)

    # Claims.

    def join(self, claim: Claim) -> None:
        """A claim is on its object."""
        self._idle.pop(claim.obj, None)
        self.on.setdefault(claim.obj, {})[claim] = None

    def leave(self, claim: Claim) -> None:
        """A claim is no longer followed."""
        claims = self.on.get(claim.obj, {})
        claims.pop(claim, None)
        if claims:
            return
        self.on.pop(claim.obj, None)
        if claim.obj.object_id is None:
            self._unlist(claim.obj)
        else:
            self._idle[claim.obj] = None

    def owners(self, key: Key) -> list[tuple[Claim, int]]:
        """The claims that a key belongs to, each with the position."""
        of, on = key.of, self.on
        if isinstance(of, Object):
            places = {of: [int(key.name)], **self._users.get(key, {})}
        else:
            places = self._users.get(key.name, {})
            places = {o: found for o, found in places.items() if of in (o.identity, None)}
        return [
            (claim, position)
            for obj, positions in places.items()
            for claim in on.get(obj, ())
            for position in positions
            if position < claim.extent
        ]

    def sharing(self, obj: Object) -> list[Claim]:
        """The claims on an object, and on those that have a key in common with it."""
        objects = {obj: None}
        keys = [obj.key(0, at) for at in range(len(obj.contents))]
        keys += [Key(obj, group, at) for group, at in obj.places]
        for key in (*keys, *obj.same.values()):
            objects.update(dict.fromkeys(self._users.get(_indexed(key), ())))
        return [claim for each in objects for claim in self.on.get(each, ())]

    # Contents.

    def identity_of(self, content: Content) -> str | None:
        """The cache identity of the objects that hold a content, if any."""
        found = (obj.identity for obj in self._users.get(content, ()))
        return next((identity for identity in found if identity is not None), None)

    def state(self, obj: Object, contents: tuple[Content, ...], pool: Pool) -> bool:
        """The first positions of an object hold these; what was stated of positions is renamed.

        Returns:
            Whether that is news.

        Raises:
            Contradiction: other contents were stated, or one of them under another identity.
        """
        known = len(obj.contents)
        if contents[:known] != obj.contents[: len(contents)]:
            raise _contradicts("two contents of one position of an object are stated")
        more = contents[known:]
        if not more:
            return False
        if obj.identity is None:
            raise _contradicts("keys of an object are stated without its cache identity")
        if len(set(contents)) < len(contents):
            raise _contradicts("an object has one content at two of its positions")
        self._agree(obj, more)
        places = [(g, at) for g, at in obj.places if known <= at < len(contents)]
        renamed = [(obj.key(g, at), Key(obj.identity, g, contents[at])) for g, at in places]
        if any(not isinstance(old.of, Object) and old.name != new.name for old, new in renamed):
            raise _contradicts("a block held two contents of one position of an object")
        renamed += [
            (Key(None, g, name), Key(obj.identity, g, name)) for g in pool.groups for name in more
        ]
        obj.contents = contents
        obj.places.difference_update(places)
        for position, name in enumerate(more, known):
            self._list(obj, position, name)
        for old, new in renamed:
            self._relist(old, new)
        pool.rename(renamed)
        return True

    def _relist(self, old: Key, new: Key) -> None:
        """Give another key to a position, and to the positions of other objects that share its key.

        Positions whose content is stated keep the key of that content.
        """
        if not isinstance(old.of, Object):
            return
        users = self._users.pop(old, {})
        for obj, positions in {**users, old.of: [int(old.name)]}.items():
            for position in positions:
                if position >= len(obj.contents):
                    obj.same[old.group, position] = new
                    self._list(obj, position, _indexed(new))

    def unite(self, one: Key, other: Key, pool: Pool) -> Object:
        """One block holds both: a position has the key of the other from now on.

        Returns:
            The object of the position.

        Raises:
            Contradiction: they cannot be one content.
        """
        if not isinstance(other.of, Object):
            one, other = other, one
        obj, position = other.of, other.name
        if not isinstance(obj, Object) or one.group != other.group:
            raise Contradiction(Code.BLOCK_HOLDS_TWO, "a block holds two contents")
        if isinstance(one.of, Object):
            fits = one.of is not obj and one.name == position
            fits = fits and one.of.agrees(obj.identity, None)
        else:
            places = (at for o, at in self._users.get(one.name, {}).items() if o.identity == one.of)
            fits = obj.identity in (None, one.of) and any(position in at for at in places)
        if not fits:
            raise Contradiction(Code.BLOCK_HOLDS_TWO, "a block holds two contents")
        if isinstance(one.of, Object):
            one.of.shared.add((one.group, int(one.name)))
        self._relist(other, one)
        pool.rename([(other, one)])
        return obj

    def _agree(self, obj: Object, contents: tuple[Content, ...]) -> None:
        for content in contents:
            for other in self._users.get(content, ()):
                if None not in (obj.identity, other.identity) and obj.identity != other.identity:
                    both = f"{other.identity} and {obj.identity}"
                    raise _contradicts(
                        f"the key {content} is stated under two cache identities: {both}"
                    )


def _contradicts(text: str) -> Contradiction:
    return Contradiction(Code.KEYS_CONTRADICT, text)


def _indexed(key: Key) -> Content | Key:
    """What the objects that hold a key are listed under."""
    return key if isinstance(key.of, Object) else key.name


def _contents(obj: Object) -> Iterator[tuple[int, Content | Key]]:
    """The positions of an object, each with what it is listed under there."""
    yield from enumerate(obj.contents)
    yield from ((at, _indexed(key)) for (_, at), key in obj.same.items())
