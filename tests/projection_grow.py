"""`python -m tests.projection_grow`: the command of `tests.projection_mutants.grow`."""

from tests.projection_mutants.grow import main

if __name__ == "__main__":
    raise SystemExit(main())
