"""The plugin inside a real engine: `make test-vllm`.

Each worker of pytest-xdist has a core to itself, however many threads an engine in it starts.
"""

import os

import runtime_hooks.demo.tiny  # noqa: F401  (the environment is set before vLLM is imported)

if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})
