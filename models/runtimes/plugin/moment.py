"""Carries out one action of the model of the plugin, in the order in which the plugin's code does.

A `Moment` is the state while that happens. Its methods are named after the actions; each says which
function of the plugin it follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from models.framework.claims import WATCHED, Claim, blocks_of, least
from models.framework.shims import claim_of
from models.runtimes.plugin.state import Bounded, Prompt, Waiting
from models.runtimes.plugin.steps import Steps
from spec.claims.states import Mode
from spec.events.alphabet import Kind

__all__ = ["Moment"]


class Moment(Steps):
    """One call of the controller, or one step of the scheduler for one request."""

    # Capacity: claims/capacity.py, claims/registry.py, controller/arbitration.py.

    def _reserved(self) -> list[Claim]:
        """The claims that keep blocks from requests."""
        if not self.model.enforce:
            return []
        others = any(claim.mode is not Mode.OFFLOADABLE for claim in self.kept)
        return [claim for claim in self.kept if others or not self.copied(claim.holder)]

    def _need(self, prompt: Prompt, more: int = 0, of: int = 0) -> int:
        """The blocks that a request needs besides those that it shares with claims.

        Args:
            more: treat this many of its first contents as claimed.
            of: so many blocks, by default the most that it comes to use.
        """
        owned = blocks_of(self.kept) | {*prompt.contents[:more]}
        spared = takewhile(owned.__contains__, prompt.contents[: prompt.reusable])
        return (of or self.most(prompt)) - len(list(spared))

    def room_for(self, prompt: Prompt) -> int:
        """The blocks to which a request is bounded that does not fit; 0 where it is not bounded."""
        over = len(blocks_of(self._reserved())) + self._need(prompt) - self.model.usable
        room = prompt.blocks - over
        return room if prompt.least and room >= prompt.least else 0

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
        usable = self.model.usable
        named = _blockers(self.kept, self.kept, usable - needed)
        self.conflict(kind, name, needed, usable, self.kept, named)

    def _report_again(self, each: Waiting) -> None:
        if each.how != "runs":
            refused = each.how == "refused"
            self._still(each, Kind.REQUEST_REFUSED if refused else Kind.REQUEST_DEFERRED)

    def _still(self, each: Waiting | Bounded, kind: Kind) -> None:
        """Report the last action on a request once more if other claims block it by now."""
        if each.changed and self._conflict(self.kept, each.needed):
            self._report(kind, each.name, each.needed)

    # Requests arrive and end: Controller.arrive, Arbitration.decide, Controller.finish.

    def arrive_drained(self, name: str) -> None:
        """A request arrives while the operator drains the engine: Operator.drain."""
        self.arrive(name, drained=True)

    def arrive(self, name: str, *, drained: bool = False) -> None:
        """A request arrives, with what comes with it."""
        prompt = self.model.prompts[name]
        self.change(arrived=self.state.arrived + 1)
        for holder in prompt.claims:
            self._admit(holder, prompt, drained=drained)
        needed, yielding = self._need(prompt), self.yielding(prompt)
        bound = self.room_for(prompt) if yielding is None else 0
        waits = self.model.defer and yielding is None and not bound
        needed = prompt.blocks if waits else needed
        arrived = {"needed": needed, "usable": self.model.usable}
        self.say(Kind.REQUEST_ARRIVED, request_id=name, **arrived)
        for claim in yielding or ():
            self._end(claim, Kind.CLAIM_DEMOTED, "runtime")
        how = "runs" if yielding is not None or bound else "waits" if waits else "refused"
        if bound:
            self._bound(name, needed, bound)
        elif yielding is None:
            kind = Kind.REQUEST_DEFERRED if waits else Kind.REQUEST_REFUSED
            self._report(kind, name, needed)
        self.change(waiting=(*self.state.waiting, Waiting(name, needed, how)))

    def again(self, name: str) -> None:
        """A request that waited may run: Arbitration.decide_again."""
        prompt, each = self.model.prompts[name], self.waiting(name)
        yielding = self.yielding(prompt)
        if yielding is None:
            self._bound(name, each.needed, self.room_for(prompt))
        else:
            for claim in yielding:
                self._end(claim, Kind.CLAIM_DEMOTED, "runtime")
            self._report_again(self.waiting(name))
        self._put_waiting(self.waiting(name)._replace(how="runs"))

    def _bound(self, name: str, needed: int, bound: int) -> None:
        """The output of a request is bounded: Arbitration._bound."""
        self._report(Kind.REQUEST_BOUNDED, name, needed)
        self.change(bounded=(*self.state.bounded, Bounded(name, needed, bound)))

    def late(self, name: str) -> None:
        """The wait of a request is over: it is refused."""
        each = self.waiting(name)
        self._put_waiting(each._replace(how="refused", changed=False))
        self._report(Kind.REQUEST_REFUSED, name, each.needed)

    def finish(self, name: str) -> None:
        """A request ended, in whatever way."""
        run = next((each for each in self.state.running if each.name == name), None)
        for bounded in (each for each in self.state.bounded if each.name == name):
            self._still(bounded, Kind.REQUEST_BOUNDED)
        if run is None:
            self._report_again(self.waiting(name))
            self.change(waiting=tuple(each for each in self.state.waiting if each.name != name))
        else:
            if run.how == "loads":
                self.load_failed(run)
            if run.how == "runs":  # at the shutdown: what it did not compute is never known
                self.unfile(run.blocks[run.start :])
            self.change(running=tuple(each for each in self.state.running if each is not run))
            self.release(run.blocks[::-1])
        self.change(bounded=tuple(each for each in self.state.bounded if each.name != name))
        self.say(Kind.REQUEST_FINISHED, request_id=name)

    def _put_waiting(self, new: Waiting) -> None:
        old = self.state.waiting
        self.change(waiting=tuple(new if each.name == new.name else each for each in old))

    def load_fails(self, name: str) -> None:
        """A load failed: the request is refused for the claims that did not come back."""
        self.finish(name)

    # Claims begin and end: controller/admission.py.

    def _admit(self, holder: str, prompt: Prompt, *, drained: bool) -> None:
        claim = self.model.claims.get(holder)
        if claim is None:
            self.say(Kind.CLAIM_REJECTED, claim_id=claim_of(holder))
            return
        prefix = claim.named or f"{claim.object_id}:{claim.size}"
        fields = {**claim.terms, "object_id": prefix}
        if drained or self._rejects(claim, prompt):
            if claim.mode in WATCHED:
                del fields["object_id"]
            self.of(claim, Kind.CLAIM_REGISTERED, **fields)
            self.of(claim, Kind.CLAIM_REJECTED)
            return
        ranks = self.ranks()
        self.of(claim, Kind.CLAIM_REGISTERED, **fields)
        known = blocks_of(self.overseen if claim.mode in WATCHED else self.kept)
        self.change(live=(*self.state.live, claim.holder))
        if claim.mode not in WATCHED:
            self.changed()
            self.of(claim, Kind.CLAIM_COMMITTED, **fields, content_keys=claim.keys)
            self.of(claim, Kind.CLAIM_ACCEPTED, **fields)
        places = self.places()
        self.settle(claim.contents)
        pairs = [(at, block) for at in claim.contents for block in places.get(at, ())]
        self.own([block for _, block in pairs])
        self.rerank(ranks, [block for _, block in reversed(pairs)])
        there = [(at, block) for at, block in pairs if at in known]
        found = [(at, block) for at, block in pairs if at not in known]
        whole = self.holds(claim, places)
        self.gain(claim, there, None, whole=whole and not found)
        self.gain(claim, found, None, whole=whole)
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
        stated = {each.name: each.needed for each in self.state.waiting if each.how == "runs"}
        stated |= {run.name: run.needed for run in self.state.running}
        stated |= {each.name: 0 for each in self.state.bounded}
        needs = [max(n, self._need(self.model.prompts[name])) for name, n in stated.items()]
        largest = max([self._need(prompt, more=claim.size, of=prompt.least), *needs])
        return len(blocks_of([*beside, claim])) + largest > self.model.usable

    def give_up(self, holder: str) -> None:
        """The owner releases a claim: Admission.release."""
        claim = self.model.claims[holder]
        self._end(claim, Kind.CLAIM_RELEASED, claim.owner)

    def demote(self, holder: str) -> None:
        """The operator has a claim demoted: Operator.release."""
        self._end(self.model.claims[holder], Kind.CLAIM_DEMOTED, "runtime")

    def expire(self, holder: str) -> None:
        """The duration of a claim is over: Admission.expire."""
        claim = self.model.claims[holder]
        self.of(claim, Kind.DURATION_ELAPSED)
        self._end(claim, Kind.CLAIM_EXPIRED, "runtime")

    def _end(self, claim: Claim, how: Kind, by: str) -> None:
        self.of(claim, Kind.CLAIM_RETIRED, by=by)
        self.of(claim, how, by=by)
        ranks, places = self.ranks(), self.places()
        self.change(live=tuple(each for each in self.state.live if each != claim.holder))
        last_first = [block for at in reversed(claim.contents) for block in places.get(at, ())]
        self.own()
        self.rerank(ranks, last_first)
        self.unhold(claim.contents[::-1])
        if claim.mode not in WATCHED:
            self.changed()

    # The operator: Controller.close, BlockHooks._reset_prefix_cache.

    def reset(self) -> None:
        """The cache is cleared; before, what is held is released, the oldest first."""
        held = self.state.held
        self.change(held=())
        self.release(held)
        self.lose(Kind.BLOCK_LOST, None)

    def close(self) -> None:
        """The engine shuts down: requests end, demotable claims too, and all blocks are lost."""
        runs = [each for each in self.state.waiting if each.how == "runs"]
        others = [each for each in self.state.waiting if each.how != "runs"]
        names = [each.name for each in (*runs, *others)]
        for name in [*(run.name for run in self.state.running), *names]:
            self.finish(name)
        for claim in self.live if self.model.enforce else ():
            if claim.mode is Mode.DEMOTABLE:
                self._end(claim, Kind.CLAIM_DEMOTED, "runtime")
        self.reset()
        self.tier_reset()
        self.change(closed=True)


def _blockers(entries: Sequence[Claim], among: Sequence[Claim], room: int) -> list[Claim]:
    """A least set of claims without which a request fits; claims/capacity.py, `blockers`.

    The smallest are left out first.
    """
    return least(sorted(entries, key=lambda claim: (-claim.size, claim.holder)), among, room)
