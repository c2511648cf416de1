"""Defines the mapping that stands for a dictionary which has nothing in it yet."""

from __future__ import annotations

from typing import Any, Final, NoReturn

__all__ = ["NOTHING"]


class _Nothing(dict[Any, Any]):
    """An empty dictionary that stays empty."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this dictionary stays empty: replace it")

    __setitem__ = setdefault = update = __ior__ = _refuse


NOTHING: Final[Any] = _Nothing()
"""What a claim has of each kind until there is any; all claims have it in common."""
