"""Compiles the modules of the monitor that every event passes, for one machine, if asked to.

Without that they are interpreted. `RESIDENT_CLAIMS_NATIVE=1 pip install .` builds a wheel for it,
with mypyc and a C compiler. `python hatch_build.py FOLDER` copies the project to a folder and
compiles it there, as `make native` does, so that the tests can be run on it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT: Final = Path(__file__).resolve().parent
PACKAGES: Final = ("evaluate", "pool", "requests", "stream")
BESIDE: Final = ("input/sound",)
"""Modules of other packages that are compiled."""

INTERPRETED: Final = frozenset(
    {
        *("evaluate/by_kind", "evaluate/compile", "evaluate/for_kind", "evaluate/inlined"),
        *("evaluate/conclusion", "evaluate/event_view", "evaluate/observer_state"),
        *("evaluate/alike", "evaluate/nothing", "evaluate/reading"),
        *("pool/cells", "pool/changes", "pool/ranks", "pool/sums"),
        *("stream/grounds", "stream/keep", "stream/limits", "stream/overview", "stream/parting"),
        *("stream/retired_record", "stream/retired_summary", "stream/span", "stream/stream_part"),
    }
)
"""Modules of these packages that stay interpreted: they do not run for each event, or they define
classes (named tuples, Structs, dataclasses, classes with interpreted subclasses) that would behave
differently if compiled.
"""

NEEDS: Final = ("mypy>=2.1,<3", "setuptools>=65")
_CLASS: Final = re.compile(r"^class ", re.M)
_ATTRIBUTE: Final = "@mypyc_attr(allow_interpreted_subclasses=True)\nclass "
_IMPORT: Final = "if TYPE_CHECKING:\n    from mypy_extensions import mypyc_attr\n"
_AFTER: Final = "from __future__ import annotations\n"
_CONFIG: Final = "[mypy]\nstrict = True\nignore_missing_imports = True\n"
_NOT_COPIED: Final = shutil.ignore_patterns(".*", "build", "dist", "__pycache__")
_MADE: Final = ".native"  # is in a folder that this module made
_SETUP: Final = """
import sys
from mypyc.build import mypycify
from setuptools import setup

modules = mypycify(sys.argv[1:], opt_level="3", multi_file=True)
setup(name="native", packages=[], script_args=["build_ext", "--inplace"], ext_modules=modules)
"""


def modules() -> list[str]:
    """The files that are compiled, from the root of the project."""
    found = (path for each in PACKAGES for path in sorted((ROOT / "monitor" / each).glob("*.py")))
    names = (path.relative_to(ROOT).as_posix() for path in found if path.stem != "__init__")
    inner = [n for n in names if n.removeprefix("monitor/").removesuffix(".py") not in INTERPRETED]
    return [*inner, *(f"monitor/{each}.py" for each in BESIDE)]


def compile_in(folder: Path) -> list[Path]:
    """Compile the modules of a copy of the project in place; what was made.

    An object that a snapshot holds is made without `__init__` when it is read. mypyc allows that
    for a class of which it allows interpreted subclasses, so each class is said to be one.
    """
    for name in modules():
        path = folder / name
        text = _CLASS.sub(_ATTRIBUTE, path.read_text(encoding="utf-8"))
        if _ATTRIBUTE in text:
            before, after = text.split(_AFTER, 1)
            text = f"{before}{_AFTER}from typing import TYPE_CHECKING\n{_IMPORT}{after}"
        path.write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as beside:
        config, script = Path(beside, "mypy.ini"), Path(beside, "setup_native.py")
        config.write_text(_CONFIG, encoding="utf-8")
        script.write_text(_SETUP, encoding="utf-8")
        pyproject = folder / "pyproject.toml"
        aside = pyproject.rename(folder / "pyproject.aside")  # setuptools reads another form of it
        try:
            command = [sys.executable, str(script), f"--config-file={config}", *modules()]
            subprocess.run(command, cwd=folder, check=True)
        finally:
            aside.rename(pyproject)
    return sorted({*folder.glob("monitor/**/*.so"), *folder.glob("*.so")})


class NativeBuildHook(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel, if `RESIDENT_CLAIMS_NATIVE` is 1."""

    PLUGIN_NAME = "custom"

    @property
    def _asked(self) -> bool:
        given = os.environ.get("RESIDENT_CLAIMS_NATIVE", "")
        if given not in ("", "0", "1"):
            raise ValueError(f"RESIDENT_CLAIMS_NATIVE is {given!r}; give 1, or leave it out")
        return given == "1"

    def dependencies(self) -> list[str]:
        """What compiling needs: mypyc reads what the modules import, too."""
        if not self._asked:
            return []
        return [*NEEDS, *self.metadata.core.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, before the wheel is built."""
        if not self._asked or version == "editable":
            return
        self._folder = tempfile.mkdtemp()
        copy = Path(self._folder, "project")
        shutil.copytree(ROOT, copy, ignore=_NOT_COPIED)
        try:
            made = compile_in(copy)
        except BaseException:
            self.finalize(version, build_data, "")  # which is not called then
            raise
        for path in made:
            build_data["force_include"][str(path)] = path.relative_to(copy).as_posix()
        build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Take away what was made for the wheel."""
        if (folder := getattr(self, "_folder", None)) is not None:
            shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Copy the project to the folder that is named, and compile it there."""
    if len(sys.argv) != 2 or not sys.argv[1] or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    try:
        if fault := _fault_of(folder):
            print(f"error: {folder} {fault}", file=sys.stderr)
            return 2
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / _MADE).touch()  # first, so that what is interrupted can be made again
        shutil.copytree(ROOT, folder, ignore=_NOT_COPIED, dirs_exist_ok=True)
        made = compile_in(folder.resolve())
    except (OSError, ValueError, shutil.Error) as error:
        print(f"error: {folder} cannot be made: {error}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError:  # which said why
        print("error: the modules cannot be compiled; a C compiler is needed", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    print(f"{len(made)} compiled modules are in {folder}")
    return 0


def _fault_of(folder: Path) -> str:
    """Why the project cannot be copied to a folder; empty where it can."""
    if os.path.lexists(folder) and (folder.is_symlink() or not (folder / _MADE).exists()):
        return "is there, and was not made by this command"
    place = folder.resolve()
    if ROOT.is_relative_to(place):
        return "has the project in it"
    if place.is_relative_to(ROOT):
        first = place.relative_to(ROOT).parts[0]
        if not _NOT_COPIED(str(ROOT), [first]):
            return f"is in the project, and would be copied into itself; name one in {ROOT}/build"
    return ""


if __name__ == "__main__":
    sys.exit(main())
