"""An interrupt ends a proof that is under way."""

import signal
import subprocess
import sys
import time

import pytest


class TestInterrupt:
    @pytest.mark.parametrize("after", [2, 3])
    def test_exit_130(self, after: float) -> None:
        """Whatever it was doing, the command ends with the code of an interrupt, and no verdict."""
        command = [sys.executable, "-m", "proofs", "check", "hard_protected", "--engine", "spacer"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            time.sleep(after)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)

        assert process.returncode in (130, -signal.SIGINT)
        assert "holds" not in out
