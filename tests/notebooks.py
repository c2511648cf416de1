"""Runs the cells of a notebook: `python -m tests.notebooks` stores what they give.

A kernel is not needed: the cells are plain Python, run in order in one namespace. What a cell
prints is its stream, and its last expression its result, with an SVG where it has one.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import json
from pathlib import Path
from typing import Any, Final

__all__ = ["FOLDER", "NOTEBOOKS", "executed", "in_lines", "read"]

FOLDER: Final = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS: Final = tuple(sorted(FOLDER.glob("*.ipynb")))


def read(path: Path) -> dict[str, Any]:
    """A notebook."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its code cells, run from first to last."""
    done, namespace = copy.deepcopy(notebook), {"__name__": "__main__"}
    cells = [cell for cell in done["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        cell["execution_count"] = number
        cell["outputs"] = _run("".join(cell["source"]), number, namespace)
    return done


def in_lines(text: str) -> list[str]:
    """A text as notebooks store it."""
    return text.splitlines(keepends=True)


def _run(source: str, number: int, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    body, name = ast.parse(source).body, f"cell {number}"
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), name, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": in_lines(text)})
    if value is not None:
        data = {"text/plain": in_lines(repr(value))}
        if hasattr(value, "_repr_svg_"):
            data["image/svg+xml"] = in_lines(value._repr_svg_())
        outputs.append(
            {
                "data": data,
                "execution_count": number,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def main() -> None:
    """Store the outputs of every notebook."""
    for path in NOTEBOOKS:
        text = json.dumps(executed(read(path)), indent=1, sort_keys=True, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
        print(path.name)


if __name__ == "__main__":
    main()
