"""Tells the compiler (mypyc) what it must know of a class; without it nothing changes.

`mypyc_attr(allow_interpreted_subclasses=True)` stands at the classes whose objects a snapshot
holds: only then the compiler makes an object without calling `__init__`, as the reader of snapshots
does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_):
        """The class as it is."""
        return lambda kind: kind


__all__ = ["mypyc_attr"]
