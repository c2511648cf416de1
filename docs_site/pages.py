"""Writes the pages of the documentation site: the Markdown of this tree, as mkdocs reads it.

Pages keep their places in the tree, so that their links hold. Two things change. What is nested
in a list is indented by four columns, as Python-Markdown requires. A link to a folder leads to its
README.md or to a list of its files, or else becomes text. The search leaves out the changelog,
which would be its first answer to everything. Three pages are written by commands, and linked
from the first one: a report, the proofs, and the labels.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["LISTED", "LIVE", "ROOT", "nested", "pages", "write"]

ROOT: Final = Path(__file__).parents[1]

LISTED: Final = {
    "docs/decisions": "Decisions",
    "docs/schema": "JSON Schemas",
}
"""Folders for which a page with a list of their files is written, and its heading."""

LIVE: Final = {
    "report": "monitor report monitor/samples/hard_protected_victim.jsonl -o",
    "proofs": "proofs check --all --html",
    "labels": "proofs lower --all --html",
}
"""The commands that write pages of the site, by the names of the pages in `live`."""

_LOOK: Final = (
    "Look first: [a report](live/report.html) of a broken promise, [the proofs](live/proofs.html) "
    "of all modes, [the labels](live/labels.html) of all runtimes.\n\n"
)
_TOP: Final = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
_UNSEARCHED: Final = "---\nsearch: {exclude: true}\n---\n\n"
_LINK: Final = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)#:\s]+)(?:#[^)]*)?\)")
_MARKER: Final = re.compile(r"(?:[*+-]|\d+[.)]) +")
_FENCE: Final = re.compile(r"(`{3,}|~{3,})")


def pages() -> list[Path]:
    """The Markdown files of the site, below the root of the tree."""
    found = [Path(name) for name in _TOP]
    found += sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md"))
    linked = {at for page in found for at in _targets(page) if at.suffix == ".md"}
    return [*found, *sorted(linked - set(found))]


def write(folder: Path) -> None:
    """Write the pages, and the files that they link to, into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for page in pages():
        there = folder / page
        there.parent.mkdir(parents=True, exist_ok=True)
        head = _UNSEARCHED if page.name == "CHANGELOG.md" else ""
        text = nested(_with_links((ROOT / page).read_text(), page))
        if page.name == "README.md" and page.parent == Path():
            heading, _, text = text.partition("\n\n")
            head = f"{heading}\n\n{_LOOK}"
        there.write_text(head + text)
    files = {at for page in pages() for at in _targets(page) if at.suffix != ".md"}
    files |= {path.relative_to(ROOT) for path in (ROOT / "docs/schema").iterdir()}
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, folder / file)
    (folder / "live").mkdir()
    for name, command in LIVE.items():
        call = [sys.executable, "-m", *command.split(), folder.resolve() / "live" / f"{name}.html"]
        done = subprocess.run(call, cwd=ROOT, stdout=subprocess.DEVNULL)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{command} failed")
    for name, heading in LISTED.items():
        (folder / name / "README.md").write_text(_list(Path(name), heading))


def nested(text: str) -> str:
    """Markdown in which what is in a list is indented by four columns for each level."""
    lines = []
    levels: list[int] = []  # the columns at which the contents of the open items begin
    fence = ""
    for line in text.splitlines():
        rest = line.lstrip(" ")
        column = len(line) - len(rest)
        if not fence:
            while rest and levels and column < levels[-1]:
                levels.pop()
        at = levels[-1] if levels else 0
        inner = line[at:] if column >= at else rest
        lines.append(f"{' ' * 4 * len(levels)}{inner}" if rest else "")
        if fence:
            fence = "" if rest.rstrip() == fence else fence
        elif opened := _FENCE.match(rest):
            fence = opened[1]
        elif (marker := _MARKER.match(rest)) and column - at < 4:
            levels.append(column + len(marker[0]))
    return "".join(f"{line}\n" for line in lines)


def _targets(page: Path) -> set[Path]:
    """The files of the tree that a page links to."""
    links = _LINK.finditer((ROOT / page).read_text())
    found = {_at(page, each["target"]) for each in links}
    found = {at / "README.md" if (ROOT / at).is_dir() else at for at in found}
    return {at for at in found if (ROOT / at).is_file()}


def _with_links(text: str, page: Path) -> str:
    """The text of a page, in which no link leads to a folder."""

    def changed(link: re.Match[str]) -> str:
        at = _at(page, link["target"])
        if not (ROOT / at).is_dir():
            return link[0]
        has_page = (ROOT / at / "README.md").is_file() or str(at) in LISTED
        return f"[{link['text']}]({link['target']}/README.md)" if has_page else link["text"]

    return _LINK.sub(changed, text)


def _at(page: Path, target: str) -> Path:
    """The place in the tree that a link of a page leads to."""
    return Path(os.path.normpath(page.parent / target))


def _list(folder: Path, heading: str) -> str:
    """The page that lists the files of a folder, each by its title."""
    lines = [f"# {heading}", ""]
    for file in sorted((ROOT / folder).iterdir()):
        title = file.read_text().split("\n", 1)[0][2:] if file.suffix == ".md" else file.name
        lines.append(f"* [{title}]({file.name})")
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
