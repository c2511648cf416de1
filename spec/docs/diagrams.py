"""Makes diagrams of the `transitions` machines: nodes, edges and a legend, for any renderer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from spec.claims.lifecycle import ClaimLifecycle
from spec.claims.states import RESPONSIBLE, TERMINAL, ClaimState
from spec.contract.modes import ModeSpec
from spec.docs.wording import MUST, occasion
from spec.language.machine import Guard, Observer
from spec.language.verdicts import Verdict
from spec.machines import Automaton

__all__ = [
    "GUARD_LOOKS",
    "Diagram",
    "Edge",
    "Group",
    "Line",
    "Look",
    "Node",
    "lifecycle_diagram",
    "mode_diagram",
    "observer_diagram",
    "small_print",
]


class Look(StrEnum):
    """What a node is, which decides its colour."""

    UNEXERCISED = "unexercised"
    PENDING = "pending"
    SATISFIED = "satisfied"
    VIOLATED = "violated"
    START = "start"
    RESPONSIBLE = "responsible"
    HARMED = "harmed"
    TERMINAL = "terminal"
    OBLIGATION = "obligation"
    CRITICAL = "critical"
    ANY = "any"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Line:
    """A step: its name, what kind it is (`guard`, may be empty), its occasion, and its number.

    An arrow or a box has either the number, where the steps are listed beside, or all the rest.
    """

    name: str
    guard: str = ""
    detail: str = ""
    number: int = 0

    @property
    def text(self) -> str:
        """The name, after the number where there is one."""
        return f"{self.number} {self.name}" if self.number else self.name


@dataclass(frozen=True, slots=True)
class Node:
    """A box. `says` explains it; `stays` are the steps that lead from it to itself.

    `breaks` are steps to the violated state for which no arrow is drawn; in the box of that state,
    those from any other.
    """

    id: str
    name: str
    look: Look
    says: str = ""
    stays: tuple[Line, ...] = ()
    breaks: tuple[Line, ...] = ()
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow from a node to another, by one step or more."""

    source: str
    target: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes in one frame, or in none where the label is empty.

    They stand in so many `columns`, in order; 0 leaves them where the edges put them.
    """

    id: str
    label: str
    members: tuple[str, ...]
    columns: int = 0


@dataclass(frozen=True, slots=True)
class Diagram:
    """A drawing.

    It reads from top to bottom. `initial` is the node that a fresh start leads to, `below` has
    pairs of nodes of which the second stands further down although no arrow leads there. `steps`
    are listed beside the drawing, in which they are numbers.
    """

    title: str
    subtitle: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    groups: tuple[Group, ...] = ()
    legend: tuple[tuple[Look, str], ...] = ()
    note: str = ""
    initial: str = ""
    below: tuple[tuple[str, str], ...] = ()
    steps: tuple[Line, ...] = ()


def small_print(node: Node, *, numbers: bool) -> list[str]:
    """What a box says of steps that have no arrow."""
    stays = (
        [" ".join(str(s.number) for s in node.stays)] if numbers else [s.text for s in node.stays]
    )
    lines = [f"stays by {steps}" for steps in stays if steps]
    if node.breaks:
        whence = "from any state" if node.look is Look.VIOLATED else "violated"
        lines.append(f"{whence} by {' '.join(str(s.number) for s in node.breaks)}")
    return lines


def _join(edges: list[Edge]) -> tuple[Edge, ...]:
    """One arrow for each pair of nodes, with a line for each step."""
    lines: dict[tuple[str, str], list[Line]] = {}
    for edge in edges:
        lines.setdefault((edge.source, edge.target), []).extend(edge.lines)
    return tuple(Edge(*ends, tuple(lines_of)) for ends, lines_of in lines.items())


_ANY = "any_state"
_MANY = 6


def observer_diagram(observer: Observer) -> Diagram:
    """The states of an obligation, coloured by verdict, and its rules, numbered as they are tried.

    A rule that applies in every state that is not violated is drawn once, from "any state". An
    observer of six rules or more has them listed beside it, and no arrows to its violated state:
    each box says which rules lead there.
    """
    edges: list[Edge] = []
    stays: dict[str, list[Line]] = {}
    breaks: dict[str, list[Line]] = {}
    machine = Automaton(observer)
    live = [state.name for state in observer.states if state.verdict is not Verdict.VIOLATED]
    many = len(observer.rules) >= _MANY
    steps = []
    for number, rule in enumerate(observer.rules, start=1):
        line = Line(rule.name, rule.guard.value, occasion(rule.when), number)
        steps.append(line)
        moves = [move for move in machine.moves if move.trigger == rule.name]
        sources = [move.source for move in moves]
        if len(live) > 1 and set(sources) == set(live):
            sources = [_ANY]
        for source in sources:
            dest = moves[0].dest
            if source == dest:
                stays.setdefault(source, []).append(line)
            elif many and dest not in live:
                breaks.setdefault(dest if source == _ANY else source, []).append(line)
            else:
                edges.append(Edge(source, dest, (line,)))
    nodes = [
        Node(
            state.name,
            state.name,
            Look(state.verdict.value),
            state.says,
            tuple(stays.get(state.name, ())),
            tuple(breaks.get(state.name, ())),
        )
        for state in observer.states
    ]
    if any(edge.source == _ANY for edge in edges):
        nodes.append(Node(_ANY, "any state", Look.ANY, "that is not violated"))
    per = "per claim and request" if observer.per_request else "per claim"
    return Diagram(
        title=f"{observer.code}  {observer.name}",
        subtitle=f"watched {per}",
        nodes=tuple(nodes),
        edges=_join(edges),
        legend=tuple(
            (Look(verdict.value), verdict.value)
            for verdict in Verdict
            if any(state.verdict is verdict for state in observer.states)
        ),
        note="rules are tried by number, and the first that applies is taken",
        initial=machine.initial,
        below=_after_initial(machine.initial, [s.name for s in observer.states], edges),
        steps=tuple(steps) if many else (),
    )


def _after_initial(
    initial: str, names: Sequence[str], edges: Sequence[Edge]
) -> tuple[tuple[str, str], ...]:
    """What a drawing would put before the initial state, since no arrow leads there from it."""
    reached = {edge.target for edge in edges if edge.source == initial}
    return tuple((initial, name) for name in names if name not in {initial, *reached})


def lifecycle_diagram() -> Diagram:
    """The lifecycle of a claim: what leads in and out of responsibility, and what moves within it.

    A step from every responsible state to one state is drawn once, from "any of these".
    """
    edges: list[Edge] = []
    stays: dict[str, list[Line]] = {}
    moves = list(ClaimLifecycle.moves())
    ways: dict[str, list[tuple[ClaimState, ClaimState]]] = {}
    for trigger, source, dest in moves:
        ways.setdefault(trigger, []).append((source, dest))
    wide = {
        trigger
        for trigger, ends in ways.items()
        if {source for source, _ in ends} >= RESPONSIBLE and len({dest for _, dest in ends}) == 1
    }
    for trigger, source, dest in moves:
        if trigger in wide and source in RESPONSIBLE:
            edge = Edge(_ANY, dest.value, (_short(trigger),))
            edges.extend([edge] if edge not in edges else [])
        elif source is dest:
            stays.setdefault(source, []).append(_short(trigger))
        else:
            edges.append(Edge(source.value, dest.value, (_short(trigger),)))
    nodes = [
        Node(state.value, state.value, _look(state), stays=tuple(stays.get(state, ())))
        for state in ClaimState
    ]
    nodes.append(Node(_ANY, "any of these", Look.ANY, "in any state of this frame"))
    members = (*(state.value for state in ClaimState if state in RESPONSIBLE), _ANY)
    return Diagram(
        title="The lifecycle of a claim",
        subtitle="the reports that move it; their full names begin with claim_",
        nodes=tuple(nodes),
        edges=_join(edges),
        groups=(Group("answers", "the runtime is responsible", members),),
        legend=(
            (Look.START, "not yet decided"),
            (Look.RESPONSIBLE, "responsible"),
            (Look.HARMED, "responsible, and harmed"),
            (Look.TERMINAL, "ended"),
        ),
        initial=ClaimState.SUBMITTED.value,
        below=((ClaimState.OFFLOADED.value, _ANY),),
    )


def _short(trigger: str) -> Line:
    return Line(trigger.removeprefix("claim_"))


def _look(state: ClaimState) -> Look:
    if state in TERMINAL:
        return Look.TERMINAL
    if state is ClaimState.HARMED:
        return Look.HARMED
    return Look.RESPONSIBLE if state in RESPONSIBLE else Look.START


_TALL = 6


def mode_diagram(spec: ModeSpec) -> Diagram:
    """The bundle of a mode: each obligation with what must hold, and why it was added."""
    columns = 1 if len(spec.paper) < _TALL else 2
    groups = [Group("paper", "the bundle of the paper", spec.paper, columns)]
    if spec.added:
        groups.append(Group("added", "added by the contract", tuple(spec.added), 1))
    notes = [
        Node(
            "depths",
            "an adapter must reach",
            Look.NOTE,
            ", or ".join(" and ".join(depths) for depths in spec.depths),
        )
    ]
    if spec.actions:
        actions = ", ".join(sorted(spec.actions))
        notes.insert(0, Node("actions", "explicit actions in a conflict", Look.NOTE, actions))
    groups.append(Group("terms", "", tuple(note.id for note in notes), 1))
    legend = [(Look.OBLIGATION, "obligation, and what must hold")]
    if spec.critical:
        legend.append((Look.CRITICAL, "critical: without it a look-alike passes for the mode"))
    return Diagram(
        title=f"The mode {spec.mode.value}",
        subtitle=spec.promise,
        nodes=(*(_card(spec, observer) for observer in spec.bundle()), *notes),
        groups=tuple(groups),
        legend=tuple(legend),
        below=tuple((name, notes[0].id) for name in tuple(spec.added)[-1:]),
    )


def _card(spec: ModeSpec, observer: Observer) -> Node:
    name = observer.name
    look = Look.CRITICAL if name in spec.critical else Look.OBLIGATION
    because = f"; added because {spec.added[name]}" if name in spec.added else ""
    must = MUST.get(name, observer.reason)
    return Node(name, name, look, must + because, mark=observer.code)


GUARD_LOOKS = {
    Guard.DISCHARGED: Look.SATISFIED,
    Guard.OWED: Look.PENDING,
    Guard.NOTED: Look.UNEXERCISED,
    Guard.MOOT: Look.UNEXERCISED,
    Guard.FALSE_REPORT: Look.VIOLATED,
    Guard.DUE: Look.VIOLATED,
    Guard.FORBIDDEN: Look.VIOLATED,
}
"""The look whose colour an arrow has, by its guard."""
