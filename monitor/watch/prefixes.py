"""Finds the keys of registered prefixes.

Blocks are matched from the beginning of a prompt on by their tokens. A block hash is used as a name
only: it is not evidence of the content. Where a store states no tokens, its hashes are compared
with those that the registry's hash scheme gives. Such a hash is evidence of the content. That no
hash is equal is no evidence: the scheme, or its seed, may be another.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from monitor.input.kv_events.facts import Content
    from monitor.watch.hashing import Hashing
    from monitor.watch.registry import Watched

__all__ = ["NO_TOKENS", "Key", "Lack", "Node", "Prefixes", "Tree"]

Key: TypeAlias = int | str

NO_TOKENS: Final = "blocks are stored without tokens"

_TWO_CONTENTS: Final = "one hash stands for two contents"
_MOST_FAULTS: Final = 10


class Lack(Enum):
    """What a store lacks, so that it cannot be compared with the prefixes."""

    TOKENS = "tokens"
    SIZE = "the size of the registry"
    EXTRAS = "adapters and salts"
    PART = "tokens of each of its blocks"


class _Fault(NamedTuple):
    """Why a store cannot be compared with the prefixes."""

    lack: Lack
    why: str


_NO_EXTRAS: Final = _Fault(Lack.EXTRAS, "events do not state adapters and salts")
_NO_OWN: Final = _Fault(Lack.PART, "blocks are stored without tokens of their own")


class Node:
    """A block of registered prefixes, at a position, with the claims that need it.

    `children` are the blocks after it, by their tokens, and by what their content depends on beside
    tokens, which `extra` is of this block.
    """

    __slots__ = ("children", "claims", "extra", "position")

    def __init__(self, position: int, extra: tuple[str, ...] = ()) -> None:
        self.position, self.extra = position, extra
        self.children: dict[tuple[int, ...], dict[tuple[str, ...], Node]] = {}
        self.claims: list[str] = []


class Tree:
    """The blocks of all registered prefixes.

    Args:
        size: tokens of a block.
        hashing: the hash scheme of the registry, if it states one.

    Attributes:
        paths: those of each claim, in order.
        hashed: those with each key that the hash scheme gives; several, if one hash stands for
            several contents.
    """

    def __init__(
        self, claims: Mapping[str, Watched], size: int, hashing: Hashing | None = None
    ) -> None:
        self.size, self.root, self.hashing = size, Node(-1), hashing
        self.hashed: defaultdict[Key, set[Node]] = defaultdict(set)
        self.paths = {claim.claim_id: [*self._path(claim)] for claim in claims.values()}

    def _path(self, claim: Watched) -> Iterator[Node]:
        node = self.root
        for position, tokens in enumerate(claim.blocks):
            variants = node.children.setdefault(tokens, {})
            extra = claim.extra(position)
            if extra not in variants:
                variants[extra] = Node(position, extra)
            node = variants[extra]
            node.claims.append(claim.claim_id)
            for key in claim.keys[position] if claim.keys else ():
                self.hashed[key].add(node)
            yield node


class Prefixes:
    """The keys that one stream gives to the blocks of registered prefixes.

    Attributes:
        nodes: the blocks whose key is known, by the key.
        former: the same of the run before, or of this one before its keys contradicted each other.
        blind: groups of caches in which a store could not be compared with the prefixes.
        faults: why not, of all runs.
        veiled: groups of caches in which a block was stored without tokens, under a hash that the
            scheme gives to no block of a prefix, or with no size.
        recognised: stores of blocks of prefixes that were recognised by their hash.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.nodes: dict[Key, Node] = {}
        self.former: dict[Key, Node] = {}
        self._keys: dict[Node, Key] = {}
        self.blind = set[int]()
        self.faults: dict[_Fault, None] = {}
        self.veiled = set[int]()
        self.recognised = 0
        self._doubtful = set[tuple[int, Node]]()
        self._named: list[Node] = []

    def hides(self, group: int, node: Node) -> bool:
        """Whether a block that was not stated since all was forgotten may have been stored."""
        veiled = node not in self._keys or (group, node) in self._doubtful
        return group in self.blind or (group in self.veiled and veiled)

    def named(self) -> list[Node]:
        """The blocks whose key was learned since the last call."""
        found, self._named = self._named, []
        return found

    def key(self, node: Node) -> Key | None:
        """The key of a block, if it is known."""
        return self._keys.get(node)

    def forget(self) -> None:
        """The keys are of another run of the engine: hashes may have another seed in each."""
        if self.nodes:
            self.former, self.nodes = self.nodes, {}
        self._keys.clear()
        self.blind.clear()
        self.veiled.clear()
        self._doubtful.clear()

    def learn(self, contents: Sequence[Content]) -> str:
        """Learn keys from the stores of one batch.

        Returns:
            Why keys contradict each other, or why a store cannot be compared with the prefixes: for
            each group of caches only once. Otherwise an empty text.
        """
        partial = []
        for content in _parents_first(contents):
            if not content.keys:
                continue
            if self._tree.hashing is not None and _lacks_tokens(content):
                if why := self._recognise(content, self._tree.hashing):
                    return why
                continue
            if fault := self._incomparable(content):
                if self._start(content) is not None and (why := self._miss(content, fault)):
                    return why
                continue
            if len(content.keys) * content.size < len(content.tokens):
                partial.append(content)  # other stores may state the keys that it leaves out
                continue
            found = self._nodes_of(content)
            for place, key in enumerate(content.keys):
                if why := self._name(found[place] if place < len(found) else None, key):
                    return why
        for content in partial:
            unnamed = any(node not in self._keys for node in self._like(content))
            missed = unnamed and not self.nodes.keys() >= {*content.keys}
            if missed and (why := self._miss(content, _NO_OWN)):
                return why
        return ""

    def _incomparable(self, content: Content) -> _Fault | None:
        """Why a store cannot be compared with prefixes; None where it can."""
        if _lacks_tokens(content):
            return _Fault(Lack.TOKENS, NO_TOKENS)
        if content.size != self._tree.size:
            return _of_size(content.size)
        return None if content.extras is not None else _NO_EXTRAS

    def _recognise(self, content: Content, hashing: Hashing) -> str:
        """Learn the keys of a store from its hashes; the result is that of `learn`."""
        extras, size = content.extras, content.size
        # A group of caches with larger blocks takes the hash of the last part of each.
        if size != self._tree.size and (size or content.group):
            return self._miss(content, _of_size(size))
        if not size:
            self.veiled.add(content.group)
        for place, key in enumerate(content.keys):
            named = self.nodes.get(key)
            nodes = self._tree.hashed.get(key) or (() if named is None else (named,))
            if not nodes:
                self.veiled.add(content.group)
                continue
            if extras is None and not hashing.covers_adapters:
                return self._miss(content, _NO_EXTRAS)
            self.recognised += 1
            node, *others = nodes
            if others or (extras is not None and extras[place] != node.extra):
                return _TWO_CONTENTS
            if why := self._name(node, key):
                return why
        return ""

    def _miss(self, content: Content, fault: _Fault) -> str:
        """A store of blocks of a prefix may have been missed; the reason, the first time."""
        if content.group in self.blind:
            return ""
        self.blind.add(content.group)
        if len(self.faults) < _MOST_FAULTS:
            self.faults[fault] = None
        return fault.why

    def _start(self, content: Content) -> Node | None:
        """The block of a prefix that the blocks of a store may follow."""
        node = self._tree.root if content.parent is None else self.nodes.get(content.parent)
        return node if node is not None and node.children else None

    def _blocks(self, content: Content) -> Iterator[tuple[int, ...]]:
        size = self._tree.size
        return (content.tokens[at : at + size] for at in range(0, len(content.tokens), size))

    def _nodes_of(self, content: Content) -> list[Node]:
        """The blocks of registered prefixes that are stored, from the first on."""
        node, found = self._start(content), list[Node]()
        for tokens, extra in zip(self._blocks(content), content.extras or (), strict=True):
            node = node and node.children.get(tokens, {}).get(extra)
            if node is None:
                break
            found.append(node)
        return found

    def _like(self, content: Content) -> Iterator[Node]:
        """The blocks of registered prefixes with the tokens of a store; the extras may differ."""
        start = self._start(content)
        level = [] if start is None else [start]
        for tokens in self._blocks(content):
            level = [each for node in level for each in node.children.get(tokens, {}).values()]
            yield from level

    def _name(self, node: Node | None, key: Key) -> str:
        """Note the key of a block; return why it contradicts earlier keys, or an empty text.

        Args:
            node: the block; None if it is in no registered prefix.
        """
        other = self.nodes.get(key)
        if other is not node:
            if other is not None:
                return _TWO_CONTENTS
            assert node is not None
            if node in self._keys:
                return f"block {node.position} of a prefix has two hashes"
            if node not in self._tree.hashed.get(key, ()):  # so it was not recognised before
                self._doubtful |= {(group, node) for group in self.veiled}
            self._named.append(node)
            self._keys[node] = key
            self.nodes[key] = node
        return ""


def _of_size(size: int) -> _Fault:
    return _Fault(Lack.SIZE, f"blocks have {size} tokens")


def _lacks_tokens(content: Content) -> bool:
    return len(content.tokens) < len(content.keys) * max(content.size, 1)


def _parents_first(contents: Sequence[Content]) -> Iterator[Content]:
    """The stores of one batch, each after those whose keys its first block follows."""
    due = Counter(key for content in contents for key in {*content.keys})
    waiting: defaultdict[Key, list[Content]] = defaultdict(list)
    ready: deque[Content] = deque()
    for content in contents:
        if content.parent is not None and content.parent in due:
            waiting[content.parent].append(content)
        else:
            ready.append(content)
    while ready:
        content = ready.popleft()
        yield content
        for key in {*content.keys}:
            due[key] -= 1
            if not due[key]:
                ready += waiting.pop(key, ())
    yield from chain.from_iterable(waiting.values())
