"""Imports the module of a command when that command is asked for.

A command line with many commands starts as fast as the one that is called: the others are not
imported, nor what they need. Its help names every command, and so imports all of them.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

from spec.language.called import retold

__all__ = ["AddTo", "App", "group_of", "later", "retell"]

AddTo: TypeAlias = Callable[[typer.Typer], None]
"""What the function `register` of a module is: it adds the module's command to an application."""


class _Command(TyperCommand):
    """A command whose usage writes arguments as most tools do: `REGISTRY RECORDS...`, `[MODE]`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words after the name of the command."""
        pieces = [] if self.options_metavar is None else [self.options_metavar]
        for each in self.get_params(ctx):
            if each.param_type_name == "argument":
                name = each.human_readable_name + ("" if each.nargs == 1 else "...")
                pieces.append(name if each.required else f"[{name}]")
        return pieces


class App(typer.Typer):
    """An application whose commands are those above."""

    def command(self, name: str | None = None, **more: Any) -> Callable[[Any], Any]:
        """Add a function as a command."""
        return super().command(name, **{"cls": _Command, **more})


class _Commands(UserDict[str, Any]):
    """Commands by name; the value of one that was not asked for yet is the name of its module."""

    def __init__(self, modules: Mapping[str, str], own: Mapping[str, Any]) -> None:
        super().__init__({**modules, **own})

    def __getitem__(self, name: str) -> Any:
        command = self.data[name]
        if isinstance(command, str):
            command = self.data[name] = _imported(command, name)
            retell(command)
        return command

    def get(self, name: str, default: Any = None) -> Any:
        """The command called `name`; `default` where there is none."""
        return self[name] if name in self.data else default


def group_of(modules: Mapping[str, str]) -> type[TyperGroup]:
    """The class of a group with commands in modules, and with those that an application adds.

    Args:
        modules: for each command, in the order of the help, the module whose `register` adds it.
    """

    class Group(TyperGroup):
        def __init__(self, *, commands: Any = None, **given: Any) -> None:
            super().__init__(**given)
            self.commands = _Commands(modules, commands or {})

    return Group


def _imported(module: str, name: str) -> Any:
    """The command that a module registers under a name."""
    holder = App(add_completion=False, rich_markup_mode=None)
    register: AddTo = import_module(module).register
    register(holder)
    return typer.main.get_group(holder).commands[name]


def later(module: str, name: str) -> Callable[[], Any]:
    """A function without arguments, which is imported from its module when it is called."""
    return lambda: getattr(import_module(module), name)()


def retell(command: Any) -> None:
    """Have the help of a command, and of those within it, name commands as they are called here.

    A command that is not imported yet is told so when it is.
    """
    for each in (command, *command.params):
        for part in ("help", "epilog"):
            if text := getattr(each, part, None):
                setattr(each, part, retold(text))
    inner = getattr(command, "commands", {})
    for each in (inner.data if isinstance(inner, _Commands) else inner).values():
        if not isinstance(each, str):
            retell(each)
