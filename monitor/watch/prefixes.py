"""Finds the keys of registered prefixes.

Blocks are matched from the beginning of a prompt on by their tokens. A block hash is used as a name
only: it is not evidence of the content.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from monitor.input.kv_events.facts import Content
    from monitor.watch.registry import Watched

__all__ = ["Key", "Node", "Prefixes", "Tree"]

Key: TypeAlias = int | str

_MOST_FAULTS: Final = 10


class Node:
    """A block of registered prefixes, at a position, with the claims that need it.

    `children` are the blocks after it, by their tokens, and by what their content depends on beside
    tokens.
    """

    __slots__ = ("children", "claims", "position")

    def __init__(self, position: int) -> None:
        self.position = position
        self.children: dict[tuple[int, ...], dict[tuple[str, ...], Node]] = {}
        self.claims: list[str] = []


class Tree:
    """The blocks of all registered prefixes; `paths` has those of each claim, in order.

    Args:
        size: tokens of a block.
    """

    def __init__(self, claims: Mapping[str, Watched], size: int) -> None:
        self.size, self.root = size, Node(-1)
        self.paths = {claim.claim_id: [*self._path(claim)] for claim in claims.values()}

    def _path(self, claim: Watched) -> Iterator[Node]:
        node = self.root
        for position, tokens in enumerate(claim.blocks):
            variants = node.children.setdefault(tokens, {})
            extra = claim.extra(position)
            if extra not in variants:
                variants[extra] = Node(position)
            node = variants[extra]
            node.claims.append(claim.claim_id)
            yield node


class Prefixes:
    """The keys that one stream gives to the blocks of registered prefixes.

    Attributes:
        nodes: the blocks whose key is known, by the key.
        former: the same of the run before, or of this one before its keys contradicted each other.
        blind: groups of caches in which a store could not be compared with the prefixes, and why.
        faults: the same reasons, of all runs.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.nodes: dict[Key, Node] = {}
        self.former: dict[Key, Node] = {}
        self._keys: dict[Node, Key] = {}
        self.blind: dict[int, str] = {}
        self.faults: dict[str, None] = {}

    def key(self, node: Node) -> Key | None:
        """The key of a block, if it is known."""
        return self._keys.get(node)

    def forget(self) -> None:
        """The keys are of another run of the engine: hashes may have another seed in each."""
        if self.nodes:
            self.former, self.nodes = self.nodes, {}
        self._keys.clear()
        self.blind.clear()

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
            if why := self._incomparable(content):
                if self._start(content) is not None and (said := self.miss(content.group, why)):
                    return said
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
            if unnamed and not self.nodes.keys() >= {*content.keys}:
                why = "blocks are stored without tokens of their own"
                if said := self.miss(content.group, why):
                    return said
        return ""

    def _incomparable(self, content: Content) -> str:
        """Why a store cannot be compared with prefixes; empty where it can."""
        if len(content.tokens) < len(content.keys) * max(content.size, 1):
            return "blocks are stored without tokens"
        if content.size != self._tree.size:
            return f"blocks have {content.size} tokens"
        return "" if content.extras is not None else "events do not state adapters and salts"

    def miss(self, group: int, why: str) -> str:
        """A store of blocks of a prefix may have been missed; the reason, the first time."""
        if group in self.blind:
            return ""
        self.blind[group] = why
        if len(self.faults) < _MOST_FAULTS:
            self.faults[why] = None
        return why

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
                return "one hash stands for two contents"
            assert node is not None
            if node in self._keys:
                return f"block {node.position} of a prefix has two hashes"
            self._keys[node] = key
            self.nodes[key] = node
        return ""


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
