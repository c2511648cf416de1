"""Tests of the times of tools, and of pins that follow from them."""

from random import Random

import pytest

from models.simulation.tools import (
    Dispatch,
    Means,
    Predictor,
    Quantiles,
    Speed,
    command_of,
    pin_seconds,
    tool_of,
)

NOTE = ("ls", "cat main.py", 'grep -r "TODO" .', "git status", "pytest")
"""The commands of the five turns in section 3.3 of the note."""


def test_tools_of_the_note() -> None:
    """The five answers of the note call the tools that its log shows."""
    answers = [f"I will look.\n```bash\n{command}\n```" for command in NOTE]
    assert [*NOTE] == [command_of(answer) for answer in answers]
    assert ["ls", "cat", "grep", "git", "pytest"] == [tool_of(answer) for answer in answers]


@pytest.mark.parametrize(
    "answer",
    ["", "ls", "```python\nls\n```", "<think>I should run ls", "```bash\nls", "```bash\n\n```"],
)
def test_answers_without_a_tool(answer: str) -> None:
    """Without a whole bash block, as where reasoning takes all tokens, no tool is called."""
    assert tool_of(answer) is None


def test_the_first_block_counts() -> None:
    """Of two blocks the first one is the call, and its first line the tool."""
    assert "cat" == tool_of("```bash\ncat a\nls\n```\n```bash\nmake\n```")


def test_pins_of_the_note() -> None:
    """The note's log: turns with a fast tool are pinned for 2.0 s, the last turn is not."""
    means = Means()
    assert [2.0] * 4 == [pin_seconds(means, tool) for tool in ("ls", "cat", "grep", "git")]
    assert 0.0 == pin_seconds(means, None)


def test_a_slow_mean_ends_pins() -> None:
    """A tool is pinned while its mean is at most 2.0 s, and again once it is."""
    means = Means()
    pins = []
    for seconds in (2.0, 2.5, 5.0, 0.1, 0.1, 0.1):
        means.observe("pytest", seconds)
        pins.append((round(means.estimate("pytest"), 3), pin_seconds(means, "pytest")))
    expected = [(2.0, 2.0), (2.25, 0.0), (3.167, 0.0), (2.4, 0.0), (1.94, 2.0), (1.633, 2.0)]
    assert expected == pins
    assert 0.0 == means.estimate("ls")


def test_quantiles_of_recent_calls() -> None:
    """A quantile is the least time that reaches the share, of the latest 256 calls alone."""
    times = Quantiles(0.9)
    assert 0.0 == times.estimate("ls")
    for seconds in range(1, 11):
        times.observe("ls", float(seconds))
    assert 9.0 == times.estimate("ls")
    for _ in range(256):
        times.observe("ls", 0.5)
    assert 0.5 == times.estimate("ls")


class TestPredictor:
    """Tests of ContextServe's dispatch."""

    @pytest.mark.parametrize("command", ["ls", "ls -la", "cat x", "pwd", "git status --short"])
    def test_fast_by_rule(self, command: str) -> None:
        """Commands of the note's fast set are pinned for 3.0 s, whatever was observed."""
        predictor = Predictor()
        predictor.observe(command.split()[0], 60.0)
        assert Dispatch(Speed.FAST, 3.0) == predictor.dispatch(command)

    @pytest.mark.parametrize("command", ["make all", "pip install x", "docker build .", "pytest"])
    def test_slow_by_rule(self, command: str) -> None:
        """Commands that begin as the note's slow ones give their blocks back at once."""
        assert Dispatch(Speed.SLOW, 0.0) == Predictor().dispatch(command)

    def test_a_prefix_is_of_words(self) -> None:
        """`makefile-lint` is not `make`, and `pip list` is not `pip install`."""
        for command in ("makefile-lint", "pip list"):
            assert Dispatch(Speed.UNCERTAIN, 2.0) == Predictor().dispatch(command)

    def test_uncertain_as_continuum(self) -> None:
        """With fewer than three observations the pin is Continuum's."""
        predictor = Predictor()
        assert Dispatch(Speed.UNCERTAIN, 2.0) == predictor.dispatch("curl x")
        predictor.observe("curl", 9.0)
        assert Dispatch(Speed.UNCERTAIN, 0.0) == predictor.dispatch("curl x")
        assert Dispatch(Speed.UNCERTAIN, 0.0) == predictor.dispatch(None)

    def test_pins_outlast_the_share(self) -> None:
        """After 200 calls of a known lognormal time, a pin covers about nine calls of ten."""
        chance, predictor = Random(1), Predictor(0.9, seed=2)
        calls = [0.3 * 2.718281828 ** chance.gauss(0.0, 0.5) for _ in range(200)]
        for seconds in calls:
            predictor.observe("sed", seconds)
        pins = [predictor.dispatch("sed -i x") for _ in range(50)]
        assert {Speed.FAST} == {pin.speed for pin in pins}
        mean = sum(pin.seconds for pin in pins) / len(pins)
        covered = sum(seconds <= mean for seconds in calls) / len(calls)
        assert 0.85 <= covered <= 0.95

    def test_slow_by_observation(self) -> None:
        """A tool that always takes 30 s is slow, once it was observed three times."""
        predictor = Predictor()
        for _ in range(20):
            predictor.observe("cargo", 30.0)
        assert Dispatch(Speed.SLOW, 0.0) == predictor.dispatch("cargo build")
        assert 30.0 == predictor.estimate("cargo")

    def test_the_seed_decides(self) -> None:
        """The same seed draws the same pins."""

        def pins(seed: int) -> list[Dispatch]:
            predictor = Predictor(seed=seed)
            for _ in range(5):
                predictor.observe("sed", 0.2)
            return [predictor.dispatch("sed x") for _ in range(5)]

        assert pins(1) == pins(1) != pins(2)
