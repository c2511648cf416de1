"""Tests of the times of tools, and of pins that follow from them."""

from random import Random

import pytest

from models.simulation.tools import Means, Predictor, Quantiles, pin_seconds


def test_pins_of_the_note() -> None:
    """The note's log: turns with a fast tool are pinned for 2.0 s."""
    means = Means()
    assert [2.0] * 4 == [pin_seconds(means, tool) for tool in ("ls", "cat", "grep", "git")]


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
    """Tests of ContextServe's pins."""

    @pytest.mark.parametrize("tool", ["ls", "cat", "pwd", "git status"])
    def test_fast_by_rule(self, tool: str) -> None:
        """Tools of the note's fast set are pinned for 3.0 s, whatever was observed."""
        predictor = Predictor()
        predictor.observe(tool, 60.0)
        assert 3.0 == predictor.seconds(tool)

    @pytest.mark.parametrize("tool", ["make", "pip install", "docker build", "pytest"])
    def test_slow_by_rule(self, tool: str) -> None:
        """The note's slow tools give their blocks back at once."""
        assert 0.0 == Predictor().seconds(tool)

    def test_uncertain_as_continuum(self) -> None:
        """With fewer than three observations the pin is Continuum's."""
        predictor = Predictor()
        assert 2.0 == predictor.seconds("curl")
        predictor.observe("curl", 9.0)
        assert 0.0 == predictor.seconds("curl")

    def test_pins_outlast_the_share(self) -> None:
        """After 200 calls of a known lognormal time, a pin covers about nine calls of ten."""
        chance, predictor = Random(1), Predictor(0.9, seed=2)
        calls = [0.3 * 2.718281828 ** chance.gauss(0.0, 0.5) for _ in range(200)]
        for seconds in calls:
            predictor.observe("sed", seconds)
        pins = [predictor.seconds("sed") for _ in range(50)]
        mean = sum(pins) / len(pins)
        covered = sum(seconds <= mean for seconds in calls) / len(calls)
        assert 0.85 <= covered <= 0.95

    def test_slow_by_observation(self) -> None:
        """A tool that always takes 30 s is not pinned, once it was observed three times."""
        predictor = Predictor()
        for _ in range(20):
            predictor.observe("cargo", 30.0)
        assert 0.0 == predictor.seconds("cargo")

    def test_the_seed_decides(self) -> None:
        """The same seed draws the same pins."""

        def pins(seed: int) -> list[float]:
            predictor = Predictor(seed=seed)
            for _ in range(5):
                predictor.observe("sed", 0.2)
            return [predictor.seconds("sed") for _ in range(5)]

        assert pins(1) == pins(1) != pins(2)
