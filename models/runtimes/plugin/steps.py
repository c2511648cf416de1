"""Follows the scheduler in the model of the plugin: look-ups, allocation, stores and loads."""

from __future__ import annotations

from itertools import takewhile

from models.framework.blocks import hits
from models.framework.claims import WATCHED, Claim, blocks_of
from models.framework.shims import claim_of
from models.runtimes.plugin.blocks import Blocks
from models.runtimes.plugin.state import Prompt, Running, Waiting
from spec.events.alphabet import Kind

__all__ = ["Steps"]


class Steps(Blocks):
    """Steps of vLLM's scheduler, and of its offloading connector."""

    def waiting(self, name: str) -> Waiting:
        """The request of this name that has no blocks yet."""
        return next(each for each in self.state.waiting if each.name == name)

    def changed(self) -> None:
        """Claims leave more or fewer blocks to requests."""
        self.change(
            waiting=tuple(each._replace(changed=True) for each in self.state.waiting),
            bounded=tuple(each._replace(changed=True) for each in self.state.bounded),
        )

    def most(self, prompt: Prompt) -> int:
        """The most blocks that a request comes to use."""
        bounds = (each.blocks for each in self.state.bounded if each.name == prompt.name)
        return next(bounds, prompt.blocks)

    # A request gets blocks, and computes: vLLM's scheduler and engines/shared/blocks.py.

    def _hits(self, prompt: Prompt) -> tuple[int, ...]:
        """The blocks of the longest cached prefix that a request can use."""
        return hits(self.state.cached, prompt.contents[: prompt.reusable], self.state.again)

    def _to_load(self, prompt: Prompt, hits: int) -> int:
        """How many blocks behind those that are cached the tier has."""
        copies = dict(self.state.copies).get(prompt.object_id, 0) if hits < prompt.shared else 0
        return max(0, min(copies, prompt.shared) - hits)

    def has_room(self, prompt: Prompt) -> bool:
        """Whether a request can be scheduled: allocate_slots finds enough free blocks."""
        hits = self._hits(prompt)
        loads = self._to_load(prompt, len(hits))
        if loads and self.loading(prompt.object_id):
            return False
        need = loads or self.most(prompt) - len(hits)
        return need <= sum(block not in hits for block in self.state.free)

    def schedule(self, name: str) -> None:
        """A request gets blocks: it looks up its prompt, then loads or computes the rest."""
        prompt, each = self.model.prompts[name], self.waiting(name)
        hits = self._hits(prompt)
        loads = self._to_load(prompt, len(hits))
        need = loads or self.most(prompt) - len(hits)
        taken = self.take(need, hits, name)
        free = tuple(block for block in self.state.free if block not in hits)
        waiting = tuple(other for other in self.state.waiting if other is not each)
        self.change(free=free, waiting=waiting)
        uncomputed = self.uncomputed()
        found = len(list(takewhile(lambda block: block not in uncomputed, hits)))
        if prompt.reusable:
            self._look_up(prompt, prompt.reusable, found)
        run = Running(name, each.needed, (*hits, *taken), "runs", len(hits))
        if loads:
            on = [claim for claim in self.live if {*claim.contents} & {*prompt.contents}]
            away = [c for c in on if self.copied(c.holder) and c.size > len(hits)]
            run = run._replace(how="loads", claims=tuple(sorted(c.holder for c in away)))
            for claim in away:
                self.of(claim, Kind.CLAIM_RESTORE_REQUIRED, request_id=name)
        self.change(running=(*self.state.running, run))
        if not loads and prompt.admitted:
            self._file(run)

    def _file(self, run: Running) -> None:
        """File the whole blocks that a request is about to compute, as allocate_slots does."""
        contents = dict(zip(run.blocks, self.model.prompts[run.name].contents, strict=False))
        new = (block for block in run.blocks[run.start :] if block in contents)
        self.file({block: contents[block] for block in new})

    def _look_up(self, prompt: Prompt, asked: int, found: int) -> None:
        """State what a request found of each claim, and what it reuses: BlockTracker.look_up."""
        places, asks = self.places(), prompt.contents[:asked]
        for claim in sorted(self.live, key=lambda each: each.mode in WATCHED):
            covered = len(list(takewhile(asks.__contains__, claim.contents)))
            if not covered:
                continue
            names = {"claim_id": claim_of(claim.holder), "request_id": prompt.name}
            self.say(Kind.PREFIX_LOOKUP, **names, held=min(covered, found), asked=covered)
            if min(covered, found) >= claim.size and self.holds(claim, places):
                self.say(Kind.PREFIX_REUSED, **names)

    def computed(self, name: str) -> None:
        """The output of the step arrived: the blocks of a request are computed."""
        run, before = self._run(name), self.places()
        prompt = self.model.prompts[name]
        contents = prompt.contents[run.start :] if prompt.admitted else ()
        pairs = list(zip(contents, run.blocks[run.start :], strict=False))
        ranks = self.ranks()
        self._put_run(run._replace(how="done"))
        self.rerank(ranks, [block for _, block in reversed(pairs)])
        self.place(pairs, name, before)

    def resume(self, name: str) -> None:
        """A request whose load is over gets the rest of its blocks."""
        run, prompt = self._run(name), self.model.prompts[name]
        taken = self.take(self.most(prompt) - len(run.blocks), (), name)
        run = run._replace(blocks=(*run.blocks, *taken), how="runs", start=len(run.blocks))
        self._put_run(run)
        if prompt.admitted:
            self._file(run)

    def _run(self, name: str) -> Running:
        return next(each for each in self.state.running if each.name == name)

    def _put_run(self, run: Running) -> None:
        old = self.state.running
        self.change(running=tuple(run if each.name == run.name else each for each in old))

    # The tier: tracking/offloaded.py, engines/shared/offload.py.

    def stored(self, name: str) -> None:
        """Blocks of an object were copied to the tier: OffloadTracker.stored."""
        uncopied = [claim for claim in self.live if not self.copied(claim.holder)]
        self._copy(name, self.visible_of(name))
        for claim in (each for each in uncopied if self.copied(each.holder)):
            self.of(claim, Kind.STORE_FINISHED)
            self.of(claim, Kind.CLAIM_OFFLOADED)
            self.unhold(claim.contents[::-1])
            self.changed()

    def _copy(self, name: str, blocks: int) -> None:
        copies = {**dict(self.state.copies), name: blocks}
        self.change(copies=tuple(sorted((key, n) for key, n in copies.items() if n)))

    def copy_evicted(self, name: str) -> None:
        """The tier evicts copies that no claim needs."""
        self._copy(name, 0)

    def tier_reset(self) -> None:
        """The tier lost all its copies: OffloadTracker.lost."""
        copied, places = [c for c in self.live if self.copied(c.holder)], self.places()
        self.change(copies=())
        for claim in copied:
            self.of(claim, Kind.HOST_COPY_LOST)
            self.changed()
            self.settle(claim.contents)
            if not self.holds(claim, places):
                self.of(claim, Kind.CLAIM_HARMED)

    def _restoring(self, run: Running) -> list[Claim]:
        live = {claim.holder: claim for claim in self.live}
        return [live[holder] for holder in run.claims if holder in live]

    def loaded(self, name: str) -> None:
        """A load came back: OffloadTracker.loaded."""
        run, before, prompt = self._run(name), self.places(), self.model.prompts[name]
        contents = prompt.contents[run.start : len(run.blocks)]
        pairs = list(zip(contents, run.blocks[run.start :], strict=True))
        self._file(run)
        whole = len(run.blocks) == self.most(prompt)
        self._put_run(run._replace(how="done" if whole else "waits"))
        restoring = self._restoring(run)
        self.place(pairs, None, before, loaded_for=run.claims)
        places = self.places()
        for claim in restoring:
            back = [(at, block) for at, block in pairs if at in claim.contents]
            ids, positions = tuple(b for _, b in back), tuple(at for (_, at), _ in back)
            self.of(claim, Kind.LOAD_FINISHED, request_id=name, block_ids=ids, positions=positions)
            if self.holds(claim, places):
                self.of(claim, Kind.CLAIM_RESTORED, request_id=name, from_tier=True)
        if {*contents} & blocks_of(self.live):
            self._look_up(prompt, len(run.blocks), len(run.blocks))

    def load_failed(self, run: Running) -> None:
        """OffloadTracker._refuse; without a live claim vLLM ends the request by its own policy."""
        self.not_restored(run.name, self._restoring(run), reports=self.model.enforce)
