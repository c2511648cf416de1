"""Commands are named in the form in which the program was called."""

from __future__ import annotations

import pytest

from spec.language.called import called, calling, retold

NAMES = {"proofs check": "claims prove", "spec": "claims spec", "spec diagram": "claims draw"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python -m proofs check hard_protected", "claims prove hard_protected"),
        ("python -m proofs check.", "claims prove."),
        ("`python -m proofs check`", "`claims prove`"),
        ("python -m proofs certify", "python -m proofs certify"),
        ("python -m proofs", "python -m proofs"),
        ("python -m proofs.model.pair", "python -m proofs.model.pair"),
        ("python -m spec.check list", "python -m spec.check list"),
        ("python -m spec list", "claims spec list"),
        ("python -m spec diagram x", "claims draw x"),
        ("python -m spec", "claims spec"),
        ("python -m proofs checks", "python -m proofs checks"),
        ("python -m specs list; python -m spec list", "python -m specs list; claims spec list"),
    ],
)
def test_retold(text: str, expected: str) -> None:
    """Each command that has another name has it, and nothing else changes."""
    with calling(NAMES):
        assert expected == retold(text)
    assert text == retold(text)


def test_called() -> None:
    """By default a command is that of its package, also after an error."""
    assert "python -m proofs check x" == called("proofs check x")
    with calling(NAMES):
        assert "claims prove x" == called("proofs check x")
    with pytest.raises(KeyError), calling(NAMES):
        raise KeyError
    assert "python -m proofs check x" == called("proofs check x")
