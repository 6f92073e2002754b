#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes under sim/ follow the arrows of docs/architecture.md. Exit code 1 if not."""
import pathlib
import re
import sys

ALLOWED = {
    "base": set(),
    "hlo": {"base"},
    "llo": {"base"},
    "config": {"base"},
    "timeline": {"base"},
    "model": {"base", "config"},
    "compute": {"base", "config", "hlo"},
    "plan": {"base", "config", "hlo", "llo", "compute"},
    "engine": {"base", "config", "plan", "model", "timeline"},
    "explain": {"base", "hlo", "config", "plan", "engine", "timeline"},
    "output": {"base", "timeline"},
    "sweep": {"base", "config", "output"},
    "cli": None,  # may include all
}
LIBRARIES = {"systemc": "engine", "boost/program_options": "cli", "yaml-cpp": "config"}


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    problems = []
    for path in sorted((root / "sim").rglob("*.[ch]*")):
        folder = path.relative_to(root / "sim").parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            if not match:
                continue
            included, where = match.group(1), f"{path.relative_to(root)}:{number}"
            for library, home in LIBRARIES.items():
                if included.startswith(library) and folder != home:
                    problems.append(f"{where}: only sim/{home} may include <{library}>")
            inner = re.match(r"sim/(\w+)/", included)
            allowed = ALLOWED.get(folder, set())
            if inner and allowed is not None and inner.group(1) not in allowed | {folder}:
                problems.append(f"{where}: sim/{folder} may not include sim/{inner.group(1)}")
    print("\n".join(problems) if problems else "layers: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
