"""`check`: proves modes, and whatever else has a name of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from proofs.engines.names import DEPTH, EngineName
from spec.claims.states import Mode
from spec.cli.arguments import path_option
from spec.cli.common import Format, FormatOption
from spec.files.writing import check_apart, check_target
from spec.language.called import called
from spec.language.errors import SpecError
from spec.language.suggest import resolve

__all__ = ["register"]

_LOWERING, _CAPACITY, _FRAME = "lowering", "capacity", "frame"
_SUBJECTS: Final = [*Mode, _LOWERING, _CAPACITY, _FRAME]
_DEEPEST: Final = 60
_CERTIFIABLE: Final = (EngineName.AUTO, EngineName.RECORDED, EngineName.SPACER)


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("check", epilog="Example: python -m proofs check hard_protected")(check)


def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODE",
            help=f"One of {', '.join(_SUBJECTS)}; after {_FRAME}, any modes.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every mode.")] = False,
    bundle: Annotated[str, typer.Option(help="contract, or paper (as printed).")] = "contract",
    engine: Annotated[
        str, typer.Option(help=f"Engine that decides soundness: {', '.join(EngineName)}.")
    ] = EngineName.AUTO,
    depth: Annotated[
        int, typer.Option(help="Maximal number of events in bounded searches.")
    ] = DEPTH,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Check receptiveness, scenarios, coverage, guards, cores and paper, too.",
        ),
    ] = False,
    story: Annotated[
        bool, typer.Option("--story", help="Print every run found; implies --full -v.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print all results.")] = False,
    certificate: Annotated[
        Path | None,
        path_option("--certificate", help="Write a certificate for `recheck` to this folder."),
    ] = None,
    trace: Annotated[
        Path | None,
        path_option(
            "--output",
            "-o",
            help="Write the witness, or the counterexample, to FILE.jsonl or FILE.itf.json.",
        ),
    ] = None,
    of_runtime: Annotated[
        str | None,
        typer.Option("--runtime", metavar="NAME", help="Check this runtime's model in the mode."),
    ] = None,
    form: FormatOption = Format.TEXT,
    junit: Annotated[
        Path | None, path_option("--junit", help="Write JUnit XML to this file.")
    ] = None,
    html: Annotated[
        Path | None, path_option("--html", help="Write a page for a browser to this file.")
    ] = None,
) -> None:
    """Prove a mode's obligations sound and necessary.

    Sound: in every run that keeps the obligations, an auditor who reads only reports concludes
    what is true. The lemmas that the proof depends on are proved, too. Consistent: some run keeps
    and exercises every obligation. Necessary: without any one obligation, some run breaks a clause
    of the theorem.

    --full also checks receptiveness (a runtime can always keep the obligations), scenarios,
    coverage (each state and rule is reached, each clause is compared), whether each rule (guard)
    is necessary, the proof core of each clause (the obligations it is proved from), and which
    clauses the paper's bundle implies.

    With lowering in place of a mode: the relation that labels runtimes fails closed for every
    descriptor, and is as its rules say at every point of a finite universe.

    With --runtime the model of a runtime is searched instead, together with the observers: each
    obligation is kept in every reachable state, broken by a shortest run, never put to the test, or
    not supplied. An interrupt leaves what was found until then.

    With capacity in place of a mode: what the block pool of vLLM, and hard exclusion, do with a
    prefix and a request that do not fit together, for all sizes.

    With frame in place of a mode: an event that is not delivered to a claim changes nothing of
    it, and the Python that the monitor runs equals the specification. For the modes named after
    it, or for all.

    Exit 0: everything asked is shown. 1: refuted; a lemma fails; an obligation became redundant,
    or necessary again, unlike what proofs/checks/redundancy.py lists; or, with --full, a clause
    is never compared. 2: bad input. 3: unknown, shown only up to a bound, without a witness, or
    interrupted with --runtime.
    """
    name, more = (names[0], names[1:]) if names else (None, [])
    asked = (bundle != "contract", engine != EngineName.AUTO, depth != DEPTH)
    strange = any((*asked, full, story, certificate, trace, html))
    if of_runtime is not None:
        if strange or every or more or name is None or junit is not None:
            raise SpecError(
                "--runtime takes one mode, -v and --format",
                called("proofs check hard_protected --runtime vllm_pool"),
            )
        from proofs.cli.runtimes import run_runtime_check

        one = resolve(name, Mode, what="mode")
        raise typer.Exit(run_runtime_check(one, of_runtime, form, verbose=verbose))
    special = None if name is None else resolve(name, _SUBJECTS, what="mode")
    if special in (_LOWERING, _CAPACITY, _FRAME):
        of_modes = special == _FRAME
        if strange or (every and more if of_modes else every or more):
            takes = f"{'modes, ' if of_modes else ''}-v, --format and --junit"
            raise SpecError(
                f"{special} is not a mode: it takes only {takes}", "omit the other options"
            )
        check_target(junit)
        raise typer.Exit(_run_special(special, more, form, junit, verbose=verbose))
    if more:
        raise SpecError(f"only {_FRAME} takes several modes", "name one mode, or use --all")
    from spec.contract.modes import Bundle

    modes = _modes(name, every)
    chosen = resolve(bundle, Bundle, what="bundle")
    by = resolve(engine, EngineName, what="engine")
    if not 1 <= depth <= _DEEPEST:
        raise SpecError(f"--depth is {depth}", f"give a number of events from 1 to {_DEEPEST}")
    if certificate is not None and by not in _CERTIFIABLE:
        raise SpecError(f"--engine {by} finds no invariant to certify", "use --engine spacer")
    if trace is not None:
        if len(modes) > 1:
            raise SpecError("-o writes one run, and --all finds one for each mode", "name one mode")
        from proofs.traces.itf import check_suffix

        check_suffix(trace)
    check_apart(certificate=certificate, o=trace, junit=junit, html=html)
    check_target(trace)
    check_target(junit)
    check_target(html)
    check_target(certificate, folder=True)
    from proofs.cli.modes import run_modes

    code = run_modes(
        modes,
        chosen,
        depth,
        by,
        form,
        junit,
        every=every,
        full=full,
        story=story,
        verbose=verbose,
        certificate=certificate,
        trace=trace,
        html=html,
    )
    raise typer.Exit(code)


def _run_special(
    name: str, more: list[str], form: Format, junit: Path | None, *, verbose: bool
) -> int:
    """Check what has a name of its own, and return the exit code."""
    if name == _FRAME:
        from proofs.checks.frame.command import run_frame

        chosen = dict.fromkeys(resolve(each, Mode, what="mode") for each in more)
        return run_frame(list(chosen or Mode), form, junit, verbose=verbose)
    if name == _LOWERING:
        from proofs.lowering.command import run_check
    else:
        from proofs.cli.capacity import run_capacity as run_check
    return run_check(form, junit, verbose=verbose)


def _modes(mode: str | None, every: bool) -> list[Mode]:
    if every == (mode is not None):
        raise SpecError("name one mode, or use --all", called("proofs check hard_protected"))
    return list(Mode) if mode is None else [resolve(mode, Mode, what="mode")]
