"""Compares two versions of vLLM in what the adapters use: `python -m tests.upstream OLD NEW`.

Both are folders with a package `vllm`: the site-packages of an environment, or an unpacked wheel.
Only sources are read, so no engine is installed for it. It prints for each hooked method and each
class that is read whether it is gone, takes other parameters, lacks attributes, or has another
body, and which names that the adapters import are gone. The exit code is 1 where an adapter must
state something of its own, and 0 where only bodies differ: those must be read.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from runtime_hooks.engines import shared
from runtime_hooks.engines.shared.attributes import READS
from runtime_hooks.engines.shared.hook_points import POINTS

__all__ = ["Sources", "differences", "main"]

ADAPTERS: Final = Path(shared.__file__).parent
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Difference(NamedTuple):
    """What differs; `own` says that an adapter must state something of its own."""

    name: str
    what: str
    own: bool


class Sources:
    """The sources of one version."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tree = cache(self._read)

    def _read(self, module: str) -> ast.Module | None:
        path = self._folder.joinpath(*module.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return ast.parse(file.read_text(encoding="utf-8"))
        return None

    def _is_package(self, module: str) -> bool:
        return self._folder.joinpath(*module.split("."), "__init__.py").is_file()

    def find(self, module: str, name: str) -> tuple[str, ast.AST] | None:
        """The class or function of this name, and the module that defines it."""
        tree = self.tree(module)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.ClassDef | Function) and node.name == name:
                return module, node
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self.find(self._origin(module, node), alias.name)
        return None

    def _origin(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = module.split(".")
        kept = parts[: len(parts) - node.level + self._is_package(module)]
        return ".".join([*kept, *([node.module] if node.module else [])])

    def has(self, module: str, name: str) -> bool:
        """Whether a module has this name, as far as its source shows."""
        tree = self.tree(module)
        if tree is None:
            return False
        if self.tree(f"{module}.{name}") is not None:
            return True
        return any(
            name in (getattr(node, "name", ""), getattr(node, "asname", ""))
            or (isinstance(node, ast.Name) and node.id == name)
            or (isinstance(node, ast.Constant) and node.value == name)  # exported when asked for
            for node in ast.walk(tree)
        )

    def lineage(self, module: str, name: str) -> Iterator[ast.ClassDef]:
        """A class and those that it is made from, as far as they are in this package."""
        found = self.find(module, name)
        if found is None or not isinstance(found[1], ast.ClassDef):
            return
        at, kind = found
        yield kind
        for base in kind.bases:
            yield from self.lineage(at, ast.unparse(base).partition("[")[0].rpartition(".")[2])

    def method(self, path: str) -> Function | None:
        """The function at `module:name` or `module:Class.name`."""
        module, _, rest = path.partition(":")
        first, _, last = rest.partition(".")
        if not last:
            found = self.find(module, first)
            return found[1] if found and isinstance(found[1], Function) else None
        own = (node for kind in self.lineage(module, first) for node in kind.body)
        return next((n for n in own if isinstance(n, Function) and n.name == last), None)

    def attributes(self, path: str) -> set[str] | None:
        """What objects of a class have: fields, methods, and what its methods set."""
        module, _, name = path.partition(":")
        kinds = list(self.lineage(module, name))
        if not kinds:
            return None
        nodes = [node for kind in kinds for node in ast.walk(kind)]
        return (
            {node.name for node in nodes if isinstance(node, Function)}
            | {node.id for node in nodes if isinstance(node, ast.Name)}
            | {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        )


def parameters(function: Function) -> tuple[str, ...]:
    """The names of the parameters, in their order."""
    given = function.args
    star = [each for each in (given.vararg, given.kwarg) if each is not None]
    return tuple(a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs, *star))


def body(function: Function) -> str:
    """What a function does, without its documentation and comments."""
    described = ast.get_docstring(function) is not None
    return "\n".join(map(ast.unparse, function.body[described:]))


def differences(old: Sources, new: Sources) -> Iterator[Difference]:
    """What differs of all that the adapters use."""
    for hook in POINTS:
        before, after = old.method(hook.path), new.method(hook.path)
        if before is None or after is None:
            if before is not after:
                yield Difference(hook.name, "gone" if after is None else "new", True)
        elif parameters(before) != parameters(after):
            yield Difference(hook.name, f"takes ({', '.join(parameters(after))})", True)
        elif body(before) != body(after):
            yield Difference(hook.name, "another body", False)
    for reads in READS:
        if not reads.path.startswith("vllm."):
            continue
        had, has = old.attributes(reads.path), new.attributes(reads.path)
        if lost := (set(reads.names) if has is None else set(reads.names) - has) & (had or set()):
            yield Difference(reads.name, f"no {', '.join(sorted(lost))}", True)
    for module, name in imported():
        if old.has(module, name) and not new.has(module, name):
            yield Difference(f"{module}.{name}", "cannot be imported", True)


def imported() -> list[tuple[str, str]]:
    """The modules of vLLM that the adapters import, each with a name."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in ADAPTERS.glob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    of_vllm = [node for node in nodes if (node.module or "").partition(".")[0] == "vllm"]
    return sorted({(str(node.module), alias.name) for node in of_vllm for alias in node.names})


def main(*folders: str) -> int:
    """Print the differences; 1 where an adapter must state its own, 2 where there is no vLLM."""
    if len(folders) != 2 or not all(Path(each, "vllm").is_dir() for each in folders):
        print("error: name two folders that have a package vllm", file=sys.stderr)
        return 2
    found = list(differences(*(Sources(Path(each)) for each in folders)))
    for each in found:
        print(f"{each.name}: {each.what}")
    print(f"{len(found)} differ; {sum(each.own for each in found)} need something of their own")
    return int(any(each.own for each in found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
