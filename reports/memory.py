#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes memory.md and its pictures beside this file: efficiency of the HBM model against public measurements.

usage: reports/memory.py BUILD_DIR
"""
import collections
import csv
import io
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
COLORS = ["#1b6ca8", "#c8452b", "#2f8f4e", "#8e5bb5", "#b58a1b", "#555555"]
# Share of the pins' peak measured on devices: low, high, what. Sources: docs/memory-model.md.
MEASURED = {
    ("v6e", "1R:0W"): (0.932, 0.949, "1527 to 1555 GB/s, read-only stream"),
    ("v6e", "2R:1W"): (0.86, 0.88, "1415 to 1445 GB/s, RMSNorm"),
    ("v6e", "1R:1W"): (0.83, 0.87, "1360 to 1429 GB/s, copies"),
    ("v5e", "1R:0W"): (0.92, 0.95, "750 to 776 GB/s"),
    ("v5e", "2R:1W"): (0.837, 0.837, "686 GB/s"),
    ("v5e", "1R:1W"): (0.803, 0.803, "658 GB/s"),
}


def svg(path, title, x_label, series):
    """Lines of `series` (name -> [(x label, share)]) over equally spaced x labels."""
    width, height, left, top, plot_w, plot_h = 760, 380, 60, 40, 420, 270
    labels = list(dict.fromkeys(x for points in series.values() for x, _ in points))
    step = plot_w / max(1, len(labels) - 1)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="22" font-size="15">{title}</text>']
    for tenth in range(0, 11, 2):
        y = top + plot_h * (1 - tenth / 10)
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + plot_w}" y2="{y:.1f}" stroke="#ddd"/>'
                   f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>')
    for i, label in enumerate(labels):
        out.append(f'<text x="{left + i * step:.1f}" y="{top + plot_h + 18}" text-anchor="middle">{label}</text>')
    out.append(f'<text x="{left + plot_w / 2}" y="{top + plot_h + 40}" text-anchor="middle">{x_label}</text>')
    for k, (name, points) in enumerate(series.items()):
        color = COLORS[k % len(COLORS)]
        path_points = " ".join(f"{left + labels.index(x) * step:.1f},{top + plot_h * (1 - share):.1f}" for x, share in points)
        out.append(f'<polyline points="{path_points}" fill="none" stroke="{color}" stroke-width="2"/>')
        out.append(f'<text x="{left + plot_w + 14}" y="{top + 14 + 18 * k}" fill="{color}">{name}</text>')
    out.append("</svg>\n")
    path.write_text("\n".join(out))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tool = pathlib.Path(sys.argv[1]) / "tests" / "memory_curves_bench"
    text = subprocess.run([str(tool)], check=True, capture_output=True, text=True).stdout
    curves = collections.defaultdict(lambda: collections.defaultdict(list))
    for chip, curve, series, x, share, rate in csv.reader(io.StringIO(text)):
        curves[chip, curve][series].append((x, float(share), float(rate)))
    page = ["# HBM efficiency", "",
            "Made by `reports/memory.py BUILD_DIR` from the run level of the model with the default configurations. Shares are of the",
            "pins' peak (v5e 819.2, v6e 1638.4 GB/s). DMA latency is not in these figures: accesses reach the controllers at once.", "",
            "## Mixes of streams", "", "Each stream moves 256 MiB in accesses of 2 MiB, two in flight.", ""]
    for chip in ("v5e", "v6e"):
        page += [f"### {chip}", "", "| streams | model, share | model, GB/s | measured, share | measured |", "|---|---|---|---|---|"]
        for x, share, rate in curves[chip, "mix"]["model"]:
            low, high, what = MEASURED.get((chip, x), (None, None, ""))
            band = "" if low is None else f"{low:.3f}" if low == high else f"{low:.3f} to {high:.3f}"
            page.append(f"| {x} | {share:.3f} | {rate:.0f} | {band} | {what} |")
        page.append("")
    pictures = [("size", "Size of an access, contiguous", "KiB of an access"),
                ("stride128", "Pieces 128 KiB apart, reads", "bytes of a piece"),
                ("stride256", "Pieces 256 KiB apart, reads", "bytes of a piece")]
    for curve, title, x_label in pictures:
        page += [f"## {title}", ""]
        if curve != "size":
            page += ["Accesses of 256 KiB, four in flight, neighbouring windows side by side. Pieces as large as the stride are contiguous.", ""]
        for chip in ("v5e", "v6e"):
            series = curves[chip, curve]
            name = f"memory-{chip}-{curve}.svg"
            svg(HERE / name, f"{chip}: {title.lower()}", x_label, {k: [(x, s) for x, s, _ in v] for k, v in series.items()})
            xs = [x for x, _, _ in next(iter(series.values()))]
            page += [f"![{chip}: {title.lower()}]({name})", "", f"| {chip}, {x_label} | " + " | ".join(xs) + " |",
                     "|---|" + "---|" * len(xs)]
            for k, v in series.items():
                page.append(f"| {k} | " + " | ".join(f"{s:.2f}" for _, s, _ in v) + " |")
            page.append("")
    page += ["## Choice of the address map", "", "| chip | map | traffic | share |", "|---|---|---|---|"]
    for chip in ("v5e", "v6e"):
        for name, points in curves[chip, "map"].items():
            page += [f"| {chip} | {name} | {x} | {share:.3f} |" for x, share, _ in points]
    page += ["", "Contiguous traffic hardly cares. For windows made of pieces the map is worth up to a factor of ten: without a hash,",
             "pieces at a power-of-two distance stay in a few channels or bank groups.", ""]
    (HERE / "memory.md").write_text("\n".join(page))


if __name__ == "__main__":
    main()
