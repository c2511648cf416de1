"""What the traces of the table are worth: `python -m tests_vllm.witness FOLDER [--write]`.

FOLDER is what `pytest tests_vllm/test_table.py --keep FOLDER` left. Every trace goes through
`python -m monitor check`, with the exit that is due, and through `python -m monitor evidence` to
`python -m proofs lower`. The smallest kept ones of a mode that show its obligations must make the
plugin's row of that mode sound; what a violated one shows must not, alone or beside those. Each
trace is compared with the models (`tests_vllm.runs`). The descriptor of the plugin must state what
they show; `--write` rewrites it (`tests_vllm.shown`). Needs Z3, and no engine.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from monitor.__main__ import main as monitor
from proofs.__main__ import main as proofs
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.lowering.load import read_descriptor
from tests_vllm.runs import not_runs
from tests_vllm.shown import DESCRIPTOR, record, smallest, stated

SOUND = "backend_patch,contract,sound_with_adapter"


def quiet(main: Callable[[list[str]], int], *argv: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    out = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(out, write_through=True)):
        code = main(list(argv))
        return code, out.getvalue().decode()


def label(mode: str, traces: list[Path], at: Path) -> tuple[int, bool]:
    """What taking the evidence exits with, and whether it makes the row sound."""
    evidence = at / "evidence.yaml"
    evidence.unlink(missing_ok=True)
    named = [str(trace) for trace in traces]
    code, _ = quiet(monitor, "evidence", *named, "--mode", mode, "-o", str(evidence))
    if not evidence.exists():
        return code, False
    asked = ("--mode", mode, "--bundle", "contract", "--evidence", str(evidence))
    asked = (*asked, "--require-evidence")  # whatever the descriptor states
    _, rows = quiet(proofs, "lower", str(DESCRIPTOR), *asked, "--format", "csv")
    return code, SOUND in rows


def described(kept: dict[Mode, list[Path]], *, write: bool) -> list[str]:
    """Where the descriptor does not state what these traces show, once `write` has written it."""
    shown = {mode: found for mode, traces in kept.items() if (found := smallest(mode, traces))}
    if write:
        record(shown)
    states = stated(read_descriptor(DESCRIPTOR))
    due = {mode: set(MODES[mode].names()) for mode in shown}
    stale = [mode for mode in Mode if states.get(mode) != due.get(mode)]
    says = f"{DESCRIPTOR.name} states other than traces show: make witness"
    return [f"{mode}: {says}" for mode in stale]


def main(folder: str, *options: str) -> int:
    """Print what is wrong, and for each mode what was found; 1 where anything is wrong."""
    at, wrong = Path(folder), []
    of_mode: dict[str, list[tuple[Path, int]]] = defaultdict(list)
    honest: dict[Mode, list[Path]] = defaultdict(list)
    for expected in sorted(at.glob("*/expected.json")):
        due = json.loads(expected.read_bytes())
        trace = expected.with_name(due["trace"])
        of_mode[due["mode"]].append((trace, due["code"]))
        if due["code"] == 0 and due["honest"] and due["enforced"]:
            honest[Mode(due["mode"])].append(trace)
        code, said = quiet(monitor, "check", str(trace), "--mode", due["mode"])
        if code != due["code"]:
            wrong.append(f"{trace}: the check exits {code}, and not {due['code']}\n{said}")
    if not of_mode:
        wrong.append(f"{folder} holds no traces of the table")
    for mode in sorted(of_mode):
        kept = smallest(Mode(mode), [trace for trace, code in of_mode[mode] if code == 0])
        sound = (0, True) == label(mode, kept, at)
        print(f"{mode} {SOUND if sound else 'NOT SOUND'}, by {len(kept)} of {len(of_mode[mode])}")
        if not sound:
            wrong.append(f"{mode}: what its kept traces show does not make the row sound")
        for trace, code in of_mode[mode]:
            if code == 0:
                continue
            for beside in ([], kept) if code == 1 else ([],):
                if (code, False) != label(mode, [*beside, trace], at):
                    wrong.append(f"{trace}, with {len(beside)} beside it: evidence of {mode}")
    others, runs = not_runs(at, lambda *named: quiet(proofs, "accepts", *named))
    print(f"{runs} times a trace is a run of a model")
    wrong += others
    wrong += described(honest, write=not wrong and "--write" in options)
    print("\n".join(wrong) or "all as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
