"""Selects the rows to label: descriptors by name or file, modes, depths, and evidence."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from models.catalog import FOLDER, NAMES, descriptor
from monitor.evidence.joined import take_joined_evidence
from monitor.evidence.take import take_evidence
from monitor.input.errors import InputError
from spec.claims.states import Mode
from spec.contract.supply import Depth
from spec.digest import spec_digest
from spec.language.called import called
from spec.language.errors import DocumentError, SpecError
from spec.language.suggest import resolve
from spec.lowering.load import folder_of, open_file, read_descriptor, read_evidence
from spec.lowering.places import nowhere
from spec.lowering.relation import lower

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from io import BufferedReader

    from spec.contract.modes import Bundle
    from spec.lowering.descriptor import Descriptor
    from spec.lowering.evidence import EvidenceFile
    from spec.lowering.relation import Row

__all__ = ["Chosen", "checked_evidence", "descriptors", "label"]


class Chosen(NamedTuple):
    """The selected descriptors, in order.

    `nowhere` has the anchors that do not exist, by descriptor and anchor name, with the reason.
    """

    descriptors: tuple[Descriptor, ...]
    nowhere: Mapping[str, Mapping[str, str]]


def descriptors(named: Sequence[str], every: bool) -> Chosen:
    """The named descriptors, or all shipped ones; raises SpecError."""
    if every == bool(named):
        example = called(f"proofs lower {NAMES[0]}")
        raise SpecError("name descriptors, or ask for --all", example)
    found: dict[str, Descriptor] = {}
    lost: dict[str, Mapping[str, str]] = {}
    for text in NAMES if every else named:
        one, folder = _named(text)
        if one.name in found:
            raise SpecError(f"two descriptors are called {one.name}", "ask for one at a time")
        found[one.name], lost[one.name] = one, nowhere(one, folder)
    return Chosen(tuple(found.values()), lost)


def _named(text: str) -> tuple[Descriptor, Path]:
    """A descriptor, and the folder where it lies."""
    if Path(text).suffix in {".yaml", ".yml", ".json"} or "/" in text:
        return read_descriptor(Path(text)), folder_of(Path(text))
    return descriptor(resolve(text, NAMES, what="descriptor")), FOLDER


def label(
    found: Sequence[Descriptor],
    mode: Mode | None,
    depth: Depth | None,
    bundle: Bundle,
    evidence: EvidenceFile | None,
    *,
    require_evidence: bool = False,
    nowhere: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Row]:
    """Label some descriptors: by default in all modes, at all depths that are offered.

    Args:
        require_evidence: count only what traces show.
        nowhere: the anchors of each descriptor that do not exist, with the reason.
    """
    lost = nowhere or {}
    return [
        lower(
            each,
            of_mode,
            at,
            bundle,
            evidence,
            require_evidence=require_evidence,
            nowhere=lost.get(each.name),
        )
        for each in found
        for of_mode in (Mode if mode is None else [mode])
        for at in ([depth] if depth is not None else _offered(each))
    ]


def _offered(found: Descriptor) -> list[Depth]:
    return [d for d in Depth if d is Depth.NONE or found.adapter(d) is not None]


def checked_evidence(path: Path) -> EvidenceFile:
    """The evidence in a file, computed again from its traces; raises DocumentError.

    The file itself is not trusted: it must equal what its traces show. An obligation that
    any of the traces violates is not shown by the others.
    """
    evidence = read_evidence(path)
    if evidence.spec != spec_digest():
        raise DocumentError(
            f"{path}: spec: it was taken under another specification ({evidence.spec[:12]})",
            "take the evidence again",
        )
    folder = folder_of(path)
    of_registry = [] if evidence.registry is None else [evidence.registry]
    for i, trace in enumerate((*evidence.files, *of_registry)):
        found = _sha256(folder / trace.path, f"{path}: files[{i}].path")
        if found != trace.sha256:
            raise DocumentError(
                f"{path}: files[{i}]: {trace.path} was changed after the evidence was taken",
                "take the evidence again",
            )
    if _taken_again(path, evidence) != evidence:
        raise DocumentError(
            f"{path}: its traces do not show what it says", "take the evidence again"
        )
    violated = {each.obligation for each in evidence.unshown if each.verdict == "violated"}
    kept = tuple(each for each in evidence.shown if each.obligation not in violated)
    return evidence.model_copy(update={"shown": kept})


def _taken_again(path: Path, evidence: EvidenceFile) -> EvidenceFile:
    folder = folder_of(path)
    traces = [os.path.join(folder, trace.path) for trace in evidence.files]
    try:
        if evidence.registry is None:
            return take_evidence(traces, evidence.mode, folder)
        registry = os.path.join(folder, evidence.registry.path)
        return take_joined_evidence(registry, traces, evidence.mode, folder)
    except InputError as problem:
        raise DocumentError(f"{path}: {problem}", "take the evidence again") from problem


def _sha256(path: Path, where: str) -> str:
    try:
        if path.exists() and not path.is_file():
            raise DocumentError(f"{path} is not a file", "name the trace")
        with open_file(path) as file:
            return hashlib.file_digest(cast("BufferedReader", file), "sha256").hexdigest()
    except DocumentError as problem:
        raise DocumentError(f"{where}: {problem.cause}", "put it back") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise DocumentError(f"{where}: cannot read {path}: {reason}", "put it back") from None
