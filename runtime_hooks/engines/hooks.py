"""Is a hook point there, and is it the one that was tried? Checked by name and by signature."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Hook", "faults"]


@dataclass(frozen=True, slots=True)
class Hook:
    """A place in the engine: `path` is `module:Class.method`, `takes` the names of what it takes.

    `sees` says what is learnt there, `does` what is enforced there.
    """

    path: str
    takes: tuple[str, ...]
    sees: str = ""
    does: str = ""

    @property
    def name(self) -> str:
        """The class and the method."""
        return self.path.partition(":")[2]

    def fault(self) -> str:
        """What is wrong with it in the engine that is installed; empty where nothing is."""
        module, _, rest = self.path.partition(":")
        try:
            found = import_module(module)
        except ImportError as error:
            return f"{module} cannot be imported: {error}"
        for part in rest.split("."):
            found = getattr(found, part, None)  # type: ignore[assignment]
            if found is None:
                return f"there is no {part} in {module}"
        takes = tuple(inspect.signature(found).parameters)  # type: ignore[arg-type]
        if takes != self.takes:
            return f"it takes ({', '.join(takes)}), and was tried with ({', '.join(self.takes)})"
        return ""


def faults(hooks: Iterable[Hook]) -> dict[str, str]:
    """The hooks that cannot be used, each with the reason."""
    return {hook.name: fault for hook in hooks if (fault := hook.fault())}
