"""Makes the pages of the events, of the lifecycle, and of the reasons of inconclusive verdicts."""

from __future__ import annotations

from spec.claims.states import (
    OWNER_TRIGGERS,
    RESPONSIBLE,
    RUNTIME_TRIGGERS,
    TERMINAL,
    TRANSITIONS,
    TRIGGERS,
    ClaimState,
)
from spec.docs.diagrams import lifecycle_diagram
from spec.docs.markdown import codes, fence, page, table
from spec.docs.mermaid import to_mermaid
from spec.events.alphabet import KINDS, Kind, Role
from spec.events.canonical import MARKS, MOST_GROUPS, SCHEMA, Mark
from spec.events.fields import (
    FIELDS,
    FLAGS,
    IDENTITY,
    OLD_NAMES,
    STAMP,
    fields_of,
    one_of,
    required_of,
)
from spec.stream.codes import Code

__all__ = ["events_page", "lifecycle_page", "reasons_page"]


def events_page() -> str:
    """The page: each kind with its role and its fields, and each field with its unit."""
    parts = [
        "# The events",
        f"One event is one JSON object on one line, of the form `{SCHEMA}` "
        "([schema](schema/event.json)). Kinds and fields that are not listed are refused. Facts "
        "are what hooks observed, and are trusted; reports are what the runtime states, and are "
        "checked against the facts ([glossary](glossary.md)). An example is in [writing a "
        "trace](writing-a-trace.md).",
        "## Kinds",
    ]
    for role in Role:
        rows = [
            (f"`{kind}`", info.says, _fields(kind))
            for kind, info in KINDS.items()
            if info.role is role
        ]
        title = role.value[0].upper() + role.value[1:]
        parts += [f"### {title}", table(("kind", "meaning", "fields"), rows)]
    parts += [
        "## Marks",
        "Three more kinds are about the stream itself. A writer that may be killed begins with the "
        "first: if the last line is not the second, the stream was cut, and the claims that were "
        "alive are inconclusive from there on. Streams without marks end with their last line. A "
        f"mark has {codes(STAMP)}, and `sequence` counts on.",
        table(("kind", "meaning"), ((f"`{mark}`", says) for mark, says in MARKS.items())),
        f"`{Mark.STREAM_OPENED}` may have `observes`: a list of the kinds of facts that the hooks "
        "of the stream always record. Without it every kind counts as observed. Facts of other "
        "kinds may occur in the stream too, but their absence shows nothing. A later mark "
        "narrows what is observed from its line on, for the claims that have not ended; it adds "
        "nothing to it.",
        f"`{Mark.STREAM_OPENED}` may have `unobserved`: a list of what the hooks do not observe of "
        "the runtime, in words, such as which blocks a KV connector saves. It is for people: no "
        "obligation rests on it.",
        f"`{Mark.STREAM_OPENED}` may have `groups`: a list of the groups of KV caches, each with "
        "its number (`group`), its `kind` and its `window` in blocks. A hit needs all blocks of a "
        "`full` group, the last `window` blocks of a `window` group, and the last block of a "
        "`state` group. A block of a group with a `span` covers so many positions; its position is "
        "the last of them, and a hit ends at one. Without groups there is one, number 0, of kind "
        f"full. At most {MOST_GROUPS} are stated.",
        f"After `{Mark.STREAM_RESTATED}` the next lines have `restated`: they state all that "
        "stands. A reader that missed lines begins again with them; others skip them.",
        f"`{Mark.STREAM_OPENED}` may have `rank` and `ranks`: the stream has what one of so many "
        "processes of an engine observed, counted from 0. All of them are [one "
        "stream](decisions/0022-ranks-of-one-engine.md), in the order of `time_ns`, which each "
        "event then states. Nothing is concluded from one by itself. The engine has the name of "
        "the stream, or the one that `engine` states: where several ranks write to one pipe or one "
        "file, each needs a stream of another name, and all state one `engine`.",
        "## Fields",
        "Streams of version 1 are read as well. Their names of fields are still accepted: "
        + "; ".join(f"`{old}` is `{new}`" for old, new in OLD_NAMES.items())
        + ".",
        f"Every event may have {codes((*STAMP, *FLAGS))}; `kind` and the fields in bold must be "
        "given. "
        "Without `sequence` a missing line cannot be detected. Every event about a claim may "
        f"state its identity: {codes(IDENTITY)}.",
        table(
            ("field", "unit", "meaning"),
            ((f"`{name}`", unit, says) for name, (unit, says) in FIELDS.items()),
        ),
    ]
    return page(*parts)


def _fields(kind: Kind) -> str:
    names = [name for name in fields_of(kind) if name not in OLD_NAMES]
    some = one_of(kind)
    either = f"**{' or '.join(f'`{name}`' for name in some)}**"
    shown = (either if name in some else _field(name, kind) for name in names)
    return ", ".join(dict.fromkeys(shown))


def _field(name: str, kind: Kind) -> str:
    return f"**`{name}`**" if name in required_of(kind) else f"`{name}`"


def lifecycle_page() -> str:
    """The page: the table of the lifecycle, its drawing, and who may take which step."""
    states = [state for state in ClaimState if state not in TERMINAL]
    moves = {(row.trigger, row.source): row.dest.value for row in TRANSITIONS}
    grid = table(
        ("report", *states),
        ((f"`{t}`", *(moves.get((t, state), "") for state in states)) for t in TRIGGERS),
    )
    whys = {row.trigger: row.why for row in TRANSITIONS}
    may = table(
        ("report", "meaning", "owning scope", "any other caller", "runtime"),
        (
            (f"`{t}`", whys[t], _may(t, OWNER_TRIGGERS), "no", _may(t, RUNTIME_TRIGGERS))
            for t in TRIGGERS
        ),
    )
    return page(
        "# The lifecycle of a claim",
        "Responsibility begins when the runtime's registry commits to the claim, which "
        "acceptance reports, and ends when its registry entry ends, which demotion, expiry "
        "or release report. Neither harm nor refusing a request that the claim blocks ends "
        "it.",
        fence(to_mermaid(lifecycle_diagram()), "mermaid"),
        "## Table",
        "Each cell is the state after the report of its row, sent in the state of its "
        "column; an empty cell is a report that is not allowed there. Responsible: "
        + ", ".join(state for state in ClaimState if state in RESPONSIBLE)
        + ". Ended: "
        + ", ".join(state for state in ClaimState if state in TERMINAL)
        + ".",
        grid,
        "## Who may do what",
        may,
        "Conditions: the runtime may demote only a claim whose mode is demotable, or a "
        "hard_protected one in a [standing conflict](interpretations.md#relax), and expire only "
        "a claim whose duration, counted from the commitment, is over. Anyone may raise "
        "the protection of a claim; only its owner may change it otherwise. Refusing, "
        "deferring or otherwise acting on an active request is no transition of any claim "
        "that blocks it. A `claim_offloaded` that states `by` is a demotion: it is allowed where "
        "`claim_demoted` is, and leads to the same state.",
    )


def _may(trigger: str, allowed: frozenset[str]) -> str:
    if trigger not in allowed:
        return "no"
    conditional = allowed is RUNTIME_TRIGGERS and trigger in OWNER_TRIGGERS
    return "on conditions" if conditional else "yes"


_GROUPS = (
    ("1", "Breaks: every claim that is alive is inconclusive from there on"),
    ("2", "Reasons that concern one claim"),
    ("3", "Reasons that concern one obligation of a claim"),
    ("4", "Reasons that concern all that was read"),
)


def reasons_page() -> str:
    """The page, a table for each group of codes."""
    parts = [
        "# Reasons of inconclusive verdicts",
        "JSON gives each inconclusive finding a code, a reason and its place; a text report those "
        "of claims that are not violated. Where one reason keeps all that was read from a verdict, "
        "JSON gives its `code` beside `why`, for the whole and for each mode. A break concerns "
        "every claim that is alive, but for `RC130` and, of a report, `RC118`, which concern the "
        "claim alone. "
        "[The meaning of a stream](stream.md) says when each occurs.",
    ]
    for first, title in _GROUPS:
        found = [code for code in Code if code.number[2] == first]
        rows = [(f"`{code.number}`", code.title, code.remedy) for code in found]
        parts += [f"## {title}", table(("code", "reason", "what to do"), rows)]
    return page(*parts)
