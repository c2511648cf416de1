"""Tests of the explorer: what its pages show of a model, and what it refuses."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.counterexamples import Shortest
from models.explorer import starts
from models.explorer.links import url
from models.explorer.server import HEADERS, app_of
from models.explorer.starts import OWN, Start, starts_of
from models.explorer.walk import LONGEST, replay
from models.framework.model import Action, Model, Next, fact, signal
from models.registry import RUNTIMES, inferences, runtime
from monitor.check.events import EventMonitor
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.language.errors import SpecError
from tests.models.explorer.asking import Page, ask

INFERRED = [name for name in RUNTIMES if runtime(name).inferences]
HARM = "block-removed-claim-harm"


@cache
def started(name: str) -> dict[str, Start]:
    """The starts of a model, loaded once."""
    return starts_of(name)


@cache
def app(name: str) -> Any:
    """The application for a model."""
    return app_of(name, started(name))


def violated(trace: str, mode: Mode | None) -> set[str]:
    """The obligations that the monitor finds violated in a trace."""
    monitor = EventMonitor(None if mode is None else str(mode))
    for line in trace.splitlines():
        monitor.feed(msgspec.json.decode(line))
    return {name for name, found in monitor.finish().obligations.items() if found == "violated"}


def named(path: str) -> dict[str, str]:
    """The links of a page of vllm_pool by their texts."""
    return {text: href for href, text in Page(ask(app("vllm_pool"), path).text).links}


class Ticks(NamedTuple):
    """The state of a clock."""

    at: int = 0
    who: str = "<i>nobody</i>"


class Clock(Model[Ticks]):
    """A clock that never stops, with names that a browser must not obey."""

    name = "<script>alert(1)</script>"
    about = source = left_out = name

    def initial(self) -> list[Ticks]:
        return [Ticks()]

    def actions(self, state: Ticks) -> list[Action]:
        return [Action("<script>", ('"><img src=x>',))]

    def apply(self, state: Ticks, action: Action) -> Next[Ticks]:
        return Next(Ticks(state.at + 1), (signal("<script>ring", "</text><script>"),))


class Broken(Clock):
    """One that emits what is no event."""

    def apply(self, state: Ticks, action: Action) -> Next[Ticks]:
        return Next(state, ("<script>",))  # type: ignore[arg-type]


class Twice(Clock):
    """One whose request arrives whenever the clock ticks."""

    def apply(self, state: Ticks, action: Action) -> Next[Ticks]:
        arrives = fact(Kind.REQUEST_ARRIVED, request_id="r1", needed=1, usable=1)
        return Next(Ticks(state.at + 1), (arrives,))


CLOCK = app_of("<script>", {OWN: Start(OWN, "<script>", "<script>", Clock())})


class TestStates:
    def test_every_state_is_reached_by_links(self) -> None:
        """Links lead to each of the 34 states and 57 transitions of vllm_pool, with the actions
        of the model and no others.
        """
        start = started("vllm_pool")[OWN]
        todo, seen, transitions = [url(start)], set(), 0
        while todo:
            here = todo.pop()
            numbers = [int(each) for each in here.split("/")[-1].split(".") if each]
            state = replay(start, numbers).states[-1]
            if state in seen:
                continue
            seen.add(state)
            answer = ask(app("vllm_pool"), here)
            assert 200 == answer.status
            choices = Page(answer.text).choices(here)
            assert list(map(str, start.model.actions(state))) == [text for _, text in choices]
            transitions += len(choices)
            beyond = f"{here if here.endswith('/') else f'{here}.'}{len(choices)}"
            assert 404 == ask(app("vllm_pool"), beyond).status
            todo += [href for href, _ in choices]
        assert (34, 57) == (len(seen), transitions)

    def test_one_first_state(self) -> None:
        """Each model has one first state, in which every exploration begins."""
        models = [make() for name in RUNTIMES for make in runtime(name).variants.values()]
        models += [each.model() for each in inferences()]
        assert {1} == {len(list(model.initial())) for model in models}

    @pytest.mark.parametrize("name", ["vllm_pool", "micro:offload_resident"])
    @settings(max_examples=25, deadline=None)
    @given(st.data())
    def test_walk(self, name: str, data: st.DataObject) -> None:
        """On a random walk a page says before an action what it changes, and after it has changed;
        what is violated on the page is what the monitor finds in the trace of the page.
        """
        start = data.draw(st.sampled_from(list(started(name).values())))
        numbers: tuple[int, ...] = ()
        for _ in range(data.draw(st.integers(0, 8))):
            before = replay(start, numbers)
            if not before.choices:
                break
            chosen = data.draw(st.sampled_from(before.choices))
            numbers = (*numbers, chosen.number)
            assert chosen == replay(start, numbers).taken[-1]
        path = url(start, numbers)
        page = Page(ask(app(name), path).text)
        trace = ask(app(name), f"{path}/trace.jsonl").text if numbers else ""
        assert violated(trace, start.mode) == page.violated

    def test_longest(self) -> None:
        """A run of the most actions offers none, and a longer one is no page."""
        full = f"/{OWN}/{'.'.join(['0'] * LONGEST)}"
        page = ask(CLOCK, full)
        assert (200, []) == (page.status, Page(page.text).choices(full))
        assert f"A run has {LONGEST} actions at most here." in page.text
        assert 404 == ask(CLOCK, f"{full}.0").status


class TestCounterexamples:
    @pytest.mark.parametrize("name", INFERRED)
    def test_each_is_walked(self, name: str) -> None:
        """The page of the start leads to the shortest run. Its obligation is violated at the last
        action and not before, and the monitor finds violated in the trace what the page shows.
        """
        for start in list(started(name).values())[1:]:
            assert start.run is not None
            last = url(start, start.run.taken)
            assert last in dict(Page(ask(app(name), url(start)).text).links)
            for at in range(1, len(start.run.taken) + 1):
                here = url(start, start.run.taken[:at])
                text = ask(app(name), here).text
                shown = Page(text).violated
                assert (here == last) == (start.run.obligation in shown)
                assert f"action {at} of {len(start.run.taken)}" in text
                assert f"resident-claims check trace.jsonl --mode {start.mode}</code>" in text
            trace = ask(app(name), f"{last}/trace.jsonl").text
            assert violated(trace, start.mode) == shown

    def test_steps(self) -> None:
        """`next` and `previous` follow the run; off the run a page leads back to it."""
        links = named(f"/{HARM}/1.1")
        assert f"/{HARM}/1.1.1" == links["next"]
        assert f"/{HARM}/1" == links["previous"]
        assert f"/{HARM}/1.1.1.1.1" == links["last"]
        off = named(f"/{HARM}/0")
        assert "next" not in off
        assert f"/{HARM}/1.1.1.1.1" == off["breaks claim_harm_attribution in 5 actions"]

    def test_with_an_inference(self) -> None:
        """With an inference there is one start; a variant that is named has no recorded run."""
        name = "block_removed -> claim_harm"
        assert [HARM] == list(starts_of("vllm_pool", name))
        assert starts_of("vllm_pool:no_admit", name)[HARM].run is None

    def test_a_stale_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A recorded run that the model does not have any more is refused, with what to do."""
        stale = Shortest("claim_harm_attribution", ("arrive(r1)", "dance"))
        monkeypatch.setattr(starts, "shortest", lambda name: stale)
        with pytest.raises(SpecError, match="make suite"):
            starts_of("vllm_pool", "block_removed -> claim_harm")


class TestRefused:
    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
    def test_methods(self, method: str) -> None:
        """Nothing but GET (and HEAD) is answered."""
        assert 405 == ask(app("vllm_pool"), f"/{HARM}/1", method).status

    @pytest.mark.parametrize(
        ("host", "status"),
        [
            ("127.0.0.1:8765", 200),
            ("localhost", 200),
            ("LOCALHOST:1", 200),
            ("evil.example", 400),
            ("127.0.0.1.evil.example", 400),
            ("localhost.evil.example:8765", 400),
            ("www.localhost", 400),
            ("", 400),
            (None, 400),
        ],
    )
    def test_hosts(self, host: str | None, status: int) -> None:
        """A Host header with a name that is none of this machine is refused (DNS rebinding)."""
        for path in ("/", "/style.css", f"/{HARM}/1"):
            assert status == ask(app("vllm_pool"), path, host=host).status

    @pytest.mark.parametrize(
        "path",
        [
            "/nothing/",
            f"/{HARM}/9",
            f"/{HARM}/-1",
            f"/{HARM}/1.",
            f"/{HARM}/1..1",
            f"/{HARM}/x",
            f"/{HARM}/\u0661",
            f"/{HARM}/1000",
            f"/{HARM}/{'1.' * 5000}1",
            f"/{HARM}/<script>",
            f"/{HARM}/1/trace",
            "/../secret",
        ],
    )
    def test_paths(self, path: str) -> None:
        """What is no state of the model is no page, and its text is not repeated as HTML."""
        answer = ask(app("vllm_pool"), path)
        assert 404 == answer.status
        assert "<script" not in answer.text

    def test_facts_that_contradict(self) -> None:
        """A page says from where on the facts of a model contradict each other."""
        twice = app_of("twice", {OWN: Start(OWN, "twice", "", Twice())})
        said = ["contradict each other" in ask(twice, f"/{OWN}/{at}").text for at in ("0", "0.0")]
        assert [False, True] == said

    def test_a_model_that_fails(self) -> None:
        """An action that emits what is no event is named on a page of its own."""
        answer = ask(app_of("broken", {OWN: Start(OWN, "broken", "", Broken())}), f"/{OWN}/0")
        assert 500 == answer.status
        assert "is no event" in answer.text
        assert "<script" not in answer.text


class TestPages:
    PATHS = ("/", f"/{HARM}/", f"/{HARM}/1.1.1.1.1", f"/{HARM}/9", "/style.css", "/x/y/z")

    @pytest.mark.parametrize("path", PATHS)
    def test_headers(self, path: str) -> None:
        """Every answer has the policy, refusals too: no script, and nothing from elsewhere."""
        for host in ("localhost", "evil.example"):
            answer = ask(app("vllm_pool"), path, host=host)
            assert HEADERS.items() <= answer.headers.items()
        assert "default-src 'none'" in HEADERS["content-security-policy"]

    @pytest.mark.parametrize("path", PATHS[:4])
    def test_nothing_from_elsewhere(self, path: str) -> None:
        """A page has no script, no inline style and no handler, and all its links stay here."""
        for tag, attributes in Page(ask(app("vllm_pool"), path).text).tags:
            assert tag not in {"script", "style", "iframe", "img", "form", "base"}
            assert not any(name == "style" or name.startswith("on") for name in attributes)
            for name in ("href", "src"):
                assert re.match(r"/(?!/)", attributes.get(name) or "/here")

    @pytest.mark.parametrize("path", ["/", f"/{OWN}/", f"/{OWN}/0.0"])
    def test_text_stays_text(self, path: str) -> None:
        """What a model calls its parts is escaped wherever it stands."""
        text = ask(CLOCK, path).text
        assert "&lt;script&gt;" in text
        tags = {tag for tag, _ in Page(text).tags}
        assert not tags & {"script", "img", "i"}

    def test_keys(self) -> None:
        """Actions, the way back and the counterexample have access keys, each of them once."""
        tags = Page(ask(app("vllm_pool"), f"/{HARM}/1.1").text).tags
        keys = [given["accesskey"] for _, given in tags if "accesskey" in given]
        assert {"0", "1", "b", "n", "p"} <= set(keys)
        assert len(keys) == len(set(keys))
