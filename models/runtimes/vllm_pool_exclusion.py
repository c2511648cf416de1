"""Models the vLLM block pool with hard exclusion: blocks of an accepted claim are never victims.

Source: the prototype of "Resident KV Claims", sections 4.3 and 5.3, on vLLM 0.19.1: a claim is
accepted with its footprint, its blocks are taken out of the victims, and a request that does not
fit beside the claims is refused in their name, with the capacity proof. The pool is that of
`models.runtimes.vllm_pool`, which is of vLLM 0.32.0.

A claim is accepted only if it fits beside the claims and the requests in hand. Left out besides:
demotion, expiry, release, loss by a reset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

from models.framework.model import Action, Emitted, Model, Next, fact
from models.framework.shims import claim_of
from models.runtimes.vllm_pool import Prompt, State, VllmPool
from spec.claims.states import Mode
from spec.contract.supply import Depth
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof

__all__ = ["TAKES", "VARIANTS", "VllmPoolExclusion"]

TAKES: Final = (Mode.HARD_PROTECTED,)


class VllmPoolExclusion(VllmPool):
    """The block pool with hard exclusion; `set_by` are the holders of accepted claims."""

    name: ClassVar = "vllm_pool_exclusion"
    depth: ClassVar = Depth.BACKEND_PATCH
    about: ClassVar = "The vLLM block pool with hard exclusion of the blocks of accepted claims."
    source: ClassVar = 'the prototype of "Resident KV Claims" on vLLM 0.19.1, section 5.3'
    left_out: ClassVar = "demotion, expiry, release, resets, and what the block pool leaves out"
    mode: ClassVar = Mode.HARD_PROTECTED

    def actions(self, state: State) -> Iterator[Action]:
        """As in the pool, with refusals; a claim that does not fit is not accepted."""
        for action in super().actions(state):
            if action.name == "keep" and not self._room(state, str(action.what[0])):
                continue
            yield action
        if state.waiting and self._conflicts(state, self.prompts[state.waiting[0]]):
            yield Action("refuse", (state.waiting[0],))

    def apply(self, state: State, action: Action) -> Next[State]:
        """The pool after an action."""
        if action.name == "refuse":
            return self._refuse(state, self.prompts[str(action.what[0])])
        after, emits = super().apply(state, action)
        if action.name == "admit":
            emits += self._materialized(state, after)
        return Next(after, emits)

    def _protected(self, state: State) -> int:
        return sum(self.objects[name] for name in state.set_by)

    def _room(self, state: State, holder: str) -> bool:
        """Whether a claim fits beside the claims and each request in hand."""
        names = (*state.waiting, *(name for name, _ in state.running))
        needs = max((self.prompts[name].own for name in names), default=0)
        return self._protected(state) + self.objects[holder] + needs <= self.blocks

    def _conflicts(self, state: State, prompt: Prompt) -> bool:
        return self._protected(state) + prompt.own > self.blocks

    def _held(self, state: State) -> set[int]:
        """The blocks that hold what is claimed."""
        return {
            b for b, content in enumerate(state.cached) if content and content[0] in state.set_by
        }

    def _fits(self, state: State, prompt: Prompt) -> bool:
        hits = self._hits(state, prompt)
        spare = [b for b in state.free if b not in hits and b not in self._held(state)]
        need = prompt.shared + prompt.own - len(hits)
        return not self._conflicts(state, prompt) and need <= len(spare)

    def _victims(self, state: State, free: tuple[int, ...], need: int) -> tuple[int, ...]:
        held = self._held(state)
        return tuple(block for block in free if block not in held)[:need]

    def _keep(self, state: State, holder: str) -> Next[State]:
        asked = self._asked(holder)
        named = {"claim_id": claim_of(holder), "object_id": holder, "predicate": asked["predicate"]}
        terms = {
            "mode": str(Mode.HARD_PROTECTED),
            "owner_scope": asked["owner_scope"],
            "footprint": asked["footprint"],
        }
        kinds = (Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED)
        emits: list[Emitted] = [fact(kind, **named, **terms) for kind in kinds]
        after = state._replace(set_by=(*state.set_by, holder))
        if self._is_whole(state, holder):
            emits.append(fact(Kind.CLAIM_MATERIALIZED, **named))
        return Next(after, tuple(emits))

    def _is_whole(self, state: State, holder: str) -> bool:
        there = {content[1] for content in state.cached if content and content[0] == holder}
        return len(there) == self.objects[holder]

    def _materialized(self, before: State, after: State) -> tuple[Emitted, ...]:
        return tuple(
            fact(
                Kind.CLAIM_MATERIALIZED,
                claim_id=claim_of(holder),
                object_id=holder,
                predicate=self._asked(holder)["predicate"],
            )
            for holder in after.set_by
            if self._is_whole(after, holder) and not self._is_whole(before, holder)
        )

    def _refuse(self, state: State, prompt: Prompt) -> Next[State]:
        """Refuse a request in the name of the claims that leave too little room."""
        resident, name = self._protected(state), prompt.request_id
        total = resident + prompt.own
        proof = CapacityProof(
            resident=resident,
            active=prompt.own,
            total=total,
            usable=self.blocks,
            shortfall=total - self.blocks,
        )
        claims = tuple(claim_of(holder) for holder in self._blocking(state, prompt))
        refused = fact(
            Kind.REQUEST_REFUSED, request_id=name, blocking_claim_ids=claims, proof=proof
        )
        done = state._replace(waiting=state.waiting[1:], ended=tuple(sorted((*state.ended, name))))
        return Next(done, (refused, fact(Kind.REQUEST_FINISHED, request_id=name)))

    def _blocking(self, state: State, prompt: Prompt) -> list[str]:
        """A smallest set of claims without which the request fits, the smallest left out first."""
        names = sorted(state.set_by, key=lambda holder: (self.objects[holder], holder))
        for holder in list(names):
            rest = [each for each in names if each != holder]
            freed = sum(self.objects[each] for each in rest)
            if self._protected(state) - freed + prompt.own <= self.blocks:
                names = rest
        return names

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """As in the pool; and the claims fit into it together."""

        def fits(state: State) -> bool:
            return self._protected(state) <= self.blocks

        return {**super().always, "the claims fit": fits}

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """Every request can end, served or refused, while every claim is whole."""

        def whole(state: State) -> bool:
            done = len(state.ended) == len(self.requests)
            return (
                done
                and bool(state.set_by)
                and all(self._is_whole(state, holder) for holder in state.set_by)
            )

        return {"all requests ended and the claims are whole": whole}


VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {"hard_protected": VllmPoolExclusion}
