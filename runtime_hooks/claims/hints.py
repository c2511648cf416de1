"""Maps vLLM's KV hints to claims: `kv.retain` and `vllm.set_priority`, each of version 1.0.

vLLM carries hints in an envelope, and executes none. These functions are pure: they read an
envelope, and say which claims its actions ask for (docs/hints.md). A hint states a priority, so
each becomes a claim of `soft_priority`, which never keeps a request out.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spec.claims.claim import MAX_ID, MAX_PRIORITY
from spec.claims.durations import Duration, TimeUnit
from spec.claims.states import Mode
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime_hooks.settings.quotas import Quota

__all__ = [
    "LONGEST",
    "MOST_ACTIONS",
    "RETAIN",
    "SET_PRIORITY",
    "TYPES",
    "Action",
    "Declined",
    "Envelope",
    "Outcome",
    "Priority",
    "Retention",
    "Wanted",
    "claim_stated",
    "envelope_of",
    "priority_of",
    "retention_of",
    "within",
]

RETAIN: Final = "kv.retain"
SET_PRIORITY: Final = "vllm.set_priority"
TYPES: Final = (RETAIN, SET_PRIORITY)
"""The types of actions that are mapped to claims."""

LONGEST: Final = MAX_ID // 5
"""The most characters of an id in a hint, so that the id of a claim holds several."""

MOST_ACTIONS: Final = 16
"""The most actions of an envelope."""

_VERSION: Final = "1.0"
_MOST_DIRECTIVES: Final = 64
_HIGHEST: Final = 100  # the priority of a directive
_MOST_TOKENS: Final = 2**31 - 1
_TARGET, _LOCATION = "request_cached", "local_g1"
_ENVELOPE: Final = frozenset({"protocol_version", "message_id", "actions"})
_ACTION: Final = frozenset({"action_id", "action_type", "action_version", "payload"})
_DIRECTIVE: Final = frozenset({"start", "end", "priority", "duration"})
_OF_OUTPUT: Final = frozenset({"covers_output", "priority", "duration"})
_SETS: Final = frozenset({"target", "location", "claim_id", "revision", "value"})


class Outcome(StrEnum):
    """What became of a hint, after vLLM's RFCs.

    `accepted`: claims stand as it asks. `clipped`: claims stand on less than it asks. `deferred`:
    it is decided on when its request has completed. `duplicate`: it was decided on before, and that
    stands. `rejected`: it is wrong, or no claim is accepted for it. `unsupported`: this is not
    mapped. `missing`: what it is about is not there.
    """

    ACCEPTED = "accepted"
    CLIPPED = "clipped"
    DEFERRED = "deferred"
    DUPLICATE = "duplicate"
    REJECTED = "rejected"
    UNSUPPORTED = "unsupported"
    MISSING = "missing"


class Declined(Exception):
    """A hint asks for no claim, for this reason."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome, self.reason = outcome, reason


class Action(NamedTuple):
    """An action of an envelope, whose payload is not read yet."""

    action_id: str
    action_type: str
    version: str
    payload: object


class Envelope(NamedTuple):
    """An envelope: the actions, and the reasons why others are none."""

    message_id: str
    actions: tuple[Action, ...]
    declined: tuple[Declined, ...] = ()


class Wanted(NamedTuple):
    """A claim that a hint asks for: on the first blocks of the prompt, with this priority, for so
    many seconds; None sets no end.
    """

    blocks: int
    priority: int
    seconds: float | None


class Retention(NamedTuple):
    """What a `kv.retain` asks for: its scope, claims, and what of it is not mapped."""

    scope: str | None
    wanted: tuple[Wanted, ...]
    lacks: tuple[str, ...]


class Priority(NamedTuple):
    """What a `vllm.set_priority` asks for; a priority of None takes back the one before."""

    claim_id: str
    revision: int
    value: int | None
    seconds: float | None


def envelope_of(raw: object) -> Envelope:
    """Read an envelope.

    Raises:
        Declined: it is none.
    """
    if not isinstance(raw, dict) or raw.keys() != _ENVELOPE:
        raise _wrong("an envelope has protocol_version, message_id and actions")
    message_id, actions, version = raw["message_id"], raw["actions"], raw["protocol_version"]
    if not isinstance(version, str) or version.partition(".")[0] != "1":
        raise Declined(Outcome.UNSUPPORTED, "its protocol_version is not 1.0")
    _check_id("message_id", message_id)
    if not isinstance(actions, list) or len(actions) > MOST_ACTIONS:
        raise _wrong(f"actions is no list of at most {MOST_ACTIONS}")
    found, declined = list[Action](), list[Declined]()
    for each in actions:
        try:
            found.append(_action_of(each))
        except Declined as why:
            declined.append(why)
    return Envelope(message_id, tuple(found), tuple(declined))


def _action_of(raw: object) -> Action:
    if not isinstance(raw, dict) or raw.keys() != _ACTION:
        raise _wrong("an action has action_id, action_type, action_version and payload")
    _check_id("action_id", raw["action_id"])
    texts = raw["action_type"], raw["action_version"]
    if not all(isinstance(text, str) and len(text) <= LONGEST for text in texts):
        raise _wrong("action_type or action_version is no text")
    return Action(raw["action_id"], *texts, raw["payload"])


def _checked(action: Action) -> Mapping[str, Any]:
    """The payload of an action of a known type.

    Raises:
        Declined: its version is not known, or it is no object.
    """
    if action.version not in (_VERSION, _VERSION.partition(".")[0]):
        raise Declined(Outcome.UNSUPPORTED, f"{action.action_type} is known in {_VERSION} only")
    if not isinstance(action.payload, dict):
        raise _wrong("its payload is no object")
    return action.payload


def retention_of(action: Action, block_size: int, blocks: int) -> Retention:
    """What a `kv.retain` asks for, of a prompt of so many whole blocks.

    A directive is about tokens from `start` on, before `end`; a block that it covers in part counts
    as vLLM's retention API counts it. No request hits a block whose predecessors are gone, so each
    directive becomes a claim on the prompt from its beginning to the end of the directive. Since
    priorities do not increase, each block that directives cover has the highest of their
    priorities.

    Args:
        block_size: tokens in a block.

    Raises:
        Declined: it is wrong, or its version is not known.
    """
    payload = _checked(action)
    if not {"directives"} <= payload.keys() <= {"directives", "scope"}:
        raise _wrong("a payload has directives, and perhaps a scope")
    scope, directives = payload.get("scope"), payload["directives"]
    if scope is not None:
        _check_id("scope", scope)
    if not isinstance(directives, list) or len(directives) > _MOST_DIRECTIVES:
        raise _wrong(f"directives is no list of at most {_MOST_DIRECTIVES}")
    ranges, lacks = list[tuple[int, int | None, int, float | None]](), list[str]()
    for each in directives:
        if isinstance(each, dict) and each.get("covers_output"):
            _check_fields(each, _OF_OUTPUT, {"covers_output", "priority"})
            _priority_in(each["priority"], _HIGHEST)
            _seconds_in(each.get("duration"), "duration")
            lacks.append("output has no blocks yet when its request is admitted")
        else:
            ranges.append(_range_of(each))
    ranges.sort(key=lambda each: (each[0], -each[2]))
    for (_, _, before, _), (start, _, priority, _) in pairwise(ranges):
        if priority > before:
            raise _wrong(f"priorities increase from {before} to {priority} at token {start}")
    wanted = list[Wanted]()
    for start, end, priority, seconds in ranges:
        last = blocks if end is None else -(-end // block_size)
        if start >= blocks * block_size:
            lacks.append(f"token {start} is beyond the {blocks} whole blocks of the prompt")
            continue
        if last > blocks:
            lacks.append(f"its end at token {end} is beyond the {blocks} whole blocks")
        wanted.append(Wanted(min(last, blocks), priority, seconds))
    return Retention(scope, tuple(wanted), tuple(lacks))


def _range_of(raw: object) -> tuple[int, int | None, int, float | None]:
    """The start, the end, the priority and the seconds of a directive."""
    if not isinstance(raw, dict):
        raise _wrong("a directive is no object")
    _check_fields(raw, _DIRECTIVE, {"start", "priority"})
    start, end = raw["start"], raw.get("end")
    if not (_is_count(start) and (end is None or (_is_count(end) and start < end))):
        raise _wrong("a directive begins at a token from 0 on, and ends at a later one")
    priority = _priority_in(raw["priority"], _HIGHEST)
    return start, end, priority, _seconds_in(raw.get("duration"), "duration")


def priority_of(action: Action) -> Priority:
    """What a `vllm.set_priority` asks for.

    Raises:
        Declined: it is wrong, or its version, target or location is not known.
    """
    payload = _checked(action)
    _check_fields(payload, _SETS | {"ttl_seconds"}, set(_SETS))
    if payload["target"] != _TARGET or payload["location"] != _LOCATION:
        raise Declined(Outcome.UNSUPPORTED, f"it is mapped for {_TARGET} in {_LOCATION} only")
    claim_id, revision, value = payload["claim_id"], payload["revision"], payload["value"]
    _check_id("claim_id", claim_id)
    if not _is_count(revision):
        raise _wrong("revision is no whole number from 0 on")
    value = None if value is None else _priority_in(value, MAX_PRIORITY)
    return Priority(
        claim_id, revision, value, _seconds_in(payload.get("ttl_seconds"), "ttl_seconds")
    )


def within(wanted: Wanted, quota: Quota) -> tuple[Wanted, tuple[str, ...]]:
    """A claim within a quota, and what of the hint that takes away.

    Seconds are not compared with a quota in steps: such a claim is rejected later.
    """
    lacks = list[str]()
    if quota.priority is not None and wanted.priority > quota.priority:
        lacks.append(f"its priority {wanted.priority} is {quota.priority} by the quota")
        wanted = wanted._replace(priority=quota.priority)
    most = None if quota.duration is None else Duration.parse(quota.duration)
    seconds = most.value if most is not None and most.unit is TimeUnit.SECONDS else None
    if seconds is not None and (wanted.seconds is None or wanted.seconds > seconds):
        asked = "without an end" if wanted.seconds is None else f"{wanted.seconds} s"
        lacks.append(f"its duration, {asked}, is {most} by the quota")
        wanted = wanted._replace(seconds=seconds)
    return wanted, tuple(lacks)


def claim_stated(wanted: Wanted, claim_id: str, owner: str) -> dict[str, Any]:
    """The claim that a hint asks for, as a request would state it."""
    ends = {} if wanted.seconds is None else {"duration": f"{wanted.seconds} s"}
    return {
        "claim_id": claim_id,
        "owner_scope": owner,
        "protection_mode": Mode.SOFT_PRIORITY,
        "materialization_predicate": f"leading_prefix_at_least({wanted.blocks})",
        "priority": wanted.priority,
        **ends,
    }


def _wrong(reason: str) -> Declined:
    return Declined(Outcome.REJECTED, reason)


def _check_fields(raw: Mapping[str, Any], known: frozenset[str], required: set[str]) -> None:
    if not required <= raw.keys():
        raise _wrong(f"it lacks {' and '.join(sorted(required - raw.keys()))}")
    if not raw.keys() <= known:
        raise _wrong(f"it has a field beside {', '.join(sorted(known))}")


def _check_id(name: str, text: object) -> None:
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST:
        raise _wrong(f"{name} is no text of 1 to {LONGEST} characters")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST_TOKENS


def _priority_in(value: object, highest: int) -> int:
    if type(value) is not int or not 0 <= value <= highest:
        raise _wrong(f"a priority is a whole number from 0 to {highest}")
    return value


def _seconds_in(value: object, name: str) -> float | None:
    """A number of seconds, which may be None."""
    if value is None:
        return None
    try:
        Duration(unit=TimeUnit.SECONDS, value=value)  # type: ignore[arg-type]
    except ClaimError:
        raise _wrong(f"{name} is no number of seconds above 0") from None
    assert isinstance(value, int | float)
    return value
