#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the bundled workloads: hlo/*.hlo.gz, dumps/* and MANIFEST.json from families.yaml and the workload files.

    build.py --python new=/path/to/venv-new/bin/python --python old=/path/to/venv-old/bin/python [--only GLOB]

Needs PyYAML here, and an interpreter with the jax and libtpu of families.yaml for each compiler (docs/workloads.md).
Same compilers, same HLO bytes: gzip carries no time, machine paths and source locations are removed.
"""
import argparse
import fnmatch
import hashlib
import itertools
import json
import os
import re
import shutil
import sys
from pathlib import Path

import yaml

import capture

ROOT = Path(__file__).resolve().parent
MANIFEST = ROOT / "MANIFEST.json"


def fill(pattern, values):
    """'x.{chip}.S{S}' with {'chip': 'v6e', 'S': 512} -> 'x.v6e.S512'."""
    return re.sub(r"\{(\w+)\}", lambda match: str(values[match.group(1)]), pattern)


def cases(workload):
    """Every (path, case) that a workload file names, in order."""
    dumps = {(d["variant"], d["chip"], tuple(d["symbols"].items())): d["path"] for d in workload.get("dumps", [])}
    for variant, about in workload["variants"].items():
        names = list(workload["symbols"])
        ranges = [about.get("symbols", {}).get(name, workload["symbols"][name]["values"]) for name in names]
        for chip, values in itertools.product(workload["chips"], itertools.product(*ranges)):
            symbols = dict(zip(names, values))
            case = {"workload": workload["name"], "variant": variant, "chip": chip, "symbols": symbols,
                    "function": workload["capture"]["function"],
                    "args": [fill(arg, symbols) for arg in workload["capture"]["args"]],
                    "statics": workload["capture"].get("statics", {}),
                    "compiler_options": workload["capture"].get("compiler_options", {}),
                    "dump": dumps.get((variant, chip, tuple(symbols.items())))}
            yield fill(about["hlo"], {"chip": chip, **symbols}), case


def first_lines(message, count=2, width=300):
    """The gist of a compiler's message, on one line."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return " ".join(lines[:count])[:width]


def build_case(path, case, python, versions):
    """Compiles one case, writes its files, returns its manifest entry."""
    file, function = case["function"].split(":")
    spec = {"path": str(ROOT / file), "function": function, "chip": case["chip"], "args": case["args"],
            "statics": case["statics"], "compiler_options": case["compiler_options"], "bundles": bool(case["dump"]),
            "source": False}
    entry = {key: value for key, value in case.items() if value not in (None, {})}
    try:
        files, meta = capture.capture(spec, python=python)
    except capture.CaptureError as error:
        if "the compiler failed" not in error.message:  # anything else is a fault of this script or its set-up
            raise
        return {**entry, **versions, "status": "unavailable", "reason": first_lines(error.message)}
    found = {key: meta[key] for key in versions}
    if found != versions:
        raise capture.CaptureError(f"{path}: compiled with {found}, families.yaml wants {versions}")
    text = files["module.after_optimizations.txt"]
    target = ROOT / path
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(capture.gzip_bytes(text))
    if case["dump"]:
        shutil.rmtree(ROOT / case["dump"], ignore_errors=True)
        capture.write_directory(ROOT / case["dump"], files, meta)
    return {**entry, **versions, "jaxlib": meta["jaxlib"], "status": "ok", "bytes": len(text),
            "sha256": hashlib.sha256(text).hexdigest()}


def check_sizes(limits):
    """Errors where the files outgrow the limits of families.yaml."""
    sizes = {folder: {p: p.stat().st_size for p in (ROOT / folder).rglob("*") if p.is_file()}
             for folder in ("hlo", "dumps")}
    errors = [f"{p.relative_to(ROOT)}: {size} bytes, limit {limits['file']}"
              for p, size in sizes["hlo"].items() if size > limits["file"]]
    for folder, files in sizes.items():
        total = sum(files.values())
        print(f"{folder}: {len(files)} files, {total} bytes of {limits[folder]}")
        if total > limits[folder]:
            errors.append(f"{folder}: {total} bytes, limit {limits[folder]}")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", default=[], metavar="COMPILER=EXE", help="interpreter of a compiler")
    parser.add_argument("--only", default="*", metavar="GLOB", help="only the HLO paths that match, e.g. '*flash*'")
    parser.add_argument("--missing", action="store_true", help="only what the manifest does not have yet")
    options = parser.parse_args()
    for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS"):  # flags of the shell must not get into the workloads
        os.environ.pop(name, None)
    pythons = dict(capture.parse_pair("--python", text) for text in options.python)
    families = yaml.safe_load((ROOT / "families.yaml").read_text())
    entries = json.loads(MANIFEST.read_text())["files"] if MANIFEST.is_file() else {}
    wanted = {}
    for name in families["workloads"]:
        wanted.update(cases(yaml.safe_load((ROOT / f"{name}.yaml").read_text())))
    for path, case in wanted.items():
        if not fnmatch.fnmatch(path, options.only) or (options.missing and path in entries):
            continue
        if case["variant"] not in pythons:
            print(f"{path}: skipped, no --python {case['variant']}=EXE")
            continue
        entries[path] = build_case(path, case, pythons[case["variant"]], families["compilers"][case["variant"]])
        print(path, entries[path]["status"], entries[path].get("reason", ""), flush=True)
        entries = {key: entries[key] for key in sorted(entries) if key in wanted}
        MANIFEST.write_text(json.dumps({"schema": "spillway.manifest/1", "files": entries}, indent=1) + "\n")
    errors = check_sizes(families["limits"])
    for error in errors:
        print("error:", error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except capture.CaptureError as failure:
        print(failure.render(), file=sys.stderr)
        sys.exit(failure.code)
