"""Finds the keys of registered prefixes.

Blocks are matched from the beginning of a prompt on by their tokens. A block hash is used as a name
only: it is not evidence of the content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from monitor.input.kv_events.facts import Content
    from monitor.watch.registry import Watched

__all__ = ["Key", "Node", "Prefixes"]

Key: TypeAlias = int | str

_Content: TypeAlias = tuple[tuple[int, ...], tuple[str, ...]]
"""The tokens of a block, and what its content depends on beside tokens."""

_MOST_FAULTS: Final = 10


class Node:
    """A block of registered prefixes, at a position; `key` is known once an event states it."""

    __slots__ = ("children", "claims", "key", "position")

    def __init__(self, position: int) -> None:
        self.position = position
        self.children: dict[_Content, Node] = {}
        self.claims: list[str] = []
        self.key: Key | None = None


class Prefixes:
    """The blocks of all registered prefixes, and the keys that one stream gives them.

    Attributes:
        nodes: those whose key is known, by it.
        paths: the blocks of each claim, in order.
        blind: groups of caches of which a store could not be compared with the prefixes, and why.
        faults: why stores could not be compared, of all runs.
    """

    def __init__(self, claims: Mapping[str, Watched], size: int) -> None:
        self._size, self._root = size, Node(-1)
        self.nodes: dict[Key, Node] = {}
        self.paths: dict[str, list[Node]] = {}
        self.blind: dict[int, str] = {}
        self.faults: dict[str, None] = {}
        for claim in claims.values():
            self.paths[claim.claim_id] = [*self._path(claim)]

    def _path(self, claim: Watched) -> Iterator[Node]:
        node = self._root
        for position, tokens in enumerate(claim.blocks):
            content = tokens, claim.extra(position)
            if content not in node.children:
                node.children[content] = Node(position)
            node = node.children[content]
            node.claims.append(claim.claim_id)
            yield node

    def forget(self) -> None:
        """The keys are of another run of the engine: hashes may have another seed in each."""
        for node in self.nodes.values():
            node.key = None
        self.nodes.clear()
        self.blind.clear()

    def learn(self, contents: Iterable[Content]) -> str:
        """Learn keys from the stores of one batch; return why keys contradict, or an empty text."""
        partial = []
        for content in contents:
            if not content.keys:
                continue
            if why := self._incomparable(content):
                if self._begins_prefix(content):
                    self._miss(content.group, why)
                continue
            found = self._nodes_of(content)
            if len(content.keys) * content.size != len(content.tokens):
                partial.append((content, found))
                continue
            for place, key in enumerate(content.keys):
                if why := self._name(found[place] if place < len(found) else None, key):
                    return why
        for content, found in partial:
            if any(node.key is None for node in found) and not self.nodes.keys() >= {*content.keys}:
                self._miss(content.group, "blocks are stored without tokens of their own")
        return ""

    def _miss(self, group: int, why: str) -> None:
        """A store of blocks of a prefix may have been missed."""
        self.blind.setdefault(group, why)
        if len(self.faults) < _MOST_FAULTS:
            self.faults[why] = None

    def _incomparable(self, content: Content) -> str:
        """Why a store cannot be compared with prefixes; empty where it can."""
        if not content.tokens:
            return "blocks are stored without tokens"
        if content.size != self._size:
            return f"blocks have {content.size} tokens"
        return "" if content.extras is not None else "events do not state adapters and salts"

    def _begins_prefix(self, content: Content) -> bool:
        """Whether the blocks of a store may follow a block of a prefix, or begin one."""
        node = self._root if content.parent is None else self.nodes.get(content.parent)
        return node is not None and bool(node.children)

    def _nodes_of(self, content: Content) -> list[Node]:
        """The blocks of registered prefixes that the tokens of a store are, from the first on."""
        node = self._root if content.parent is None else self.nodes.get(content.parent)
        found: list[Node] = []
        for place in range(len(content.tokens) // self._size if node is not None else 0):
            tokens = content.tokens[place * self._size : (place + 1) * self._size]
            # Extras are of the keys, of which there may be fewer than blocks.
            extras = content.extras or ()
            extra = extras[place] if place < len(extras) else ()
            node = node and node.children.get((tokens, extra))
            if node is None:
                break
            found.append(node)
        return found

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
            if node.key is not None:
                return f"block {node.position} of a prefix has two hashes"
            node.key = key
            self.nodes[key] = node
        return ""
