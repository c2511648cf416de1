"""`python -m tests.projection_mutants`: the command of `tests.projection_mutants.campaign`."""

from tests.projection_mutants.campaign import main

if __name__ == "__main__":
    raise SystemExit(main())
