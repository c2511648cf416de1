"""A server of its own processes, hooked, with an engine of 80 usable blocks."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from runtime_hooks.demo.tiny import DTYPE, MEMORY_FLAGS, model_folder, tokens
from tests_vllm.conftest import LONG_S

__all__ = ["TEMPLATE", "Server", "words"]

_MODEL = "tiny"
TEMPLATE = "{% for message in messages %}{{ message.content }} {% endfor %}"
_UNKNOWN = "unknown"
_SEVERAL = frozenset({"--api-server-count", "--data-parallel-size"})
_OPTIONS = f"--load-format dummy --enforce-eager --dtype {DTYPE} --shutdown-timeout 60"
_SIZES = "--num-gpu-blocks-override 81 --block-size 32 --max-model-len 2560 --max-num-seqs 4"


def words(name: str, blocks: int) -> str:
    """A text that is so many whole blocks long, the same for the same name."""
    return " ".join(f"t{token}" for token in tokens(name, blocks))


class Server:
    """A server, which may not answer yet; its trace and its log are in the folder.

    Args:
        options: of the server, beside the usual ones.
        armed: whether the plugin is turned on.
        config: of the model; by default the usual one.
        settings: of the plugin.
    """

    def __init__(
        self,
        folder: Path,
        *options: str,
        armed: bool = True,
        config: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.log, self._folder = folder / "log", folder
        given = folder / "settings.json"
        usual = {"trace": f"{folder}/{{pid}}.trace", "control": f"{folder}/control"}
        given.write_text(json.dumps({**usual, "monitor": "observe", **settings}))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        where = f"--host 127.0.0.1 --port {self.port} --served-model-name {_MODEL}"
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model"]
        if not _SEVERAL.isdisjoint(options):  # only the command line starts several processes
            command[2:] = ["vllm.entrypoints.cli.main", "serve"]
        environment = {**os.environ, "RESIDENT_CLAIMS": str(given) if armed else ""}
        del environment["VLLM_ENABLE_V1_MULTIPROCESSING"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *command,
                    _model(folder, config),
                    *f"{_OPTIONS} {_SIZES} {where}".split(),
                    *MEMORY_FLAGS.split(),
                    *options,
                ],
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    @property
    def trace(self) -> Path:
        """The trace, which is there once it answers; named by the process of the engine's core."""
        (trace,) = self._folder.glob("*.trace")
        return trace

    def follow(self) -> subprocess.Popen[str]:
        """Somebody who follows its verdicts."""
        command = [sys.executable, "-m", "monitor", "follow", f"{self.trace}.sock"]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)

    def wait(self) -> None:
        """Until it answers."""
        until = time.monotonic() + LONG_S
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.5)
        pytest.fail(f"the server does not answer: {self.log.read_text()[-2000:]}")

    def client(self, retries: int = 0, key: str = "none") -> OpenAI:
        """OpenAI's own client."""
        url = f"http://127.0.0.1:{self.port}/v1"
        return OpenAI(base_url=url, api_key=key, timeout=LONG_S, max_retries=retries)

    def complete(
        self, *prompts: list[int], retries: int = 0, key: str = "none", **more: Any
    ) -> Any:
        """A completion of one token for each prompt."""
        create = self.client(retries, key).completions.create
        asked: Any = prompts[0] if len(prompts) == 1 else list(prompts)
        return create(model=_MODEL, prompt=asked, max_tokens=1, **more)

    def chat(self, text: str | list[dict[str, Any]], **more: Any) -> Any:
        """A chat completion, of one token unless more is said."""
        message: Any = {"role": "user", "content": text}
        create = self.client().chat.completions.create
        return create(**{"model": _MODEL, "messages": [message], "max_tokens": 1, **more})

    def stop(self) -> None:
        """End it as an operator does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LONG_S)

    def kill(self) -> None:
        """End all of its processes, whatever they do."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _model(folder: Path, config: Mapping[str, Any] | None) -> str:
    """The tiny model, with a tokenizer whose words are its tokens, unless its folder has one."""
    at = model_folder(folder / "model", config)
    if (at / "tokenizer.json").exists():
        return str(at)
    known = {_UNKNOWN: 0, **{f"t{token}": token for token in range(1, 512)}}
    tokenizer = Tokenizer(models.WordLevel(known, _UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token=_UNKNOWN, chat_template=TEMPLATE
    ).save_pretrained(at)
    return str(at)
