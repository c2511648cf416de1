"""What must hold: the alphabet, claims, the lifecycle, nineteen obligations and seven modes."""

# One of the packages of resident-claims: spec/installed.py looks for that name here.

__version__ = "0.1.0"
