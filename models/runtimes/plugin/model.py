"""Models this project's plugin in vLLM: what its controller does with claims and requests.

Source: `runtime_hooks` of this project, beside vLLM 0.32.0: `controller/admission.py`,
`controller/arbitration.py`, `controller/operator.py`, `tracking/tracker.py`,
`tracking/offloaded.py`, `tracking/watched.py`, `enforce`, and of `engines/shared` what is observed
when. The free queue is that of vLLM's
`block_pool.py`: freed blocks go to its end in the order given, those that hold nothing to its
front.

An action is what happens in one call of the controller, or in one step of vLLM for one request.
Claims come with requests; owners release them at any time (`runtime_hooks.claims.release`). Waits
and durations are over at any time. The operator demotes what is demotable between two steps, and
drains the engine or ends the drain before any request. No event states a drain: it shows only where
a claim that fits is rejected. A quota, the floor, an id that was used before or a fault of the
claim itself shows in the same way, so that they are no actions of their own.

A request whose output has no limit of its own is bounded where it does not fit. What it decodes
is there at once, as with every request: so a trace of one that was bounded is no run of the model.

Left out: decoding, preemption, requests that exceed the whole pool, requests that end while they
compute or load; failed stores and blocks lost by failures, so that no prompt is cached with a gap;
a second load of an object while one is under way; for offloadable claims, prompts that are shorter
than the claim; vLLM's policy recompute; pins, claims registered ahead.

Names are not interchangeable: requests arrive in a fixed order, with their claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import ClassVar

from models.framework.claims import WATCHED, Claim
from models.framework.model import Action, Model, Next
from models.runtimes.plugin.moment import Moment
from models.runtimes.plugin.state import Prompt, State
from spec.claims.states import Mode
from spec.contract.supply import Depth

__all__ = ["TAKES", "VARIANTS", "Plugin"]


class Plugin(Model[State]):
    """The plugin in a vLLM engine.

    Args:
        usable: usable blocks of the pool, numbered from 1 as vLLM does: block 0 is the null block.
        claims: what owners ask for; `mode` is theirs, if they have one.
        prompts: the requests, in the order in which they arrive; each fits the empty pool.
        defer: whether a request that does not fit waits before it is refused (`defer_s`).
        enforce: whether promises are enforced, not only reported on.
        tier: whether there is an offload tier.
        drains: whether the operator drains the engine at times.
    """

    name: ClassVar = "plugin"
    depth: ClassVar = Depth.BACKEND_PATCH
    about: ClassVar = "This project's plugin in vLLM: claims at the scheduler, the pool, the tier."
    source: ClassVar = "runtime_hooks of this project, in vLLM 0.32.0"
    left_out: ClassVar = (
        "decoding, preemption, aborts while computing or loading, failed stores, lost blocks, "
        "second loads of an object, prompts shorter than an offloadable claim, "
        "the policy recompute, pins"
    )

    def __init__(
        self,
        usable: int,
        claims: Iterable[Claim],
        prompts: Iterable[Prompt],
        *,
        defer: bool = False,
        enforce: bool = True,
        tier: bool = False,
        drains: bool = True,
    ) -> None:
        self.usable, self.defer, self.enforce, self.tier = usable, defer, enforce, tier
        self.drains = drains
        self.claims: Mapping[str, Claim] = {each.holder: each for each in claims}
        self.prompts: Mapping[str, Prompt] = {each.name: each for each in prompts}
        self.holders, self.requests = tuple(self.claims), tuple(self.prompts)
        modes = {each.mode for each in self.claims.values()}
        self.mode = modes.pop() if len(modes) == 1 else None

    def initial(self) -> Iterator[State]:
        """An empty cache; the queue is in the order of block ids."""
        yield State(tuple(range(1, self.usable + 1)), (None,) * (self.usable + 1))

    def actions(self, state: State) -> Iterator[Action]:
        """What clients, the clock, the scheduler, the tier and the operator may do next."""
        if state.closed:
            return
        now = Moment(self, state)
        yield Action("close")
        for name in self.requests[state.arrived : state.arrived + 1]:
            yield Action("arrive", (name,))
            if self.drains and self.prompts[name].claims:
                yield Action("arrive_drained", (name,))
        for holder in state.live:
            yield Action("give_up", (holder,))
            if self.claims[holder].mode is Mode.DEMOTABLE:
                yield Action("demote", (holder,))
            if self.claims[holder].duration is not None:
                yield Action("expire", (holder,))
        for each in state.waiting:
            yield Action("finish", (each.name,))
            if each.how == "waits":
                prompt = self.prompts[each.name]
                fits = now.yielding(prompt) is not None or now.room_for(prompt)
                yield Action("again" if fits else "late", (each.name,))
        first = next((each for each in state.waiting if each.how == "runs"), None)
        if first is not None and now.has_room(self.prompts[first.name]):
            yield Action("schedule", (first.name,))
        for run in state.running:
            match run.how:
                case "loads":
                    yield from (Action(how, (run.name,)) for how in ("loaded", "load_fails"))
                case "waits":
                    if len(state.free) >= now.most(self.prompts[run.name]) - len(run.blocks):
                        yield Action("resume", (run.name,))
                case "runs":
                    yield Action("computed", (run.name,))
                case "done":
                    yield Action("finish", (run.name,))
        if not state.running and any(state.cached):
            yield Action("reset")
        if self.tier:
            yield from self._of_tier(state, now)

    def _of_tier(self, state: State, now: Moment) -> Iterator[Action]:
        copies = dict(state.copies)
        for name in dict.fromkeys(each.object_id for each in self.prompts.values() if each.shared):
            if now.visible_of(name) > copies.get(name, 0):
                yield Action("stored", (name,))
            kept = any(self.claims[h].object_id == name and now.copied(h) for h in state.live)
            if copies.get(name) and not kept and not now.loading(name):
                yield Action("copy_evicted", (name,))
        if copies and not any(run.how == "loads" for run in state.running):
            yield Action("tier_reset")

    def apply(self, state: State, action: Action) -> Next[State]:
        """The state after an action, with the facts that the hooks observe and the reports."""
        now = Moment(self, state)
        getattr(now, action.name)(*action.what)
        return Next(now.state, tuple(now.emits))

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """No block is missing, no prompt has a gap, and no request waits for claims for ever."""

        def accounted(state: State) -> bool:
            used = {block for run in state.running for block in run.blocks} | {*state.held}
            return len(state.free) + len(used) == self.usable and not used & set(state.free)

        def no_gap(state: State) -> bool:
            contents = {content for content in state.cached if content}
            return all(
                name in self.prompts or at == 0 or (name, at - 1) in contents
                for name, at in contents
            )

        def not_stuck(state: State) -> bool:
            first = next((each for each in state.waiting if each.how == "runs"), None)
            if first is None or state.running or state.closed:
                return True
            return Moment(self, state).has_room(self.prompts[first.name])

        return {
            "every block is free, in use or held": accounted,
            "what is cached of a prompt has no gap": no_gap,
            "who may run beside claims gets blocks": not_stuck,
        }

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """Blocks are held for claims."""
        kept = [each for each in self.claims.values() if each.mode not in WATCHED]
        return {"blocks are held": lambda state: bool(state.held)} if kept and self.enforce else {}


TAKES = tuple(mode for mode in Mode if mode is not Mode.ROUTED_REUSE)


def _usual(mode: Mode) -> Plugin:
    """Three claims, two of them on one object; the last request does not fit beside the first.

    Where claims are offloaded there are two, on one object, and the second request comes back to
    it: what is under way between the engine and its tier makes many states. Nobody can judge a
    rejected claim of a watched mode, which is registered without its object, so there is no drain.
    """
    ranks = {"c1": 1, "c2": 5, "c3": 3} if mode is Mode.SOFT_PRIORITY else {}
    lasts = "9 steps" if mode is Mode.EXPIRING else None
    on = {"c1": "a", "c2": "a"} if mode is Mode.OFFLOADABLE else {"c1": "a", "c2": "b", "c3": "b"}
    claims = (
        Claim(holder, name, 1, mode, ranks.get(holder), lasts, f"owner:{holder}")
        for holder, name in on.items()
    )
    *first, (last, name) = on.items()
    prompts = [
        Prompt(f"r{at}", name, 1, tail=1, claims=(holder,))
        for at, (holder, name) in enumerate(first, 1)
    ]
    prompts.append(Prompt(f"r{len(on)}", name, 1, own=1, tail=1, claims=(last,)))
    defer = mode in (Mode.HARD_PROTECTED, Mode.EXPIRING)
    tier, drains = mode is Mode.OFFLOADABLE, mode not in WATCHED
    return Plugin(3, claims, prompts, defer=defer, tier=tier, drains=drains)


def _unlimited() -> Plugin:
    """Two requests without a limit on their output, beside two claims: one comes with the first."""
    claims = (Claim(f"c{at}", name, 1, Mode.HARD_PROTECTED) for at, name in enumerate("ab", 1))
    prompts = (
        Prompt("r1", "a", 1, tail=3, claims=("c1",), least=1),
        Prompt("r2", "b", 1, tail=1, claims=("c2",)),
        Prompt("r3", own=1, tail=3, least=1),
    )
    return Plugin(4, claims, prompts, drains=False)


VARIANTS: Mapping[str, Callable[[], Plugin]] = {
    **{str(mode): partial(_usual, mode) for mode in TAKES},
    "unlimited": _unlimited,
}
"""An instance for each mode that the plugin takes, and one with requests that are bounded."""
