"""`python -m tests.differential_run`: the command of `tests.differential.run`."""

from tests.differential.run import main

if __name__ == "__main__":
    raise SystemExit(main())
