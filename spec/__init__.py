"""What must hold: the alphabet, claims, the lifecycle, nineteen obligations and seven modes."""

__version__ = "0.1.0"
