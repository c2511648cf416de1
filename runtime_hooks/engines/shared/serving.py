"""Makes vLLM's HTTP server answer refused requests with status 503 or 400, and the claims.

vLLM ends a request that cannot go on with a finish reason, under status 200. In the process of the
API server this module raises the output of a refused request as an error instead, and vLLM's own
handlers turn that into an answer of OpenAI's form. A Python caller of the engine gets the output.
The status is 400 where this engine can never serve the request, and otherwise 503.
"""

from __future__ import annotations

import sys
from contextlib import aclosing, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.responses import JSONResponse
from vllm.entrypoints.generate.base.serving import GenerateBaseServing
from vllm.entrypoints.serve.engine.protocol import ErrorInfo, ErrorResponse
from vllm.entrypoints.serve.exception_handling.handlers import vllm_error
from vllm.exceptions import GenerationError
from vllm.v1.engine.exceptions import EngineGenerateError

from runtime_hooks.claims.ownership import CALLING
from runtime_hooks.engines.shared.refusals import (
    ELSEWHERE,
    METADATA,
    OVERSIZED_REASON,
    REASONS,
    for_caller,
    message,
)
from runtime_hooks.routing.router import TRIED
from runtime_hooks.trace.faults import Faults

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

__all__ = ["Refused", "answer_refusals"]


class Refused(GenerationError):
    """The engine refused a request; `notes` are the answers to everything that came with it.

    `elsewhere` says that it is to be sent to another rank.
    """

    def __init__(self, notes: dict[str, Any]) -> None:
        refusal = notes["refusal"]
        super().__init__(message(refusal))
        never = refusal["reason"] == OVERSIZED_REASON
        self.status_code = HTTPStatus.BAD_REQUEST if never else HTTPStatus.SERVICE_UNAVAILABLE
        self.elsewhere = refusal["reason"] == ELSEWHERE
        error = ErrorInfo(
            message=str(self),
            type=refusal["reason"],
            code=self.status_code.value,
            **{METADATA: notes},
        )
        self.answer: ErrorResponse = ErrorResponse(error=error)
        self.body: dict[str, Any] = self.answer.model_dump()


class _Client:
    """A client of the engine that raises the output of a refused request as an error."""

    def __init__(self, client: Any, faults: Faults, *, private: bool) -> None:
        self._client, self._faults, self._private = client, faults, private

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def generate(self, *args: Any, **named: Any) -> AsyncGenerator[Any, None]:
        """Yield the outputs of a request, as the engine's client does; a request that does not fit
        on one rank is sent to another one.

        Raises:
            Refused: the engine refused the request, or one of its answers; or the server did,
                before it chose an engine.
        """
        tried: list[int] = []  # the ranks that it was sent to
        moved = True
        while moved:
            moved, before = False, len(tried)
            TRIED.set(tried)
            try:
                async with aclosing(self._client.generate(*args, **named)) as outputs:
                    async for output in outputs:
                        if (refused := self._refused(output)) is not None:
                            if refused.elsewhere and len(tried) > before:
                                moved = True
                                break
                            raise refused
                        yield output
            except EngineGenerateError as error:
                if isinstance(cause := error.__cause__, Refused):
                    raise cause from None
                raise
            finally:
                TRIED.set(None)

    def _refused(self, output: Any) -> Refused | None:
        try:
            notes = (output.kv_transfer_params or {}).get(METADATA, {})
            if "refusal" in notes:
                if self._private:
                    notes = {**notes, "refusal": for_caller(notes["refusal"], CALLING.get())}
                return Refused(notes)
            reasons = {answer.stop_reason for answer in output.outputs} & REASONS
            return Refused({**notes, "refusal": {"reason": reasons.pop()}}) if reasons else None
        except Exception as fault:
            self._faults.note("generate", fault)
            if self._private:  # rather no answer than the claims of others
                with suppress(Exception):
                    output.kv_transfer_params = None
            return None


def answer_refusals(*, private: bool = False) -> Callable[[], None]:
    """Hook every server that is made from now on; returns a function that ends this.

    Args:
        private: callers are authenticated, and do not learn of the claims of others.
    """
    made = GenerateBaseServing.__init__
    answered = GenerateBaseServing.create_error_response
    handler, faults = vllm_error.generation_error_handler, Faults()

    def init(self: Any, *args: Any, **named: Any) -> None:
        made(self, *args, **named)
        self.engine_client = _Client(self.engine_client, faults, private=private)

    def answer(*args: Any, **named: Any) -> ErrorResponse:
        # A stream that ends is answered while its exception is handled.
        error = sys.exception()
        return error.answer if isinstance(error, Refused) else answered(*args, **named)

    async def handle(req: Any, exc: GenerationError) -> JSONResponse:
        if isinstance(exc, Refused):
            return JSONResponse(exc.body, status_code=exc.status_code)
        return await handler(req, exc)

    GenerateBaseServing.__init__ = init
    GenerateBaseServing.create_error_response = staticmethod(answer)
    vllm_error.generation_error_handler = handle

    def end() -> None:
        GenerateBaseServing.__init__ = made
        del GenerateBaseServing.create_error_response  # it is a base's
        vllm_error.generation_error_handler = handler

    return end
