#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws XOR hashes for the HBM address map at random and ranks them by public device times.

    python3 reports/memory_hash.py v5e --data DIR --seeds 1:40 [--spillway BINARY]

The real interleave of a TPU is unknown. What public block sweeps do show is that a window of a few short pieces is slow, and one
of many or long pieces is not: pieces fall on channels as by chance. So the map is a coarse block a channel and a random
linear hash; this script shows how much the draw matters. DIR holds rows.csv and the dumps (see validation.py). Prints one line
a seed: mean absolute error and the error of each row. The shipped chip files use seed 19.
"""
import argparse
import csv
import json
import pathlib
import random
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
MAPS = {
    "v5e": [("offset", 5), ("bank_group", 2), ("column", 5), ("bank", 1), ("channel", 5), ("bank", 1), ("row", 15)],
    "v6e": [("offset", 5), ("bank_group", 2), ("column", 5), ("bank", 1), ("channel", 6), ("bank", 1), ("stack", 1),
            ("row", 14)],
}
ROWS = {
    "v5e": ["scale_16384_16384", "pscale_128_128", "pscale_128_256", "pscale_128_512", "pscale_128_2048",
            "pscale_1024_256", "pscale_2048_128", "pscale_512_512", "pscale_256_1024", "pmm_8192_256_256_256",
            "pmm_8192_256_1024_512"],
    "v6e": ["copy_16777216", "rmsg_8_4096_8192", "mm_8192_8192_8192", "mm_8192_8192_8192-65536", "mm_8192_8192_28672"],
}


def draw(chip: str, seed: int) -> list:
    """Values of hbm.address_map and hbm.address_hash: each bit of channel, bank group and bank takes the parity of a random
    half of the address bits above its field (bank groups: above the channel, so that a block keeps its rows)."""
    generator = random.Random(seed)
    places, position = {}, 0
    for field, bits in MAPS[chip]:
        for _ in range(bits):
            places.setdefault(field, []).append(position)
            position += 1
    terms = []
    for field in ("channel", "bank_group", "bank"):
        above = max(places["channel"][-1], places[field][-1])
        for bit in range(len(places[field])):
            mask = sum(1 << b for b in range(above + 1, position) if generator.random() < 0.5)
            terms.append("{field: %s, bit: %d, mask: %#x}" % (field, bit, mask))
    slices = ", ".join("{field: %s, bits: %d}" % item for item in MAPS[chip])
    return [f"hbm.address_map=[{slices}]", f"hbm.address_hash=[{', '.join(terms)}]"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chip", choices=sorted(MAPS))
    parser.add_argument("--data", type=pathlib.Path, default=HERE.parent.parent / "shared" / "validation")
    parser.add_argument("--spillway", default=str(HERE.parent / "build" / "release" / "sim" / "spillway"))
    parser.add_argument("--seeds", default="1:20", help="FROM:TO, both included")
    args = parser.parse_args()
    measured = {row["case"]: float(row["measured_us"]) for row in csv.DictReader(open(args.data / "rows.csv"))}
    first, last = (int(part) for part in args.seeds.split(":"))
    for seed in range(first, last + 1):
        errors = {}
        for row in ROWS[args.chip]:
            case = f"{args.chip}-{row}"
            command = [args.spillway, "run", str(args.data / case), "--chip", args.chip, "--json", "-q", "--set",
                       "run.warm=true"]
            for value in draw(args.chip, seed):
                command += ["--set", value]
            result = subprocess.run(command, capture_output=True, text=True, check=True)
            errors[row] = json.loads(result.stdout)["makespan_ps"] / 1e6 / measured[case] - 1
        mean = sum(map(abs, errors.values())) / len(errors)
        print(f"seed {seed:3}  {mean:6.1%}  " + "  ".join(f"{row} {error:+.1%}" for row, error in errors.items()), flush=True)


if __name__ == "__main__":
    main()
