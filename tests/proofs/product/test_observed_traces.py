"""Traces of a real vLLM in which the plugin enforces nothing are runs of the models of vLLM."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from models.framework.hooked import Hooked, HookedState, facts_of
from models.framework.model import Action
from models.framework.shims import PLAIN, events_of
from models.runtimes.plugin.model import Plugin
from models.runtimes.plugin.of_trace import plugins_of
from models.runtimes.plugin.state import Prompt as Part
from models.runtimes.vllm_pool.model import Prompt, State, VllmPool
from models.runtimes.vllm_pool.of_trace import pools_of
from proofs.__main__ import main
from proofs.product.accepts import ACCEPTED, REJECTED, UNDECIDED, accepts
from proofs.product.recorded import StreamAcceptance, acceptance
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark, as_jsonl
from spec.language.errors import SpecError
from tests.recordings import OBSERVED, RECORDED, Observed

Line = dict[str, Any]
Capture = pytest.CaptureFixture[str]

BY_NAME = {f"{each.row} {each.twin}".strip(): each for each in OBSERVED}
EVICTING = [each for each in OBSERVED if '"block_evicted"' in each.path.read_text()]


def _named(observed: Observed) -> str:
    policy = "recompute" if "recompute" in observed.row else "fail"
    of_objects = observed.model == "vllm_offload"
    return f"{observed.model}:objects-{policy}" if of_objects else observed.model


def lines_of(observed: Observed) -> list[Line]:
    return [json.loads(line) for line in observed.path.read_bytes().splitlines()]


def events_in(observed: Observed) -> list[Event]:
    lines = [line for line in lines_of(observed) if line["kind"] not in set(Mark)]
    return [msgspec.convert(line, Event) for line in lines]


@pytest.fixture
def judged(tmp_path: Path) -> Callable[[Observed, list[Line]], StreamAcceptance]:
    """What is found of some lines, numbered again, by the model of a recording.

    Prompts of the connector's are taken to be whole objects.
    """

    def judge(observed: Observed, lines: list[Line]) -> StreamAcceptance:
        file = tmp_path / "trace.jsonl"
        numbered = ({**line, "sequence": number} for number, line in enumerate(lines))
        file.write_text("".join(f"{json.dumps(line)}\n" for line in numbered))
        (stream,) = acceptance(_named(observed), str(file)).streams
        return stream

    return judge


Judge = Callable[[Observed, list[Line]], StreamAcceptance]


class TestRecorded:
    @pytest.mark.parametrize("observed", OBSERVED, ids=BY_NAME)
    def test_each_is_a_run(self, observed: Observed, capsys: Capture) -> None:
        """Every event of it is one of a run of the model, of the size of the trace."""
        assert 0 == main(["accepts", observed.model, str(observed.path)])
        n = len(events_in(observed))
        instance = "objects" if observed.model == "vllm_offload" else "traced"
        said = f"accepted: {n} of {n} events are a run of {observed.model}:{instance}"
        assert capsys.readouterr().out.startswith(said)

    @pytest.mark.parametrize("observed", EVICTING, ids=lambda each: each.path.stem)
    def test_another_victim(self, observed: Observed, judged: Judge) -> None:
        """With two victims in another order it is none; the line is named, and the block due."""
        lines = lines_of(observed)
        at = next(
            n
            for n, line in enumerate(lines)
            if len(line.get("block_ids", ())) > 1 and line["kind"] == Kind.BLOCK_EVICTED
        )
        first, second, *rest = lines[at]["block_ids"]
        lines[at]["block_ids"] = [second, first, *rest]
        found = judged(observed, lines)
        assert REJECTED == found.verdict
        assert found.at is not None
        assert at + 1 == found.at.line
        assert any(
            f"with block_ids [{first}] where the trace has [{second}]" in each
            for each in found.instead
        )

    @pytest.mark.parametrize("observed", EVICTING, ids=lambda each: each.path.stem)
    def test_a_victim_too_few(self, observed: Observed, judged: Judge) -> None:
        """Without the last victim it is none: the next event cannot come before that block."""
        lines = lines_of(observed)
        at = next(n for n, line in enumerate(lines) if line["kind"] == Kind.BLOCK_EVICTED)
        lines[at]["block_ids"].pop()
        found = judged(observed, lines)
        assert REJECTED == found.verdict
        assert found.at is not None
        assert at + 1 < found.at.line
        assert any(Kind.BLOCK_EVICTED in each for each in found.instead)

    @pytest.mark.parametrize("name", ["best effort", "path C, two claims not enforced"])
    def test_another_look_up(self, name: str, judged: Judge) -> None:
        """A look-up that finds a block more is none, at its line."""
        lines = lines_of(BY_NAME[name])
        at = [n for n, line in enumerate(lines) if line["kind"] == Kind.PREFIX_LOOKUP][1]
        held = lines[at]["held"]
        lines[at]["held"] = held + 1
        found = judged(BY_NAME[name], lines)
        assert found.at is not None
        assert (REJECTED, at + 1) == (found.verdict, found.at.line)
        says = f"with held {held} where the trace has {held + 1}"
        assert any(says in each for each in found.instead)

    def test_a_block_cached_twice(self, judged: Judge) -> None:
        """A block that is cached for another request while it holds something is none."""
        lines = lines_of(BY_NAME["L1 native"])
        at = [n for n, line in enumerate(lines) if line["kind"] == Kind.BLOCK_CACHED][1]
        lines[at]["block_ids"][0] = 1
        found = judged(BY_NAME["L1 native"], lines)
        assert found.at is not None
        assert (REJECTED, at + 1) == (found.verdict, found.at.line)

    def test_the_policy_is_found(self) -> None:
        """What becomes of a failed load tells the policy; the other one makes no such run."""
        path = str(BY_NAME["control: fallback recompute"].path)
        (found,) = acceptance("vllm_offload", path).streams
        assert (ACCEPTED, "objects-recompute") == (found.verdict, found.instance)
        (other,) = acceptance("vllm_offload:objects-fail", path).streams
        assert REJECTED == other.verdict
        assert ("fail(request:4, 4): request_finished request:4",) == other.instead

    @pytest.mark.parametrize("scene", ["hard", "demotable, reset", "priority", "offloadable"])
    def test_enforcement_is_no_run_of_vllm(self, scene: str) -> None:
        """What the plugin enforces vLLM does not do: refusals, victims, and orders are others."""
        path = next(each.path for each in RECORDED if each.scene == scene)
        model = "vllm_offload:objects-fail" if scene == "offloadable" else "vllm_pool"
        assert REJECTED == acceptance(model, str(path)).verdict


class _FirstBlockFirst(VllmPool):
    """A pool that frees the first block of a request first, and not the last."""

    def _finish(self, state: State, name: str) -> Any:
        after, emits = super()._finish(state, name)
        before = len(state.free)
        return after._replace(free=(*after.free[:before], *after.free[before:][::-1])), emits


class TestModel:
    def test_a_wrong_model_rejects(self) -> None:
        """A pool with another order of its free queue does not make the recorded victims."""
        events = events_in(BY_NAME["L1 native"])
        ((_, right),) = pools_of(events)
        inner = right.inner
        wrong = Hooked(_FirstBlockFirst(inner.blocks, tuple(inner.prompts.values()), {}))
        facts = [event for _, event in facts_of(events)]
        assert accepts(right, facts).verdict == ACCEPTED
        found = accepts(wrong, facts)
        assert REJECTED == found.verdict
        assert Kind.BLOCK_EVICTED == facts[found.taken].kind

    @pytest.mark.parametrize("trees", [False, True], ids=["parts of objects", "parts of prompts"])
    def test_random_runs(self, trees: bool) -> None:
        """What a pool does with requests one by one is a run of the pool that its trace shows."""
        for seed in range(150):
            events = list(_one_by_one(seed, trees))
            facts = [event for _, event in facts_of(events)]
            found = (accepts(each, facts) for _, each in pools_of(events))
            assert any(each.verdict == ACCEPTED for each in found), seed


BRANCHES = (
    Prompt("r1", "a", 4, 0, tail=1),
    Prompt("r2", "a", 2, 2, tail=1),
    Prompt("r3", "a", 2, 1, tail=1, between=(("r2", 2),)),
    Prompt("r4", "b", 4, 0, tail=1),
    Prompt("r5", "a", 2, 1, tail=1, between=(("r2", 2),)),
)
"""The third prompt begins with the own part of the second, and that with a part of the first."""


class TestTooMany:
    def test_nothing_is_rejected(self, tmp_path: Path, capsys: Capture) -> None:
        """Where a trace leaves more open than is tried, no run is undecided, and exits with 3."""
        prompts = [Prompt(f"r{at}", f"o{at}", 2, 0, tail=1) for at in range(5)]
        more = [Prompt(f"m{at}", "o0", 2, 1, tail=1) for at in range(3)]
        last = Prompt("last", "z", 40, 0, tail=1)
        events = list(_served([*prompts, *more, last], 41))
        at = next(at for at, event in enumerate(events) if event.kind is Kind.BLOCK_EVICTED)
        wrong = [*events]
        wrong[at], wrong[at + 1] = events[at + 1], events[at]
        assert (ACCEPTED, UNDECIDED) == (_verdict(events, tmp_path), _verdict(wrong, tmp_path))
        assert 3 == main(["accepts", "vllm_pool", str(tmp_path / "trace.jsonl")])
        assert "in more than 64 ways" in capsys.readouterr().out


def _verdict(events: list[Event], folder: Path) -> str:
    file = folder / "trace.jsonl"
    file.write_bytes(as_jsonl(events))
    return acceptance("vllm_pool", str(file)).verdict


class TestParts:
    """The connector's model stores objects as wholes, and a prompt may have a part of one."""

    ROW = BY_NAME["control: ordinary offload"]

    def test_a_wrong_step_is_undecided(self, tmp_path: Path, capsys: Capture) -> None:
        """Where prompts may share parts nothing is rejected; a named instance rules that out."""
        lines = lines_of(self.ROW)
        evicts = next(line for line in lines if line["kind"] == Kind.BLOCK_EVICTED)
        evicts["block_ids"] = evicts["block_ids"][::-1]
        file = tmp_path / "trace.jsonl"
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        assert 3 == main(["accepts", "vllm_offload", str(file)])
        assert "prompts may share parts of objects" in capsys.readouterr().out
        assert 1 == main(["accepts", "vllm_offload:objects-fail", str(file)])

    def test_a_prompt_that_ends_within_a_block(self, tmp_path: Path, capsys: Capture) -> None:
        """One that needs a block behind its whole ones is no object: nothing is decided."""
        lines = lines_of(self.ROW)
        for line in lines:
            if line["kind"] == Kind.REQUEST_ARRIVED:
                line["needed"] += 1
        file = tmp_path / "trace.jsonl"
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        assert 3 == main(["accepts", "vllm_offload", str(file)])
        assert "undecided: 0 of" in capsys.readouterr().out


class TestBranches:
    """A prompt that begins with what another one has beyond what both share with a third."""

    def trace(self) -> list[Event]:
        return list(_served(BRANCHES, 9))

    def first(self, kind: Kind, events: list[Event]) -> int:
        return next(at for at, event in enumerate(events) if event.kind is kind)

    def found(self, events: list[Event]) -> list[bool]:
        """Whether it is a run, by each possibility; there may be none."""
        facts = [event for _, event in facts_of(events)]
        try:
            pools = [pool for _, pool in pools_of(events)]
        except SpecError:
            return []
        return [accepts(each, facts).verdict == ACCEPTED for each in pools]

    def test_it_is_a_run(self) -> None:
        """Which prompt the third one begins like shows in the victims of the fourth."""
        found = self.found(self.trace())
        assert (1, True) == (sum(found), len(found) > 1)

    def test_the_victims_of_the_other_beginning(self) -> None:
        """If it began like the first prompt other blocks would be older: that is a run, too."""
        events, prompts = self.trace(), [*BRANCHES]
        prompts[2] = Prompt("r3", "a", 4, 1, tail=1)
        others = list(_served(prompts, 9))
        at = self.first(Kind.BLOCK_EVICTED, events)
        assert events[:at] == others[:at]
        assert events[at] != others[at]
        assert any(self.found(others))

    @pytest.mark.parametrize("swapped", [(0, 1), (1, 2), (0, 2)])
    def test_victims_in_another_order(self, swapped: tuple[int, int]) -> None:
        """The last block of a prompt is older than the ones before it, whatever it begins with."""
        events = self.trace()
        one, other = (self.first(Kind.BLOCK_EVICTED, events) + at for at in swapped)
        assert events[one].kind is events[other].kind is Kind.BLOCK_EVICTED
        events[one], events[other] = events[other], events[one]
        assert not any(self.found(events))

    @pytest.mark.parametrize("victim", [0, 1])
    @pytest.mark.parametrize("block", [0, 1, 4, 5])
    def test_another_victim(self, victim: int, block: int) -> None:
        """A block that was used last is no victim, nor one that the fifth prompt finds."""
        events = self.trace()
        at = self.first(Kind.BLOCK_EVICTED, events) + victim
        events[at] = msgspec.structs.replace(events[at], block_ids=(block,))
        assert not any(self.found(events))

    def test_more_than_was_cached(self) -> None:
        """The fifth prompt cannot find what was a victim of the fourth one."""
        events = self.trace()
        at = max(at for at, each in enumerate(events) if each.positions)
        assert ("r5", (4,)) == (events[at].request_id, events[at].positions)
        events[at] = msgspec.structs.replace(events[at], positions=(5,))
        with pytest.raises(SpecError, match="shares with the ones before it is undetermined"):
            next(pools_of(events))

    def test_fewer_than_were_cached(self) -> None:
        """Two blocks with one content are not both found: a run has no third one beside them."""
        events = self.trace()
        at = next(n for n, e in enumerate(events) if e.request_id == "r3" and e.positions)
        more = msgspec.structs.replace(events[at], positions=(3,), block_ids=(8,))
        assert not any(self.found([*events[:at], more, *events[at:]]))

    def test_the_plugin(self) -> None:
        """The model of the plugin has such runs, too, and not with victims in another order."""
        prompts = [Part(*each[:5], between=each.between) for each in BRANCHES]
        plugin = Plugin(9, [], prompts, enforce=False)
        (state,), events = plugin.initial(), list[Event]()
        for each in prompts:
            for step in ("arrive", "schedule", "computed", "finish"):
                state, emits = plugin.apply(state, Action(step, (each.name,)))
                events += events_of(PLAIN, emits)
        assert any(accepts(each, events).verdict == ACCEPTED for _, each in plugins_of(events))
        at = self.first(Kind.BLOCK_EVICTED, events)
        turned = events[at].block_ids[::-1]
        assert len(turned) > 1
        events[at] = msgspec.structs.replace(events[at], block_ids=turned)
        found = [accepts(each, events) for _, each in plugins_of(events)]
        assert all(each.verdict == REJECTED for each in found)


def _one_by_one(seed: int, trees: bool) -> Iterator[Event]:
    """The trace of a pool that serves a few requests, each a part of one of two objects or new.

    Args:
        trees: prompts begin with parts of earlier ones, whatever these are of.
    """
    chosen = random.Random(seed)
    prompts = list[Prompt]()
    for number in range(chosen.randint(1, 5)):
        shared, tail = chosen.randint(0, 3), chosen.randint(0, 1)
        own = 0 if shared else chosen.randint(1, 3)
        name, of, between = f"r{number}", chosen.choice("ab"), tuple[tuple[str, int], ...]()
        if trees and prompts and chosen.random() < 0.8:
            like = chosen.choice(prompts)
            parts = [*like.between, (like.request_id, like.own)]
            cut = [(each, chosen.randint(1, size)) for each, size in parts[-1:] if size]
            of, shared, between = like.object_id, like.shared, (*parts[:-1], *cut)
            own = chosen.randint(not tail, 2)
        elif trees:
            shared, own = 0, chosen.randint(1, 3)
        exact = not tail
        prompts.append(Prompt(name, of, shared, own, tail=tail, exact=exact, between=between))
    yield from _served(prompts, 7)


def _served(prompts: Sequence[Prompt], blocks: int) -> Iterator[Event]:
    """The trace of a pool that serves requests one by one."""
    pool = Hooked(VllmPool(blocks, tuple(prompts), {}))
    (state,) = pool.initial()
    for prompt in prompts:
        for step in ("arrive", "admit", "output", "finish"):
            state, told = _do(pool, state, Action(step, (prompt.request_id,)))
            for event in told:
                needed = prompt.blocks if event.kind is Kind.REQUEST_ARRIVED else None
                yield msgspec.structs.replace(event, needed=needed)


def _do(pool: Hooked, state: HookedState, action: Action) -> tuple[HookedState, list[Event]]:
    if action not in pool.actions(state):
        return state, []  # nothing to compute
    after, emits = pool.apply(state, action)
    return after, events_of(PLAIN, emits)


class TestOpen:
    """What a trace leaves open."""

    def test_no_request(self) -> None:
        """The size of the pool is in the arrivals."""
        with pytest.raises(SpecError, match="no request arrives"):
            next(pools_of([]))

    def test_a_look_up_of_nobodys_claim(self) -> None:
        """A look-up for a claim that is not registered leaves the prompt open."""
        events = [
            e for e in events_in(BY_NAME["best effort"]) if e.claim_id is None or e.request_id
        ]
        with pytest.raises(SpecError, match="is for no claim that the stream registers"):
            next(pools_of(events))

    def test_a_part_of_another_prompt(self, tmp_path: Path, capsys: Capture) -> None:
        """Where nothing that came before can be what a request found, one line says so."""
        lines = lines_of(BY_NAME["L1 native"])
        cached = next(line for line in lines if line["kind"] == Kind.BLOCK_CACHED)
        cached["positions"] = [at + 1 for at in cached["positions"]]
        file = tmp_path / "trace.jsonl"
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        assert 2 == main(["accepts", "vllm_pool", str(file)])
        assert "what request request:1 shares with the ones before it" in capsys.readouterr().err
