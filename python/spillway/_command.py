# SPDX-License-Identifier: Apache-2.0
"""The command line: finding the executable, building arguments, turning failures into exceptions."""
import os
import shutil
import subprocess
from pathlib import Path


class SpillwayError(RuntimeError):
    """The command failed. `code` is its exit code, `messages` what it printed on standard error."""

    def __init__(self, arguments, code, messages):
        super().__init__(messages.strip() or f"spillway {' '.join(arguments)} ended with code {code}")
        self.arguments, self.code, self.messages = list(arguments), code, messages


def find_executable(executable=None):
    """The path of the executable: `executable`, else $SPILLWAY, else `spillway` of the PATH, else the one that was
    installed under the same prefix as this package. FileNotFoundError if there is none."""
    given = os.fspath(executable) if executable else os.environ.get("SPILLWAY")
    name = given or "spillway"
    path = shutil.which(name)
    if path is None and not given:
        beside = [parent / "bin" / "spillway" for parent in list(Path(__file__).resolve().parents)[2:6]]
        path = next((str(each) for each in beside if os.access(each, os.X_OK)), None)
    if path is None:
        raise FileNotFoundError(f"no executable '{name}': set $SPILLWAY or pass executable=")
    return path


def options(**given):
    """Arguments for the options that are not None. A mapping becomes KEY=VALUE, a list repeats the option, True
    is a flag."""
    words = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif hasattr(value, "items"):
            words += [word for key, item in value.items() for word in (option, f"{key}={text_of(item)}")]
        elif isinstance(value, (list, tuple)):
            words += [word for item in value for word in (option, text_of(item))]
        else:
            words += [option, text_of(value)]
    return words


def text_of(value):
    """A value as the command line takes it: true, not True."""
    return str(value).lower() if isinstance(value, bool) else os.fspath(value) if hasattr(value, "__fspath__") else str(value)


def call(arguments, executable=None, accept=(0,)):
    """(standard output, standard error, exit code). SpillwayError unless the exit code is one of `accept`."""
    done = subprocess.run([find_executable(executable), *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode not in accept:
        raise SpillwayError(arguments, done.returncode, done.stderr)
    return done.stdout, done.stderr, done.returncode
