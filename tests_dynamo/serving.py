"""Starts a frontend of NVIDIA Dynamo that routes by KV events, before two mock engines.

They find each other by files, and need neither etcd nor NATS. A word of a prompt is a token.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

__all__ = ["BLOCK", "Frontend", "words"]

BLOCK = 32

_PYTHON = os.environ.get("RESIDENT_CLAIMS_DYNAMO_PYTHON", "build/dynamo/bin/python")
_START_S = 90
_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "vocab_size": 512,
    "max_position_embeddings": 8192,
    "torch_dtype": "float32",
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_PLANES = ("--discovery-backend", "file", "--request-plane", "tcp", "--event-plane", "zmq")


class Frontend:
    """A running frontend and its engines; `trace` and `log` are what the frontend writes.

    Args:
        blocks: of the cache of each engine.
    """

    def __init__(self, folder: Path, running: ExitStack, *, blocks: int) -> None:
        self.trace, self.log = folder / "trace.jsonl", folder / "frontend.jsonl"
        self._running, self._port, *events = running, *(_free_port() for _ in range(3))
        model = _model(folder / "model")
        mocker = ["mocker", "--model-path", model, "--model-name", "tiny"]
        mocker += ["--block-size", str(BLOCK), "--num-gpu-blocks-override", str(blocks)]
        mocker += ["--num-workers", "2", "--zmq-kv-events-ports", ",".join(map(str, events))]
        mocker += ["--kv-bytes-per-token", "100", "--max-model-len", "4096"]
        frontend = ["frontend", "--http-host", "127.0.0.1", "--http-port", str(self._port)]
        frontend += ["--router-mode", "kv", "--kv-cache-block-size", str(BLOCK)]
        environment = {
            "DYN_FILE_KV": str(folder / "found"),
            "DYN_REQUEST_TRACE": "1",
            "DYN_REQUEST_TRACE_SINKS": "jsonl",
            "DYN_REQUEST_TRACE_OUTPUT_PATH": str(self.trace),
            "DYN_LOGGING_JSONL": "1",
            "HF_HUB_OFFLINE": "1",
        }
        (folder / "found").mkdir()
        self._processes = [
            self._start(command, log, environment)
            for command, log in ((mocker, folder / "mocker.log"), (frontend, self.log))
        ]
        self._wait()

    def _start(
        self, command: list[str], log: Path, environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        module, *arguments = command
        whole = [_PYTHON, "-m", f"dynamo.{module}", *arguments, *_PLANES]
        out = self._running.enter_context(log.open("wb"))
        process = subprocess.Popen(whole, stdout=out, stderr=out, env=os.environ | environment)
        self._running.callback(process.wait)
        self._running.callback(process.kill)
        return process

    def _wait(self) -> None:
        until = time.monotonic() + _START_S
        while time.monotonic() < until:
            with suppress(OSError), self._opened("models") as answer:
                if json.load(answer)["data"]:
                    time.sleep(2)  # until both engines are known to the router
                    return
            time.sleep(0.2)
        raise TimeoutError(f"no model is served: {self.log.read_text()[-2000:]}")

    def _opened(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self._port}/v1/{path}"
        head = {"Content-Type": "application/json"}
        return urllib.request.urlopen(urllib.request.Request(url, data, head), timeout=30)

    def ask(self, prompt: str, **more: Any) -> dict[str, Any]:
        """The answer to a prompt; after it the router learns what the engine cached."""
        with self._opened("completions", {"model": "tiny", "prompt": prompt, **more}) as answer:
            found: dict[str, Any] = json.load(answer)
        time.sleep(0.5)
        return found

    def chat(self, content: str, **more: Any) -> dict[str, Any]:
        """The answer to a chat of one message."""
        messages = [{"role": "user", "content": content}]
        body = {"model": "tiny", "messages": messages, **more}
        with self._opened("chat/completions", body) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def stop(self) -> None:
        """End it as an operator does, so that it writes what it holds back."""
        for process in reversed(self._processes):
            process.send_signal(signal.SIGINT)
        for process in self._processes:
            process.wait(30)


def words(first: int, count: int) -> str:
    """A prompt of so many tokens, beginning with this one."""
    return " ".join(f"w{token}" for token in range(first, first + count))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _model(at: Path) -> str:
    """A model without weights, whose words are its tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    at.mkdir()
    known = {"<unk>": 0, **{f"w{token}": token for token in range(1, 512)}}
    tokenizer = Tokenizer(models.WordLevel(known, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(at / "tokenizer.json"))
    template = "{% for message in messages %}{{ message.content }} {% endfor %}"
    about = {"unk_token": "<unk>", "eos_token": "w2", "chat_template": template}
    (at / "tokenizer_config.json").write_text(json.dumps(about))
    (at / "config.json").write_text(json.dumps(_CONFIG))
    (at / "generation_config.json").write_text(json.dumps({"eos_token_id": 2}))
    return str(at)
