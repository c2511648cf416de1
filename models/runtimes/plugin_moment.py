"""Carries out one action of the model of the plugin, in the order in which the plugin's code does.

A `Moment` is the state while that happens. Its methods are named after the actions; each says which
function of the plugin it follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from models.runtimes.plugin_blocks import Blocks, blocks_of
from models.runtimes.plugin_state import WATCHED, Claim, Prompt, Running, Waiting
from models.shims import claim_of
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof

__all__ = ["Moment"]


class Moment(Blocks):
    """One call of the controller, or one step of the scheduler for one request."""

    # Capacity: claims/capacity.py, claims/registry.py, controller/arbitration.py.

    def _reserved(self) -> list[Claim]:
        """The claims that keep blocks from requests."""
        if not self.model.enforce:
            return []
        others = any(claim.mode is not Mode.OFFLOADABLE for claim in self.kept)
        return [claim for claim in self.kept if others or not self.copied(claim.holder)]

    def _need(self, prompt: Prompt, more: int = 0) -> int:
        """The blocks that a request needs besides those that it shares with claims."""
        owned = blocks_of(self.kept) | {*prompt.contents[:more]}
        spared = takewhile(owned.__contains__, prompt.contents[: prompt.reusable])
        return prompt.blocks - len(list(spared))

    def _conflict(self, claims: Iterable[Claim], needed: int) -> bool:
        return needed <= self.model.usable < len(blocks_of(claims)) + needed

    def yielding(self, prompt: Prompt) -> list[Claim] | None:
        """The claims to demote so that a request fits; None where it does not fit even then."""
        needed, reserved = self._need(prompt), self._reserved()
        if not self._conflict(reserved, needed):
            return []
        demotable = [
            claim
            for claim in reserved
            if claim.mode is Mode.DEMOTABLE and not {*claim.contents} & {*prompt.contents}
        ]
        return _blockers(demotable, reserved, self.model.usable - needed) or None

    def _report(self, kind: Kind, name: str, needed: int) -> None:
        """Report the action on a request that does not fit, and the claims that block it."""
        usable, declared = self.model.usable, len(blocks_of(self.kept))
        named = _blockers(self.kept, self.kept, usable - needed)
        total = declared + needed
        self.say(
            kind,
            request_id=name,
            blocking_claim_ids=tuple(claim_of(each.holder) for each in named),
            proof=CapacityProof(declared, needed, total, usable, max(0, total - usable)),
        )

    def _report_again(self, each: Waiting) -> None:
        if each.how != "runs" and each.changed and self._conflict(self.kept, each.needed):
            refused = each.how == "refused"
            kind = Kind.REQUEST_REFUSED if refused else Kind.REQUEST_DEFERRED
            self._report(kind, each.name, each.needed)

    def _changed(self) -> None:
        """Claims leave more or fewer blocks to requests."""
        self.set(waiting=tuple(each._replace(changed=True) for each in self.state.waiting))

    # Requests arrive and end: Controller.arrive, Arbitration.decide, Controller.finish.

    def arrive(self, name: str) -> None:
        """A request arrives, with what comes with it."""
        prompt = self.model.prompts[name]
        self.set(arrived=self.state.arrived + 1)
        for holder in prompt.claims:
            self._admit(self.model.claims[holder], prompt)
        needed, yielding = self._need(prompt), self.yielding(prompt)
        waits = self.model.defer and yielding is None
        needed = prompt.blocks if waits else needed
        arrived = {"needed": needed, "usable": self.model.usable}
        self.say(Kind.REQUEST_ARRIVED, request_id=name, **arrived)
        for claim in yielding or ():
            self._end(claim, Kind.CLAIM_DEMOTED, "runtime")
        how = "runs" if yielding is not None else "waits" if waits else "refused"
        if yielding is None:
            kind = Kind.REQUEST_DEFERRED if waits else Kind.REQUEST_REFUSED
            self._report(kind, name, needed)
        self.set(waiting=(*self.state.waiting, Waiting(name, needed, how)))

    def again(self, name: str) -> None:
        """A request that waited may run: Arbitration.decide_again."""
        for claim in self.yielding(self.model.prompts[name]) or ():
            self._end(claim, Kind.CLAIM_DEMOTED, "runtime")
        each = self._waiting(name)
        self._report_again(each)
        self._put_waiting(each._replace(how="runs"))

    def late(self, name: str) -> None:
        """The wait of a request is over: it is refused."""
        each = self._waiting(name)
        self._put_waiting(each._replace(how="refused", changed=False))
        self._report(Kind.REQUEST_REFUSED, name, each.needed)

    def finish(self, name: str) -> None:
        """A request ended, in whatever way."""
        run = next((each for each in self.state.running if each.name == name), None)
        if run is None:
            self._report_again(self._waiting(name))
            self.set(waiting=tuple(each for each in self.state.waiting if each.name != name))
        else:
            if run.how == "loads":
                self._refuse(run)
            if run.how == "runs":  # at the shutdown: nobody ever knows of what it did not compute
                never = {*run.blocks[run.start :]}
                cached = self.state.cached
                self.set(cached=tuple(None if b in never else c for b, c in enumerate(cached)))
            self.set(running=tuple(each for each in self.state.running if each is not run))
            self.release(run.blocks[::-1])
        self.say(Kind.REQUEST_FINISHED, request_id=name)

    def _waiting(self, name: str) -> Waiting:
        return next(each for each in self.state.waiting if each.name == name)

    def _put_waiting(self, new: Waiting) -> None:
        old = self.state.waiting
        self.set(waiting=tuple(new if each.name == new.name else each for each in old))

    # Claims begin and end: controller/admission.py.

    def _admit(self, claim: Claim, prompt: Prompt) -> None:
        keys = tuple(f"{name}:{position}" for name, position in claim.contents)
        fields: dict[str, Any] = {
            "object_id": f"{claim.object_id}:{claim.size}",
            "predicate": f"leading_prefix_at_least({claim.size})",
            "mode": str(claim.mode),
            "owner_scope": claim.owner,
            "duration": claim.duration,
            "priority": claim.priority,
            "footprint": claim.size,
        }
        if self._rejects(claim, prompt):
            if claim.mode in WATCHED:
                del fields["object_id"]
            self.of(claim, Kind.CLAIM_REGISTERED, **fields)
            self.of(claim, Kind.CLAIM_REJECTED)
            return
        ranks = self.ranks()
        self.of(claim, Kind.CLAIM_REGISTERED, **fields)
        known = {content for each in self.live for content in each.contents}
        self.set(live=(*self.state.live, claim.holder))
        if claim.mode not in WATCHED:
            self._changed()
            self.of(claim, Kind.CLAIM_COMMITTED, **fields, content_keys=keys)
            self.of(claim, Kind.CLAIM_ACCEPTED, **fields)
        places = self.places()
        self.settle(claim.contents)
        pairs = [(at, block) for at in claim.contents for block in places.get(at, ())]
        self.rerank(ranks, [block for _, block in reversed(pairs)])
        for owned in (True, False):
            found = [(at, block) for at, block in pairs if (at in known) is owned]
            self.gain(claim, found, None)
        if self.holds(claim, places):
            self.of(claim, Kind.CLAIM_MATERIALIZED)
        if self.copied(claim.holder):
            self.of(claim, Kind.HOST_COPY_FOUND)
            self.of(claim, Kind.CLAIM_OFFLOADED)
            self.unhold(claim.contents[::-1])

    def _rejects(self, claim: Claim, prompt: Prompt) -> bool:
        """Whether a claim does not fit: Registry.rejection."""
        if claim.mode is Mode.OFFLOADABLE and not self.model.tier:
            return True
        if claim.mode in WATCHED:
            return False
        others = any(each.mode is not Mode.OFFLOADABLE for each in self.kept)
        beside = self.kept if claim.mode is not Mode.OFFLOADABLE or others else self._reserved()
        runs = [each for each in self.state.waiting if each.how == "runs"]
        stated = {each.name: each.needed for each in (*runs, *self.state.running)}
        needs = [max(n, self._need(self.model.prompts[name])) for name, n in stated.items()]
        largest = max([self._need(prompt, more=claim.size), *needs])
        return len(blocks_of([*beside, claim])) + largest > self.model.usable

    def give_up(self, holder: str) -> None:
        """The owner releases a claim: Admission.release."""
        claim = self.model.claims[holder]
        self._end(claim, Kind.CLAIM_RELEASED, claim.owner)

    def expire(self, holder: str) -> None:
        """The duration of a claim is over: Admission.expire."""
        claim = self.model.claims[holder]
        self.of(claim, Kind.DURATION_ELAPSED)
        self._end(claim, Kind.CLAIM_EXPIRED, "runtime")

    def _end(self, claim: Claim, how: Kind, by: str) -> None:
        self.of(claim, Kind.CLAIM_RETIRED, by=by)
        self.of(claim, how, by=by)
        ranks, places = self.ranks(), self.places()
        self.set(live=tuple(each for each in self.state.live if each != claim.holder))
        last_first = [block for at in reversed(claim.contents) for block in places.get(at, ())]
        self.rerank(ranks, last_first)
        self.unhold(claim.contents[::-1])
        if claim.mode not in WATCHED:
            self._changed()

    # A request gets blocks, and computes: vLLM's scheduler and engines/v0_32/blocks.py.

    def _hits(self, prompt: Prompt) -> tuple[int, ...]:
        """The blocks of the longest cached prefix that a request can use."""
        places: dict[Any, int] = {}
        for block, content in enumerate(self.state.cached):
            if content is not None and (content not in places or block in self.state.held):
                places[content] = block
        return tuple(
            places[content]
            for content in takewhile(places.__contains__, prompt.contents[: prompt.reusable])
        )

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
        need = loads or prompt.blocks - len(hits)
        return need <= sum(block not in hits for block in self.state.free)

    def schedule(self, name: str) -> None:
        """A request gets blocks: it looks up its prompt, then loads or computes the rest."""
        prompt, each = self.model.prompts[name], self._waiting(name)
        hits = self._hits(prompt)
        loads = self._to_load(prompt, len(hits))
        need = loads or prompt.blocks - len(hits)
        taken = self.take(need, hits, name)
        free = tuple(block for block in self.state.free if block not in hits)
        waiting = tuple(other for other in self.state.waiting if other is not each)
        self.set(free=free, waiting=waiting)
        uncomputed = self._uncomputed()
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
        self.set(running=(*self.state.running, run))
        if not loads:
            self._file(run)

    def _file(self, run: Running) -> None:
        """File the whole blocks that a request is about to compute, as allocate_slots does."""
        contents = dict(zip(run.blocks, self.model.prompts[run.name].contents, strict=False))
        new = {block: contents[block] for block in run.blocks[run.start :] if block in contents}
        cached = (new.get(block, each) for block, each in enumerate(self.state.cached))
        self.set(cached=tuple(cached))

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
        contents = self.model.prompts[name].contents[run.start :]
        pairs = list(zip(contents, run.blocks[run.start :], strict=False))
        ranks = self.ranks()
        self._put_run(run._replace(how="done"))
        self.rerank(ranks, [block for _, block in reversed(pairs)])
        self.place(pairs, name, before)

    def resume(self, name: str) -> None:
        """A request whose load is over gets the rest of its blocks."""
        run, prompt = self._run(name), self.model.prompts[name]
        taken = self.take(prompt.blocks - len(run.blocks), (), name)
        run = run._replace(blocks=(*run.blocks, *taken), how="runs", start=len(run.blocks))
        self._put_run(run)
        self._file(run)

    def _run(self, name: str) -> Running:
        return next(each for each in self.state.running if each.name == name)

    def _put_run(self, run: Running) -> None:
        old = self.state.running
        self.set(running=tuple(run if each.name == run.name else each for each in old))

    # The tier: tracking/offloaded.py, engines/v0_32/offload.py.

    def stored(self, name: str) -> None:
        """Blocks of an object were copied to the tier: OffloadTracker.stored."""
        uncopied = [claim for claim in self.live if not self.copied(claim.holder)]
        self._copy(name, self.visible_of(name))
        for claim in (each for each in uncopied if self.copied(each.holder)):
            self.of(claim, Kind.STORE_FINISHED)
            self.of(claim, Kind.CLAIM_OFFLOADED)
            self.unhold(claim.contents[::-1])
            self._changed()

    def _copy(self, name: str, blocks: int) -> None:
        copies = {**dict(self.state.copies), name: blocks}
        self.set(copies=tuple(sorted((key, n) for key, n in copies.items() if n)))

    def copy_evicted(self, name: str) -> None:
        """The tier evicts copies that no claim needs."""
        self._copy(name, 0)

    def tier_reset(self) -> None:
        """The tier lost all its copies: OffloadTracker.lost."""
        copied, places = [c for c in self.live if self.copied(c.holder)], self.places()
        self.set(copies=())
        for claim in copied:
            self.of(claim, Kind.HOST_COPY_LOST)
            self._changed()
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
        whole = len(run.blocks) == prompt.blocks
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

    def load_fails(self, name: str) -> None:
        """A load failed: the request is refused for the claims that did not come back."""
        self.finish(name)

    def _refuse(self, run: Running) -> None:
        """OffloadTracker._refuse; without a live claim vLLM ends the request by its own policy."""
        about, missing = {"request_id": run.name}, self._restoring(run)
        for claim in missing:
            self.of(claim, Kind.LOAD_FAILED, **about)
        ids = tuple(claim_of(claim.holder) for claim in missing)
        for claim, own in zip(missing if self.model.enforce else (), ids, strict=False):
            said = {"outcome": "refusal", "outcome_claim_id": own, "blocking_claim_ids": (own,)}
            self.of(claim, Kind.CLAIM_RESTORATION_FAILED, **about, **said)
        if ids and self.model.enforce:
            self.say(Kind.REQUEST_REFUSED, **about, blocking_claim_ids=ids, restore=True)

    # The operator: Controller.close, BlockHooks._reset_prefix_cache.

    def reset(self) -> None:
        """The cache is cleared; before, what is held is released, the oldest first."""
        held = self.state.held
        self.set(held=())
        self.release(held)
        self.lose(Kind.BLOCK_LOST, range(len(self.state.cached)))

    def close(self) -> None:
        """The engine shuts down: requests end, demotable claims too, and all blocks are lost."""
        runs = [each for each in self.state.waiting if each.how == "runs"]
        others = [each for each in self.state.waiting if each.how != "runs"]
        for each in (*self.state.running, *runs, *others):
            self.finish(each.name)
        for claim in self.live if self.model.enforce else ():
            if claim.mode is Mode.DEMOTABLE:
                self._end(claim, Kind.CLAIM_DEMOTED, "runtime")
        self.reset()
        self.tier_reset()
        self.set(closed=True)


def _blockers(entries: Sequence[Claim], among: Sequence[Claim], room: int) -> list[Claim]:
    """A least set of claims without which a request fits; claims/capacity.py, `blockers`.

    Claims are left out from the smallest on. Empty where all together free too little.
    """

    def fits(named: Sequence[Claim]) -> bool:
        return len(blocks_of(claim for claim in among if claim not in named)) <= room

    named = sorted(entries, key=lambda claim: (-claim.size, claim.holder))
    if not fits(named):
        return []
    for claim in reversed(named[:]):
        fewer = [each for each in named if each is not claim]
        named = fewer if fits(fewer) else named
    return named
