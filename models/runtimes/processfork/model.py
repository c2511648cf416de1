"""Models the cache layer of ProcessFork: snapshots of a worker's KV pages, and their restore.

Source: ProcessFork documentation, cache layer, 1.0.1 of 2026-05-06: `page_manifest.json`, the steps
of the capture, and the failure modes. There is no source beside it.

A capture pauses the worker between two batches, reads the page table, writes each page by its
digest, writes the manifest, and resumes. A crash of the worker at any step loses its pages and the
capture, not what was written. A restore goes to a fresh worker, whole or not at all. Where the
documentation is silent, it is assumed that pages without a manifest are collected only while no
capture runs, that no worker restores before the operator asks for it, and that a restored worker
has a block for each page of the manifest, so that what sequences share they share again. `Slip` are
the steps left out or misplaced, each of which a check of this model must find.

Every sequence begins with one full page, the same for all, and has a page of its own that is filled
by decoding. Left out: hashing, compression, the bytes themselves (a digest is the content), exact
and near-exact kernels, eviction within the worker, and more than one image.

Names are not interchangeable: sequences are captured and written in the order of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, NamedTuple

from models.framework.inference import Inference
from models.framework.model import Action, Emitted, Model, Next, fact, signal
from models.framework.shims import Shim
from spec.claims.states import Mode
from spec.events.alphabet import Kind

__all__ = ["INFERENCES", "VARIANTS", "Capture", "Image", "ProcessFork", "Slip", "State"]

PROMPT: Final = "prompt"
"""The page that all sequences begin with, and its object."""

_Sequences = tuple[tuple[str, tuple[int, ...]], ...]


class Slip(StrEnum):
    """A step of the documentation that is left out, or done at another time."""

    NO_PAUSE = "the worker goes on while it is captured"
    MANIFEST_FIRST = "the manifest is written before the pages"
    COLLECTS = "pages without a manifest are collected while a capture runs"
    NO_COUNT = "pages are not counted before they are loaded"
    COPIES = "a restore loads the pages of each sequence for itself"


class Capture(NamedTuple):
    """A capture: the pages of each sequence as read, none before, the digests of those written, and
    what the sequences held when it began (which the runtime does not keep).
    """

    moment: tuple[tuple[str, tuple[str, ...]], ...]
    table: _Sequences | None = None
    written: tuple[tuple[int, str], ...] = ()


class Image(NamedTuple):
    """A manifest: digests by index, sequences by indices; and what it should hold."""

    pages: tuple[str, ...]
    sequences: _Sequences
    moment: tuple[tuple[str, tuple[str, ...]], ...]


class State(NamedTuple):
    """The worker, its page table, and the store.

    `pages` says what each block holds. `known` are the sequences that a snapshot was asked for,
    `lost` the pages that the storage lost; `restored` and `refused` are what became of restores.
    """

    pages: tuple[str | None, ...]
    table: _Sequences = ()
    running: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    capture: Capture | None = None
    store: tuple[str, ...] = ()
    image: Image | None = None
    known: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    restored: bool = False
    refused: bool = False


class ProcessFork(Model[State]):
    """A worker with a sidecar that takes snapshots.

    Args:
        blocks: pages of the worker.
        asks: the requests that may arrive, each once, with the sequence that each goes on with.
        losses: pages that the storage may lose.
        slips: what is done otherwise than documented.
    """

    name: ClassVar = "processfork"
    about: ClassVar = "Snapshots of a worker's KV pages by content, with the manifest written last."
    source: ClassVar = "ProcessFork 1.0.1, documentation of the cache layer, 2026-05-06"
    left_out: ClassVar = "bytes and hashing, kernels, eviction within the worker, several images"

    def __init__(
        self,
        blocks: int = 4,
        asks: Mapping[str, str] | None = None,
        losses: int = 1,
        slips: Iterable[Slip] = (),
    ) -> None:
        self.blocks, self.losses, self.slips = blocks, losses, frozenset(slips)
        self.asks = dict(asks or {"r1": "a", "r2": "b"})
        self.requests = tuple(self.asks)
        self.holders = tuple(dict.fromkeys(self.asks.values()))

    def initial(self) -> Iterator[State]:
        """A fresh worker and an empty store."""
        yield State((None,) * self.blocks)

    def actions(self, state: State) -> Iterator[Action]:
        """The worker serves while it is not paused; the sidecar takes the next step; all fails."""
        if state.capture is None or Slip.NO_PAUSE in self.slips:
            yield from self._serving(state)
        yield from self._capturing(state)
        if state.capture is None and state.image and not state.table:
            yield Action("restore")
        orphans = {*state.store} - {*(state.image.pages if state.image else ())}
        if orphans and (state.capture is None or Slip.COLLECTS in self.slips):
            yield Action("collect")
        if state.image and len(state.lost) < self.losses:
            for page in state.image.pages:
                if page in state.store:
                    yield Action("lose", (page,))
        if state.table:
            yield Action("crash")

    def _serving(self, state: State) -> Iterator[Action]:
        table = dict(state.table)
        for name, sequence in self.asks.items():
            if name not in (*state.running, *state.ended):
                room = sum(page is None for page in state.pages)
                here = PROMPT in state.pages
                if sequence in table or room >= 2 - here:
                    yield Action("serve", (name,))
        for name in state.running:
            if state.pages[table[self.asks[name]][1]] == f"{self.asks[name]}0":
                yield Action("decode", (name,))
            yield Action("finish", (name,))

    def _capturing(self, state: State) -> Iterator[Action]:
        """Pause, read, write, manifest, resume; or nothing written, and given up."""
        capture = state.capture
        if capture is None:
            if state.table and state.image is None:
                yield Action("pause")
            return
        if state.image is not None and self._todo(capture) == ():
            yield Action("resume")
        elif capture.table is None:
            yield Action("read")
            yield Action("abort")
        elif state.image is None and Slip.MANIFEST_FIRST in self.slips:
            yield Action("manifest")
        elif todo := self._todo(capture):
            yield Action("write", (todo[0],))
        else:
            yield Action("manifest")

    @staticmethod
    def _todo(capture: Capture) -> tuple[int, ...]:
        """The blocks that are still to be written, each once, however many sequences share it."""
        read = dict.fromkeys(block for _, blocks in capture.table or () for block in blocks)
        return tuple(block for block in read if block not in dict(capture.written))

    def apply(self, state: State, action: Action) -> Next[State]:
        """The state after an action."""
        what = action.what[0] if action.what else None
        match action.name:
            case "serve":
                return self._serve(state, str(what))
            case "decode":
                sequence = self.asks[str(what)]
                own = dict(state.table)[sequence][1]
                return Next(state._replace(pages=_put(state.pages, {own: f"{sequence}1"})))
            case "finish":
                return self._finish(state, str(what))
            case "pause":
                return self._pause(state)
            case "manifest":
                return self._manifest(state)
            case "restore":
                return self._restore(state)
            case "crash":
                return self._crash(state)
            case "lose":
                return self._lose(state, str(what))
            case "collect":
                needed = state.image.pages if state.image else ()
                kept = tuple(page for page in state.store if page in needed)
                return Next(state._replace(store=kept))
        return Next(self._step(state, action.name, what))

    def _step(self, state: State, name: str, block: str | int | None) -> State:
        """A step of the sidecar that says nothing."""
        assert state.capture is not None
        if name == "read":
            return state._replace(capture=state.capture._replace(table=state.table))
        if name != "write":  # resume, or abort
            return state._replace(capture=None)
        digest = state.pages[int(block or 0)] or ""
        written = (*state.capture.written, (int(block or 0), digest))
        store = tuple(sorted({*state.store, digest}))
        return state._replace(capture=state.capture._replace(written=written), store=store)

    def _serve(self, state: State, name: str) -> Next[State]:
        """A request goes on with its sequence; a new one reuses the first page, or computes it."""
        sequence, pages, table = self.asks[name], state.pages, dict(state.table)
        here = PROMPT in pages
        about = {"request_id": name, "object_id": PROMPT}
        emits: list[Emitted] = [
            fact(Kind.REQUEST_ARRIVED, request_id=name, needed=1, usable=self.blocks),
            fact(Kind.PREFIX_LOOKUP, **about, held=int(here), asked=1),
        ]
        if sequence not in table:
            free = [block for block, page in enumerate(pages) if page is None]
            first = pages.index(PROMPT) if here else free.pop(0)
            table[sequence] = (first, free[0])
            pages = _put(pages, {first: PROMPT, free[0]: f"{sequence}0"})
        if here:
            emits.append(fact(Kind.PREFIX_REUSED, **about))
        else:
            block = table[sequence][:1]
            emits.append(fact(Kind.BLOCK_CACHED, **about, block_ids=block, positions=(0,)))
        running = tuple(sorted((*state.running, name)))
        after = state._replace(pages=pages, table=tuple(sorted(table.items())), running=running)
        return Next(after, tuple(emits))

    def _finish(self, state: State, name: str) -> Next[State]:
        """A request ends; its sequence stays, for the process that it belongs to."""
        running = tuple(each for each in state.running if each != name)
        after = state._replace(running=running, ended=tuple(sorted((*state.ended, name))))
        return Next(after, (fact(Kind.REQUEST_FINISHED, request_id=name),))

    def _pause(self, state: State) -> Next[State]:
        """The operator asks for a snapshot; the worker drains the batch in flight."""
        new = [name for name, _ in state.table if name not in state.known]
        asked = tuple(
            signal(
                "snapshot",
                name,
                object_id=PROMPT,
                predicate="leading_prefix_at_least(1)",
                footprint=1,
                owner_scope=f"process:{name}",
            )
            for name in new
        )
        capture = Capture(_contents(state))
        known = tuple(sorted((*state.known, *new)))
        return Next(state._replace(capture=capture, known=known), asked)

    def _manifest(self, state: State) -> Next[State]:
        """The manifest refers to pages by index, to each digest once."""
        assert state.capture is not None
        table = state.capture.table or ()
        digests = {b: state.pages[b] or "" for _, blocks in table for b in blocks}
        digests |= dict(state.capture.written)
        pages = tuple(dict.fromkeys(digests[b] for _, blocks in table for b in blocks))
        sequences = tuple(
            (name, tuple(pages.index(digests[block]) for block in blocks)) for name, blocks in table
        )
        image = Image(pages, sequences, state.capture.moment)
        stored = fact(Kind.STORE_FINISHED, object_id=PROMPT)
        return Next(state._replace(image=image), (stored,))

    def _restore(self, state: State) -> Next[State]:
        """Load an image into a fresh worker, unless pages of it are missing."""
        image = state.image
        assert image is not None
        missing = [page for page in image.pages if page not in state.store]
        if missing and Slip.NO_COUNT not in self.slips:
            refused = signal("restore_refused", image.sequences[0][0], object_id=PROMPT)
            return Next(state._replace(refused=True), (refused,))
        table, blocks = [], iter(range(self.blocks))
        at: dict[int, int] = {}
        pages: dict[int, str | None] = {}
        for name, indices in image.sequences:
            at = {} if Slip.COPIES in self.slips else at
            for index in indices:
                if index not in at:
                    at[index] = next(blocks)
                    page = image.pages[index]
                    pages[at[index]] = page if page in state.store else None
            table.append((name, tuple(at[index] for index in indices)))
        first = tuple(block for block, page in pages.items() if page == PROMPT)
        back = fact(
            Kind.BLOCK_CACHED,
            object_id=PROMPT,
            block_ids=first,
            positions=(0,) * len(first),
            found=True,
        )
        loaded = _put(state.pages, pages)
        after = state._replace(pages=loaded, table=tuple(table), restored=True)
        return Next(after, (back,) if first else ())

    def _crash(self, state: State) -> Next[State]:
        """The worker is gone, its requests fail, and a fresh one takes its place."""
        failed = [fact(Kind.REQUEST_FINISHED, request_id=name) for name in state.running]
        after = state._replace(
            pages=(None,) * self.blocks,
            table=(),
            running=(),
            ended=tuple(sorted((*state.ended, *state.running))),
            capture=None,
        )
        return Next(after, (fact(Kind.BLOCK_LOST), *failed))

    def _lose(self, state: State, page: str) -> Next[State]:
        """The storage loses a page that an image needs."""
        store = tuple(each for each in state.store if each != page)
        gone = (fact(Kind.HOST_COPY_LOST, object_id=PROMPT),) if page == PROMPT else ()
        return Next(state._replace(store=store, lost=(*state.lost, page)), gone)

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """What the documentation promises of images, and of what is loaded from them."""

        def whole(state: State) -> bool:
            pages = state.image.pages if state.image else ()
            return {*pages} <= {*state.store, *state.lost}

        def of_a_moment(state: State) -> bool:
            image = state.image
            return image is None or image.moment == tuple(
                (name, tuple(image.pages[index] for index in indices))
                for name, indices in image.sequences
            )

        return {
            "no manifest is partial": whole,
            "an image is of one moment": of_a_moment,
            "no page is loaded that is not there": lambda state: all(
                None not in pages for _, pages in _contents(state)
            ),
            "shared pages stay shared": lambda state: state.pages.count(PROMPT) <= 1,
        }

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """Images are restored and refused, and a crash leaves pages without an image."""
        return {
            "an image is restored": lambda state: state.restored,
            **({"a restore is refused": lambda state: state.refused} if self.losses else {}),
            "pages are left without an image": lambda state: (
                bool(state.store) and state.image is None and not state.table
            ),
        }


def _put(pages: tuple[str | None, ...], new: Mapping[int, str | None]) -> tuple[str | None, ...]:
    return tuple(new.get(block, page) for block, page in enumerate(pages))


def _contents(state: State) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """What the pages of each sequence hold."""
    return tuple((name, tuple(state.pages[b] for b in blocks)) for name, blocks in state.table)


VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "documented": ProcessFork,
    "manifest_first": lambda: ProcessFork(slips=[Slip.MANIFEST_FIRST]),
}

INFERENCES: Final = (
    Inference(
        name="snapshot -> offloadable",
        feature="a worker's KV pages are written by content and restored into fresh blocks",
        mode=Mode.OFFLOADABLE,
        shim=Shim(Mode.OFFLOADABLE, frozenset({"snapshot"})),
        model=lambda: ProcessFork(asks={"r1": "a", "r2": "a"}),
        tracked="a",
        premises=("snapshot_restore",),
        adds="A crash loses the pages of the worker, and an operator has to ask for the restore: a "
        "request that comes before computes them again.",
    ),
)
