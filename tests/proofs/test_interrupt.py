"""An interrupt ends a proof that is under way."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool

import pytest

from proofs.engines.background import second_process


class _Deaf:
    """What is raised while it is given back is raised nowhere, as in an object of Z3."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


class TestInterrupt:
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    @pytest.mark.parametrize("broken", [False, True])
    def test_not_lost(self, broken: bool) -> None:
        """An interrupt that nothing raised is heard at the end, and is no fault of the worker."""
        reached = []

        def work() -> None:
            with second_process():
                _Deaf()
                reached.append("the end")
                if broken:
                    raise BrokenProcessPool

        with pytest.raises(KeyboardInterrupt):
            work()
        assert ["the end"] == reached
        assert signal.default_int_handler is signal.getsignal(signal.SIGINT)

    @pytest.mark.slow
    @pytest.mark.parametrize("after", [2, 3])
    def test_exit_130(self, after: float) -> None:
        """Whatever it was doing, the command ends with the code of an interrupt, and no verdict."""
        # Eight seconds of work: what is quicker may end before the signal on a fast machine.
        command = [sys.executable, "-m", "proofs", "check", "hard_protected", "--full"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            time.sleep(after)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)

        assert process.returncode in (130, -signal.SIGINT)
        assert "holds" not in out
