"""A sweep simulates each policy with each value that it has, and says where more saves little."""

import json
from pathlib import Path

import msgspec
import pytest

from models.__main__ import main
from models.experiments.agents import jobs
from models.experiments.command import can_draw
from models.simulation.command import compare
from models.simulation.policies import chosen
from models.simulation.sweep import Axis, Point, axis_of, finding, gains, swept
from models.simulation.workload.full import written
from spec.language.errors import SpecError


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Sixteen jobs, in a file."""
    found = jobs(8.0, 2.0)
    path = tmp_path_factory.mktemp("sweep") / "jobs.jsonl"
    path.write_bytes(b"".join(written(found)))
    return str(path)


class TestAxes:
    """--sweep NAME=FIRST..LAST/VALUES"""

    @pytest.mark.parametrize(
        ("text", "values"),
        [
            ("blocks=1000..8000", (1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000)),
            ("blocks=1..3/8", (1, 2, 3)),
            ("ttl=10..40/2", (10, 40)),
            ("quota=0.1..0.3/3", (0.1, 0.2, 0.3)),
        ],
    )
    def test_values(self, text: str, values: tuple[float, ...]) -> None:
        """Values are evenly spaced, whole where both ends are, and eight by default."""
        assert Axis(text.partition("=")[0], values) == axis_of(text)

    @pytest.mark.parametrize(
        "text",
        ["blocks", "blocks=1", "blocks=5..5", "ttl=9..1", "ttl=1..2/1", "blocks=0..5", "ttl=a..b",
         "blocks=1.5..3", "blocks=1..99999999999", f"ttl=1..{'9' * 400}"],
    )  # fmt: skip
    def test_mistakes(self, text: str) -> None:
        """A text without two values in order is refused."""
        with pytest.raises(SpecError, match="--sweep"):
            axis_of(text)


class TestSwept:
    """What is simulated."""

    def test_a_policy_has_its_options_alone(self) -> None:
        """lru has no time-to-live, so it runs once for each pool; pins run for each pair."""
        found = jobs(8.0, 2.0)
        asked: list[tuple[str, int]] = []

        def run(policy: object, blocks: int) -> object:
            asked.append((policy.text, blocks))  # type: ignore[attr-defined]
            return compare(found, [policy], blocks)[0]  # type: ignore[list-item]

        axes = [axis_of("blocks=600..1200/2"), axis_of("ttl=0.5..5/2")]
        points = swept(axes, [chosen("lru"), chosen("pin")], None, run)  # type: ignore[arg-type]
        assert [
            ("lru", 600), ("lru", 1200), ("pin:ttl=0.5", 600), ("pin:ttl=5.0", 600),
            ("pin:ttl=0.5", 1200), ("pin:ttl=5.0", 1200),
        ] == asked  # fmt: skip
        assert [{"blocks": 600}, {"blocks": 1200}] == [point.at for point in points[:2]]
        alone = compare(found, [chosen("pin:ttl=5")], 1200)[0]
        assert alone.saved == points[-1].summary.saved

    @pytest.mark.parametrize(
        ("sweeps", "policies", "blocks"),
        [
            (["ttl=1..2"], ["lru"], 100),
            (["ttl=1..2"], ["pin"], None),
            (["blocks=1..2"], ["pin"], 100),
            (["ttl=1..2", "ttl=3..4"], ["pin"], 100),
            (["blocks=1..900/900"], ["pin"], None),
        ],
        ids=["no option", "no pool", "two pools", "twice", "too many"],
    )
    def test_mistakes(self, sweeps: list[str], policies: list[str], blocks: int | None) -> None:
        """What cannot be swept is refused before anything is simulated."""
        with pytest.raises(SpecError):
            swept([axis_of(s) for s in sweeps], [chosen(p) for p in policies], blocks, None)  # type: ignore[arg-type]


class TestGains:
    """From where on more saves little."""

    def points(self, *saved: int) -> list[Point]:
        """Points with these shares of 1,000 prompt tokens saved, at 1, 2, 3..."""
        (some,) = compare(jobs(8.0, 0.5), [chosen("lru")], 5_000)
        return [
            Point(
                {"ttl": float(at)},
                "pin",
                msgspec.structs.replace(some, prompt_tokens=1000, hit_tokens=each, loaded_tokens=0),
            )
            for at, each in enumerate(saved, 1)
        ]

    def test_enough(self) -> None:
        """The first value from which on less than a point is gained."""
        assert ["pin: ttl past 3 saves less than a point more."] == gains(
            self.points(100, 500, 792, 800, 801)
        )

    def test_not_monotonic(self) -> None:
        """A value after which another saves more is not enough, whatever the last one saves."""
        says = "pin: ttl past 2 saves less than a point more."
        assert [says] == gains(self.points(300, 900, 305))

    def test_other_option(self) -> None:
        """Values of the other option with one answer share a sentence, and are named if not all."""
        some = self.points(100, 500, 505)
        both = [
            msgspec.structs.replace(each, at={**each.at, "blocks": blocks})
            for blocks in (7.0, 8.0)
            for each in some
        ]
        says = "ttl past 2 saves less than a point more."
        alone = "ttl past 1 saves less than a point more."
        assert f"pin: {says}" == gains(both)[0]
        flat = [msgspec.structs.replace(e, at={**e.at, "blocks": 9.0}) for e in self.points(1, 1)]
        assert [f"pin, blocks 7/8: {says}", f"pin, blocks 9: {alone}"] == gains([*both, *flat])[:2]

    def test_never_enough(self) -> None:
        """Where the last step still gains, no value is enough."""
        (says,) = gains(self.points(100, 200, 300))
        assert "largest" in says

    def test_finding(self) -> None:
        """The title names the best value, and how long requests wait with it."""
        points = self.points(100, 200, 300)
        assert "pin saves 30% of prompt tokens at ttl 3" == finding(points)
        (first, *_) = points
        waits = msgspec.structs.replace(
            first.summary, wait_s=msgspec.structs.replace(first.summary.wait_s, p99=25.84)
        )
        assert "pin saves 10% of prompt tokens at ttl 1 (99 of 100 wait at most 25.8 s)" == finding(
            [msgspec.structs.replace(first, summary=waits)]
        )
        lru = msgspec.structs.replace(points[-1], at={}, policy="lru")
        assert "lru saves 30% of prompt tokens; pin 10% at most" == finding([lru, first])


class TestCommand:
    """simulate --sweep --plot"""

    def test_table_and_json(self, workload: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Text has a line for each simulation, JSON the same with all figures."""
        asked = ["simulate", workload, "--policy", "pin", "--sweep", "blocks=600..1200/2"]
        assert 0 == main([*asked, "--sweep", "ttl=0.5..5/2"])
        text = capsys.readouterr().out
        assert 6 == sum(line.endswith(("lru", "pin")) for line in text.splitlines())
        assert max(map(len, text.splitlines())) <= 80
        assert 0 == main([*asked, "--sweep", "ttl=0.5..5/2", "--format", "json"])
        assert 6 == len(json.loads(capsys.readouterr().out)["sweep"])

    @pytest.mark.skipif(not can_draw(), reason="the extra plots is not installed")
    @pytest.mark.parametrize(("form", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
    def test_plot(self, workload: str, tmp_path: Path, form: str, begins: bytes) -> None:
        """The same sweep draws the same bytes, as SVG and as PNG."""
        made = []
        for name in ("one", "two"):
            path = tmp_path / f"{name}.{form}"
            options = ["--sweep", "blocks=600..1200/3", "--plot", str(path)]
            assert 0 == main(["simulate", workload, *options])
            made.append(path.read_bytes())
        assert made[0] == made[1]
        assert made[0].startswith(begins)

    @pytest.mark.parametrize(
        "options",
        [
            [],
            ["--blocks", "100", "--plot", "x.svg"],
            ["--sweep", "blocks=600..1200", "--plot", "x.gif"],
            ["--sweep", "blocks=600..1200", "--rows", "x.jsonl"],
            ["--sweep", "blocks=600"],
        ],
        ids=["no pool", "no sweep", "no figure", "rows", "no range"],
    )
    def test_mistakes(
        self, workload: str, options: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Each is bad input, in one line."""
        assert 2 == main(["simulate", workload, *options])
        assert capsys.readouterr().err.startswith("error: ")
        assert not Path("x.svg").exists()
