"""Sweeps a simulation over sizes of pools and options of policies, as a table and as a figure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from models.simulation.advice import enough
from models.simulation.outcome import Summary
from models.simulation.policies import Chosen, chosen
from spec.cli.layout import Page
from spec.installed import how_to_install
from spec.language.errors import SpecError

__all__ = [
    "ONE_GROUP",
    "Axis",
    "Point",
    "axis_of",
    "figure_of",
    "finding",
    "gains",
    "put_sweep",
    "swept",
    "target_of",
]

BLOCKS: Final = "blocks"
ONE_GROUP: Final = (
    "A pool has one group of full attention: windows, states and several groups are not simulated."
)
_VALUES, _MOST, _PANELS, _TITLE = 8, 400, 4, 72
_LARGEST: Final = 1e12
_SHORT: Final = 0.05  # seconds
_FORM: Final = re.compile(r"(\w+)=(\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)(?:/(\d{1,3}))?")


class Axis(NamedTuple):
    """A parameter and its values: `blocks`, or an option of policies."""

    name: str
    values: tuple[float, ...]


class Point(msgspec.Struct, frozen=True):
    """What one policy did with one value of each parameter."""

    at: dict[str, float]
    policy: str
    summary: Summary


def axis_of(text: str) -> Axis:
    """Read `NAME=FIRST..LAST` or `NAME=FIRST..LAST/VALUES`; without, eight values.

    Raises:
        SpecError: it has another form, or no range.
    """
    found = _FORM.fullmatch(text)
    remedy = "write NAME=FIRST..LAST/VALUES, such as blocks=1000..8000/8 or ttl=10..80"
    if not found:
        raise SpecError(f"--sweep {text!r} is no range", remedy)
    name, first, last = found[1], float(found[2]), float(found[3])
    count = int(found[4] or _VALUES)
    if not first < last <= _LARGEST or count < 2:
        raise SpecError(f"--sweep {text!r} has no two values", remedy)
    whole = "." not in found[2] + found[3]
    steps = [first + (last - first) * step / (count - 1) for step in range(count)]
    values = tuple(dict.fromkeys(round(each) if whole else round(each, 6) for each in steps))
    if name == BLOCKS and (not whole or values[0] < 1 or values[-1] > 1 << 24):
        raise SpecError(f"--sweep {text!r} is no number of blocks", remedy)
    return Axis(name, values)


def swept(
    axes: Sequence[Axis],
    policies: Sequence[Chosen],
    blocks: int | None,
    run: Callable[[Chosen, int], Summary],
) -> list[Point]:
    """Simulate each policy with each value of each parameter that it has.

    Args:
        blocks: of a pool, where they are not swept.
        run: simulates a policy with a pool of so many blocks.

    Raises:
        SpecError: a parameter is swept twice, or is no option of any policy; the blocks are stated
            twice or not at all; or there are over 400 simulations.
    """
    names = [axis.name for axis in axes]
    if len(set(names)) < len(names) or len(names) > 2:
        raise SpecError("--sweep takes one or two parameters", "sweep each once")
    if (blocks is None) is (BLOCKS not in names):
        raise SpecError("the size of the pool is stated twice or not at all", "give --blocks once")
    of = {each.text: [n for n in names if n == BLOCKS or _has(each, n)] for each in policies}
    for name in names:
        if not any(name in its for its in of.values()):
            raise SpecError(f"no policy here has the option {name}", "name one, as in --policy pin")
    values = {axis.name: axis.values for axis in axes}
    cases = [
        (each, dict(zip(of[each.text], found, strict=True)))
        for each in policies
        for found in product(*(values[name] for name in of[each.text]))
    ]
    if len(cases) > _MOST:
        raise SpecError(f"{len(cases)} simulations are over {_MOST}", "sweep fewer values")
    return [
        Point(at, each.text, run(_with(each, at), int(at.get(BLOCKS, blocks or 0))))
        for each, at in cases
    ]


def _has(policy: Chosen, option: str) -> bool:
    return option in policy.policy.Options.__struct_fields__


def _with(policy: Chosen, at: Mapping[str, float]) -> Chosen:
    """The policy with these options."""
    options = [f"{name}={value}" for name, value in at.items() if name != BLOCKS]
    if not options:
        return policy
    return chosen(f"{policy.text}{',' if ':' in policy.text else ':'}{','.join(options)}")


def gains(points: Sequence[Point]) -> list[str]:
    """For each policy and swept option, from where on more of it saves little.

    Values of the other option with the same answer share a sentence.
    """
    groups: dict[tuple[str, str, tuple[Any, ...]], dict[float, float]] = {}
    for point in points:
        for name, value in point.at.items():
            rest = tuple((n, v) for n, v in point.at.items() if n != name)
            groups.setdefault((point.policy, name, rest), {})[value] = point.summary.saved
    answers: dict[tuple[str, str], dict[float | None, list[tuple[Any, ...]]]] = {}
    for (policy, name, rest), saved in groups.items():
        answers.setdefault((policy, name), {}).setdefault(enough(saved), []).append(rest)
    found = []
    for (policy, name), by_least in answers.items():
        for least, rests in by_least.items():
            where = _where(rests) if len(by_least) > 1 else ""
            if least is not None:
                says = f"{name} past {least:g} saves less than a point more."
                found.append(f"{policy}{where}: {says}")
    return found or ["Each policy saves more up to the largest value that was tried."]


def _where(rests: Sequence[tuple[tuple[str, float], ...]]) -> str:
    """The values of the other swept option, such as `, ttl 10/33`."""
    values: dict[str, list[str]] = {}
    for name, value in (each for rest in rests for each in rest):
        values.setdefault(name, []).append(f"{value:g}")
    return "".join(f", {name} {'/'.join(each)}" for name, each in values.items())


def put_sweep(out: Page, points: Sequence[Point]) -> None:
    """Add a line for each simulation, and what follows."""
    names = list(dict.fromkeys(name for point in points for name in point.at))
    out.grid(
        [
            (
                *(f"{point.at[name]:g}" if name in point.at else "" for name in names),
                f"{point.summary.saved:.1%}",
                str(sum(point.summary.refused.values())),
                str(point.summary.deferred),
                f"{point.summary.wait_s.p99:.2f} s",
                point.policy.replace(":", ": ").replace(",", ", "),
            )
            for point in points
        ],
        head=(*names, "saved", "refused", "deferred", "wait", "policy"),
        gap=2,
    )
    out.put().put(
        "saved: prompt tokens of served requests that were not computed. wait: seconds that 99 of "
        f"100 requests do not exceed. {ONE_GROUP}"
    )
    out.put(f"{finding(points)}.")
    for sentence in gains(points):
        out.put(sentence, hanging=2)


def target_of(path: Path, axes: Sequence[Axis]) -> str:
    """The form of a figure of these parameters, by the name of its file.

    Raises:
        SpecError: it is neither SVG nor PNG, matplotlib is not installed, or the second parameter
            has over four values.
    """
    if min((len(axis.values) for axis in axes[:2]), default=0) > _PANELS and len(axes) > 1:
        raise SpecError(
            f"a figure has at most {_PANELS} panels", f"sweep {_PANELS} values of one parameter"
        )
    form = path.suffix.lower().removeprefix(".")
    if form not in ("svg", "png"):
        raise SpecError(f"{path} is neither .svg nor .png", "name the figure so")
    if find_spec("matplotlib") is None:
        raise SpecError("matplotlib is not installed", how_to_install("plots"))
    return form


def finding(points: Sequence[Point]) -> str:
    """The policy that saves most, how long requests wait with it, and the best of all others."""
    best = max(points, key=lambda point: point.summary.saved)
    others = [point for point in points if point.policy != best.policy]
    at = ", ".join(f"{name} {value:g}" for name, value in best.at.items())
    says = f"{best.policy} saves {best.summary.saved:.0%} of prompt tokens"
    says += f" at {at}" if at else ""
    wait = best.summary.wait_s.p99
    says += f" (99 of 100 wait at most {wait:.1f} s)" if wait >= _SHORT else ""
    if not others:
        return says
    second = max(others, key=lambda point: point.summary.saved)
    return f"{says}; {second.policy} {second.summary.saved:.0%} at most"


def figure_of(axes: Sequence[Axis], points: Sequence[Point], form: str) -> bytes:
    """The share of prompt tokens saved over the first parameter, a panel for each other value."""
    from models import plotting

    across, *others = sorted(axes, key=lambda axis: -len(axis.values))
    panels = others[0].values if others else (None,)
    policies = list(dict.fromkeys(point.policy for point in points))
    colours = (
        plotting.VERMILION, plotting.BLUE, plotting.GREEN, plotting.PURPLE, plotting.ORANGE,
        plotting.SKY, plotting.INK,
    )  # fmt: skip

    def draw() -> Any:
        figure, made = plotting.canvas(3.8, ncols=len(panels), sharey=True, squeeze=False)
        for axes_, value in zip(made[0], panels, strict=True):
            for number, policy in enumerate(policies):
                its = [
                    point
                    for point in points
                    if point.policy == policy
                    and (value is None or point.at.get(others[0].name, value) == value)
                ]
                x = [point.at.get(across.name) for point in its]
                y = [100 * point.summary.saved for point in its]
                flat = None in x
                axes_.plot(
                    [across.values[0], across.values[-1]] if flat else x,
                    y * 2 if flat else y,
                    color=colours[number % len(colours)],
                    marker="" if flat else "osD^vPX"[number % 7],
                    ls=("-", "--", "-.", ":")[number % 4],
                    lw=1.8,
                    ms=5.5,
                    label=policy,
                )
            if value is not None:
                axes_.set_title(f"{others[0].name} {value:g}", fontsize=10.5, weight="normal")
            axes_.set_xlabel(across.name if others else _LABELS.get(across.name, across.name))
            axes_.grid(axis="y", color=plotting.PALE, lw=0.8)
        made[0][0].set_ylim(0, max(1.0, *(105 * point.summary.saved for point in points)))
        made[0][0].set_ylabel("tokens not computed, % of\nserved requests' prompt tokens")
        title = textwrap.fill(finding(points), _TITLE)
        figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12.5)
        figure.legend(
            *made[0][0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=max(1, min(len(policies), _TITLE // max(map(len, policies)))),
            handlelength=2.6,
        )
        return figure

    return plotting.drawn(draw, form, finding(points))


_LABELS: Final = {
    BLOCKS: "usable blocks of a pool",
    "ttl": "time-to-live, seconds",
    "quota": "share of a pool that claims may have",
    "turn_ttl": "duration of a turn's priority, seconds",
    "prefix_ttl": "duration of a prefix's priority, seconds",
}
