"""The second of two data-parallel ranks, in one process and without the first rank.

Its configuration is the one that vLLM gives to a rank of a dense model in a process of its own
(`EngineCoreProc.run_engine_core`). Requests come with what a router marks on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vllm.v1.executor.uniproc_executor import UniProcExecutor

from runtime_hooks.control.folder import routes_of_server
from runtime_hooks.demo.engine import sampling
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.routing.router import Asked, Choice, Router, marked
from runtime_hooks.routing.routes import RouteTable
from runtime_hooks.settings.config import Routing
from tests_vllm.actions import outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests_vllm.actions import Act
    from tests_vllm.engine import Engine

__all__ = ["SECOND_OF_TWO", "routed", "router_of", "send"]


class _SecondRank(UniProcExecutor):  # type: ignore[misc]
    """Configures the engine before its scheduler is made."""

    def _init_executor(self) -> None:
        parallel = self.vllm_config.parallel_config
        parallel.data_parallel_size = parallel.elastic_ep_max_dp_size = 2
        parallel.data_parallel_index = 1
        parallel.reconfigure_for_independent_dp_rank()
        super()._init_executor()


SECOND_OF_TWO: Final = {"distributed_executor_backend": _SecondRank}
"""The engine's configuration."""


def router_of(folder: Path, **settings: Any) -> Router:
    """What routes in a process of the server whose sockets are in this folder."""
    table = RouteTable(folder, routes_of_server())
    return Router(table, Routing(**settings), qualified=False)


def send(
    engine: Engine,
    name: str,
    blocks: int,
    choice: Choice,
    metadata: dict[str, Any] | None = None,
    *,
    elsewhere: bool = False,
) -> Any:
    """The output of a request as the router sends it to the rank.

    Args:
        elsewhere: whether it is sent to another rank if it does not fit beside claims.
    """
    params = sampling(metadata)
    params.extra_args = marked(params.extra_args, choice, elsewhere=elsewhere)
    prompt: Any = {"prompt_token_ids": tokens(name, blocks)}
    (output,) = engine.llm.generate(prompt, params, use_tqdm=False)
    return output


def routed(name: str, blocks: int, *, elsewhere: bool = False) -> Act:
    """Have the router of a server of two ranks choose for a request, and send it to this rank.

    It returns why the router chose, and how the request ended: refused, or with how many blocks
    that were cached.
    """

    def act(engine: Engine) -> tuple[str, object]:
        router = router_of(engine.trace.parent / "control")
        choice = router.choose(Asked(name, tokens(name, blocks)), (0.0, 0.0), lambda _: None)
        assert choice.rank in (1, None)  # None: the load balancer may choose this rank
        output = send(engine, name, blocks, choice, elsewhere=elsewhere)
        return choice.why, outcome(output)

    return act
