#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares simulated times with public device times and writes reports/validation.md and .svg.

    python3 reports/validation.py --data DIR [--spillway BINARY]

DIR holds rows.csv (case, chip, measured_us, timer, note, source, …) and one dump directory a case (scheduled HLO,
buffer assignment, llo/ bundles). Every row is replayed warm (`run.warm=true`: public device times are loops) twice: from
the bundles, and from the HLO alone. Uses the standard library only.
"""
import argparse
import csv
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NOTES = HERE / "validation_notes.json"


def hlo_only(case_dir: pathlib.Path, scratch: pathlib.Path) -> pathlib.Path:
    """A copy of the case without its bundles: what a user with the HLO dump alone has."""
    target = scratch / case_dir.name
    target.mkdir()
    for path in case_dir.iterdir():
        if path.is_file() and "meta" not in path.name:
            shutil.copy(path, target / path.name)
    return target


def simulate(binary: str, source: pathlib.Path, chip: str, options: list) -> dict:
    command = [binary, "run", str(source), "--chip", chip, "--set", "run.warm=true", "--json", *options]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        return {"error": result.stderr.strip().splitlines()[0] if result.stderr.strip() else f"exit {result.returncode}"}
    return json.loads(result.stdout)


def bound_of(summary: dict) -> str:
    """The bound of the op that takes most of the time."""
    ops = summary.get("ops", [])
    return max(ops, key=lambda op: op.get("busy_ps", op["end_ps"] - op["start_ps"]))["bound"] if ops else ""


def evaluate(args) -> list:
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for row in csv.DictReader(open(args.data / "rows.csv")):
            if args.only and args.only not in row["case"]:
                continue
            case_dir = args.data / row["case"]
            measured = float(row["measured_us"])
            entry = dict(row, measured=measured)
            for key, source in (("bundles", case_dir), ("hlo", hlo_only(case_dir, pathlib.Path(scratch)))):
                summary = simulate(args.spillway, source, row["chip"], args.option)
                if "error" in summary:
                    entry[key] = None
                    entry[key + "_why"] = summary["error"]
                    continue
                entry[key] = summary["makespan_ps"] / 1e6
                entry[key + "_error"] = entry[key] / measured - 1
                entry[key + "_bound"] = bound_of(summary)
                entry[key + "_unmodelled"] = summary["unmodelled"]["share_of_time"]
            rows.append(entry)
            print(f"{row['case']:34} {measured:10.1f} "
                  + " ".join(f"{entry[k]:10.1f} {entry[k + '_error']:+7.1%}" if entry.get(k) else f"{'-':>18}"
                             for k in ("bundles", "hlo")), file=sys.stderr)
    return rows


def statistics_line(rows: list, key: str) -> str:
    errors = [abs(r[key + "_error"]) for r in rows if r["timer"] == "device" and r.get(key) is not None]
    if not errors:
        return "no rows"
    return (f"{len(errors)} rows, mean absolute error {statistics.mean(errors):.1%}, "
            f"median {statistics.median(errors):.1%}, worst {max(errors):.1%}")


def scatter(rows: list, path: pathlib.Path) -> None:
    """Simulated against measured on log axes, with a 10 % band."""
    size, margin = 520, 60
    points = [(r["measured"], r[k], k, r) for r in rows if r["timer"] == "device" for k in ("hlo", "bundles")
              if r.get(k) is not None]
    low = math.floor(math.log10(min(min(p[0], p[1]) for p in points)))
    high = math.ceil(math.log10(max(max(p[0], p[1]) for p in points)))

    def at(value):
        return (math.log10(value) - low) / (high - low) * (size - 2 * margin)

    def x(value):
        return margin + at(value)

    def y(value):
        return size - margin - at(value)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" font-family="sans-serif" font-size="12">',
           f'<rect width="{size}" height="{size}" fill="white"/>']
    lo, hi = 10.0 ** low, 10.0 ** high
    out.append(f'<path d="M{x(lo):.1f} {y(lo * 1.1):.1f} L{x(hi / 1.1):.1f} {y(hi):.1f} L{x(hi):.1f} {y(hi):.1f} '
               f'L{x(hi):.1f} {y(hi / 1.1):.1f} L{x(lo * 1.1):.1f} {y(lo):.1f} L{x(lo):.1f} {y(lo):.1f} Z" fill="#eef"/>')
    out.append(f'<line x1="{x(lo)}" y1="{y(lo)}" x2="{x(hi)}" y2="{y(hi)}" stroke="#99c"/>')
    for power in range(low, high + 1):
        tick = 10.0 ** power
        out.append(f'<line x1="{x(tick):.1f}" y1="{margin}" x2="{x(tick):.1f}" y2="{size - margin}" stroke="#ddd"/>')
        out.append(f'<line x1="{margin}" y1="{y(tick):.1f}" x2="{size - margin}" y2="{y(tick):.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{x(tick):.1f}" y="{size - margin + 18}" text-anchor="middle">{tick:g}</text>')
        out.append(f'<text x="{margin - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    colours = {"bundles": "#1b6", "hlo": "#d62"}
    for measured, simulated, key, row in points:
        out.append(f'<circle cx="{x(measured):.1f}" cy="{y(simulated):.1f}" r="4" fill="{colours[key]}" fill-opacity="0.7">'
                   f'<title>{row["case"]}: {simulated:.1f} us ({key}), measured {measured:.1f} us</title></circle>')
    out.append(f'<text x="{size / 2}" y="{size - 15}" text-anchor="middle">measured, us</text>')
    out.append(f'<text x="16" y="{size / 2}" text-anchor="middle" transform="rotate(-90 16 {size / 2})">simulated, us</text>')
    for i, (key, label) in enumerate((("bundles", "from bundles"), ("hlo", "from the HLO alone"))):
        out.append(f'<circle cx="{margin + 12}" cy="{margin + 12 + 18 * i}" r="4" fill="{colours[key]}"/>'
                   f'<text x="{margin + 22}" y="{margin + 16 + 18 * i}">{label}</text>')
    out.append("</svg>")
    path.write_text("\n".join(out) + "\n")


def report(rows: list, args) -> str:
    notes = json.loads(NOTES.read_text()) if NOTES.exists() else {}
    lines = ["# Simulated against public device times", "",
             "Made by `python3 reports/validation.py --data DIR`. Times in microseconds, warm runs; measured values are",
             "the public ones of `rows.csv`. Mean errors are over rows of device time; wall times hold host dispatch, and",
             "`other-plan` rows were measured on a compiler whose plan this dump does not have.", "",
             f"- from bundles: {statistics_line(rows, 'bundles')}",
             f"- from the HLO alone: {statistics_line(rows, 'hlo')}", "", "![scatter](validation.svg)", "",
             "| case | timer | measured | bundles | error | bound | HLO alone | error |",
             "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: |"]
    for r in rows:
        cells = [r["case"], r["timer"], f"{r['measured']:.1f}"]
        for key in ("bundles", "hlo"):
            if r.get(key) is None:
                cells += ["-", r[key + "_why"]] + (["-"] if key == "bundles" else [])
            else:
                cells += [f"{r[key]:.1f}", f"{r[key + '_error']:+.1%}"] + ([r[key + "_bound"]] if key == "bundles" else [])
        lines.append("| " + " | ".join(cells) + " |")
    far = [r for r in rows if r["timer"] == "device" and any(
        r.get(k) is not None and abs(r[k + "_error"]) > 0.10 for k in ("bundles", "hlo"))]
    if far:
        lines += ["", "## Rows of device time that are off by more than 10%", ""]
        lines += [f"- `{r['case']}`: {notes.get(r['case'], 'not explained yet')}" for r in far]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=HERE.parent.parent / "shared" / "validation")
    parser.add_argument("--spillway", default=str(HERE.parent / "build" / "release" / "sim" / "spillway"))
    parser.add_argument("--only", help="cases whose name holds this text; prints, writes no report")
    parser.add_argument("--option", action="append", default=[], help="extra argument for spillway run (repeatable)")
    args = parser.parse_args()
    if not (args.data / "rows.csv").exists():
        print(f"no rows.csv in {args.data}: nothing to compare with", file=sys.stderr)
        return 3
    rows = evaluate(args)
    print("bundles: ", statistics_line(rows, "bundles"))
    print("hlo only:", statistics_line(rows, "hlo"))
    if not args.only:
        (HERE / "validation.md").write_text(report(rows, args))
        scatter(rows, HERE / "validation.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
