#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the slot tables of the compute model (core.op_slots, core.packing) to compiled bundles and cross-validates them.

    python3 reports/compute_fit.py [--truth ../shared/corpus] [--features build/release/sim/spillway_compute_features]
                                   [--captures DIRECTORY] [--write]

Reads truth.csv (bundles executed and slots used by each kernel, from the compiler's final bundles; no measured time) and
the HLO modules beside it; `spillway_compute_features` counts what each kernel computes. --captures adds the kernels that
reports/compute_captures.py compiled, to train on, never to be judged by: they leave together with the family whose name they bear.
Prints the cross-validation (one family of modules left out at a time) and writes reports/compute.md; with --write also the
tables of configs/chips/*.yaml. Needs numpy. docs/compute-model.md describes the model; PRIOR below is its starting point.
"""
import argparse
import collections
import concurrent.futures
import csv
import itertools
import json
import math
import pathlib
import re
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHIPS = ("v5e", "v6e")
UNITS = ("valu", "eup", "xlu", "mxu_cycles", "mxu_push", "mxu_pop", "vload", "vstore", "serial")
COLUMNS = dict(valu="VALU", eup="EUP", xlu="XLU", mxu_cycles="MATMUL", mxu_push="MATPUSH", mxu_pop="VPOP", vload="VLOAD",
               vstore="VSTORE", serial="")
MIN_BUNDLES = 1000
CLASSES = ("elementwise", "reduce", "matmul", "relayout", "other")
PEAK_BYTES_A_CYCLE = dict(v5e=8.192e11 / 1.5e9, v6e=1.6384e12 / 1.75e9)

# Slots a register of 1024 elements before any fit: what the instruction set needs (8 x 128 lanes of 32 bit; two 16-bit
# or four 8-bit values packed in each). A key stands for itself and all `key.…` that have no entry.
PRIOR = {
    "elementwise": {"valu": 1.0},
    "exponential": {"valu": 2.0, "eup": 1.0, "mxu_pop": 1.0},
    "logistic": {"valu": 4.0, "eup": 2.0, "mxu_pop": 2.0},
    "tanh": {"valu": 1.0, "eup": 1.0, "mxu_pop": 1.0},
    "log": {"valu": 2.0, "eup": 1.0, "mxu_pop": 1.0},
    "log-plus-one": {"valu": 8.0, "eup": 1.0, "mxu_pop": 1.0},
    "exponential-minus-one": {"valu": 8.0, "eup": 1.0, "mxu_pop": 1.0},
    "rsqrt": {"valu": 1.0, "eup": 1.0, "mxu_pop": 1.0},
    "sqrt": {"valu": 5.0, "eup": 1.0, "mxu_pop": 1.0},
    "cbrt": {"valu": 10.0, "eup": 2.0, "mxu_pop": 2.0},
    "divide": {"valu": 1.3}, "reciprocal": {"valu": 1.0, "eup": 1.0, "mxu_pop": 1.0},
    "remainder": {"valu": 8.0, "eup": 1.0, "mxu_pop": 1.0},
    "power": {"valu": 12.0, "eup": 2.0, "mxu_pop": 2.0},
    "erf": {"valu": 20.0, "eup": 1.0, "mxu_pop": 1.0},
    "sine": {"valu": 70.0}, "cosine": {"valu": 70.0}, "tan": {"valu": 80.0, "eup": 1.0, "mxu_pop": 1.0},
    "atan2": {"valu": 30.0, "eup": 1.0, "mxu_pop": 1.0},
    "clamp": {"valu": 2.0},
    "multiply.i32": {"valu": 4.0}, "mulhi": {"valu": 8.0},
    "divide.i32": {"valu": 30.0, "eup": 1.0, "mxu_pop": 1.0}, "remainder.i32": {"valu": 32.0, "eup": 1.0, "mxu_pop": 1.0},
    "round-nearest-even": {"valu": 1.0},
    "convert": {"valu": 1.0}, "convert.bf16.f32": {"valu": 0.8}, "convert.f32.bf16": {"valu": 0.5},
    "convert.i8.bf16": {"valu": 1.5}, "convert.f32.i8": {"valu": 2.0},
    "broadcast.major": {"valu": 0.02}, "broadcast.sublanes": {"valu": 0.5, "vload": 1.0},
    "broadcast.lanes": {"valu": 1.0, "xlu": 1.0, "mxu_pop": 1.0}, "broadcast.lanes.use": {"valu": 0.05, "vload": 0.1},
    "broadcast.splat": {"valu": 1.0, "xlu": 0.5},
    "reduce": {"valu": 1.0}, "reduce.bf16": {"valu": 1.5}, "reduce.alone.bf16": {"valu": 2.0}, "reduce.index": {"valu": 10.0},
    "reduce.lanes": {"valu": 2.0, "xlu": 2.0, "mxu_pop": 1.0}, "reduce.lanes.bf16": {"valu": 3.0, "xlu": 3.0, "mxu_pop": 1.0},
    "reduce.sublanes": {"valu": 4.0, "xlu": 3.0},
    "reduce.serial": {"serial": 1.0}, "reduce.serial.alone": {"serial": 1.1}, "reduce.serial.sublanes": {"serial": 1.3}, "reduce.serial.sublanes.bf16": {"serial": 2.0},
    "reduce-window.serial": {"valu": 3.0, "vload": 1.0, "serial": 1.0},
    "reduce-window": {"valu": 2.0, "vload": 0.5}, "reduce-window.sublanes": {"valu": 8.0, "vload": 8.0, "serial": 20.0},
    "reduce-window.lanes": {"xlu": 1.0, "mxu_pop": 0.5, "valu": 1.0},
    "mask": {"valu": 1.0}, "iota": {"valu": 0.5},
    "transpose.32": {"valu": 0.5, "xlu": 2.5, "mxu_pop": 1.0, "serial": 1.5},
    "transpose.16": {"valu": 3.0, "xlu": 2.0, "mxu_pop": 0.5, "serial": 1.3},
    "transpose.8": {"valu": 2.0, "xlu": 1.0, "mxu_pop": 0.5},
    "transpose.sublanes": {"valu": 6.0, "vload": 3.0}, "transpose.sublanes.alone": {"valu": 7.0, "vload": 7.0},
    "transpose.sublanes.32": {"valu": 0.9, "vload": 0.7}, "transpose.sublanes.alone.32": {"valu": 0.9, "vload": 1.0},
    "transpose.strided": {"valu": 2.0, "vload": 0.5, "vstore": 0.5}, "transpose.strided.alone": {"valu": 2.0, "vload": 0.5, "vstore": 0.5},
    "copy": {"valu": 0.05}, "copy.window": {"vload": 1.0, "vstore": 1.0, "serial": 1.0}, "reshape": {"valu": 2.0, "xlu": 1.0, "mxu_pop": 1.0}, "reverse": {"valu": 1.0, "xlu": 2.0, "mxu_pop": 1.0},
    "place": {"valu": 0.2}, "rotate.lanes": {"valu": 1.0, "xlu": 1.0, "mxu_pop": 1.0}, "rotate.sublanes": {"valu": 2.0},
    "dynamic-slice.major": {"valu": 0.1}, "dynamic-slice": {"valu": 1.0, "vload": 1.0, "vstore": 1.0, "serial": 2.0}, "gather": {"valu": 0.5, "vload": 1.0, "vstore": 1.0}, "gather.rows": {"serial": 10.0},
    "scatter.rows": {"serial": 30.0},
    "sort": {"valu": 12.0, "xlu": 3.0, "mxu_pop": 1.0, "vload": 1.0, "vstore": 1.0},
    "rng": {"valu": 60.0},
    "online-softmax.rows": {"valu": 8.0, "xlu": 8.0, "mxu_pop": 2.0}, "online-softmax": {"valu": 6.0, "xlu": 2.0, "eup": 0.5, "mxu_pop": 2.0, "vload": 2.0, "vstore": 1.5},
    "unknown": {"valu": 2.0},
    "load": {"vload": 1.0}, "store": {"vstore": 1.0},
    "matmul.bf16": {"mxu_cycles": 1.0, "vload": 1.0, "valu": 0.05}, "matmul.s8": {"mxu_cycles": 1.0, "vload": 1.0, "valu": 0.05},
    "matmul.f8e5m2": {"mxu_cycles": 1.0, "vload": 1.0, "valu": 0.05},
    "push": {"mxu_push": 1.0, "vload": 1.0, "valu": 0.1}, "push.transposed": {"mxu_push": 1.0, "vload": 1.0, "valu": 0.1},
    "pop.result": {"mxu_pop": 1.0, "valu": 0.5}, "pop.partial": {"mxu_pop": 0.5, "valu": 0.5, "vload": 0.3, "vstore": 0.3},
    "pop.swapped": {"valu": 0.05, "xlu": 0.05}, "stream.transposed": {"xlu": 0.3, "valu": 0.3},
    "stream.window": {"valu": 0.5, "vload": 0.5},
    "mxu.convert": {"valu": 0.5},
    "step": {}, "step.stream": {}, "kernel": {},
}
# Cycles once a kernel, a step, a stream of a step.
OVERHEAD = {"kernel": 80.0, "step": 25.0, "step.stream": 15.0}
# Slots of a steady loop that the scheduler fills: regular streams of one unit almost all, mixed arithmetic less.
PACKING = np.array([{"mxu_cycles": 0.97, "mxu_push": 0.97, "vstore": 0.93, "serial": 1.0}.get(unit, 0.87) for unit in UNITS])
# How far the fit may leave a prior: standard deviation of the logarithm.
SPREAD = 0.7
RIDGE = 0.04
# A captured kernel against one of truth.csv, whose mix of work is that of whole programs.
CAPTURE_WEIGHT = 0.3
SPREAD_BASE = 0.25   # Plain one-slot arithmetic.


# v5e computes 16-bit floats in f32: two operands are unpacked, the result is packed.
for op in ("add", "subtract", "multiply", "maximum", "minimum", "negate", "abs", "divide"):
    PRIOR["v5e:" + op + ".bf16"] = {"valu": 3.3}
for op in ("exponential", "tanh", "log", "rsqrt", "logistic"):
    PRIOR["v5e:" + op + ".bf16"] = dict(PRIOR[op], valu=PRIOR[op]["valu"] + 1.3)


def prior_of(key: str, chip: str = "") -> dict:
    while True:
        if chip + ":" + key in PRIOR:
            return PRIOR[chip + ":" + key]
        if key in PRIOR:
            return PRIOR[key]
        if "." not in key:
            return PRIOR["elementwise"]
        key = key.rsplit(".", 1)[0]


def read_truth(corpus: pathlib.Path) -> dict:
    rows = {}
    for row in csv.DictReader(open(corpus / "truth.csv")):
        if row["bundles_executed"]:
            rows.setdefault((row["chip"], row["compiler"], row["module"], row["op"]), row)
    return rows


def count_features(tool: str, corpus: pathlib.Path, chip: str) -> list:
    arguments = []
    for folder in (chip, chip + "-jax062"):
        for path in sorted((corpus / folder).glob("*.hlo*")):
            arguments += [str(path), "-"]
    return run_tool(tool, chip, arguments)


def run_tool(tool: str, chip: str, arguments: list) -> list:
    output = subprocess.run([tool, str(ROOT / f"configs/chips/{chip}.yaml"), *arguments], capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(output.stderr)
    return [json.loads(line) for line in output.stdout.splitlines()]


def add_captures(tool: str, captures: pathlib.Path, chip: str) -> tuple:
    """Kernels of reports/compute_captures.py above MIN_BUNDLES, those of Mosaic bodies apart. Same work counts once."""
    arguments = []
    for path in sorted(captures.glob(f"*/*.{chip}")):
        arguments += [str(path / "module.after_optimizations.txt"), str(path / "llo")]
    samples, mosaic, seen = [], [], set()
    for entry in run_tool(tool, chip, arguments):
        family = pathlib.Path(entry["file"]).parent.parent.name
        key = (family, entry.get("bundles"), json.dumps(entry["counts"], sort_keys=True))
        custom = entry["class"] == "custom" and not entry.get("mosaic")
        if entry.get("bundles", 0) <= MIN_BUNDLES or custom or key in seen:
            continue
        seen.add(key)
        (mosaic if entry.get("mosaic") else samples).append(
            dict(entry, chip=chip, compiler="new", module=pathlib.Path(entry["file"]).parent.name, family=family,
                 bundles=float(entry["bundles"]), row=entry.get("slots", {}), weight=CAPTURE_WEIGHT))
    return samples, mosaic


def join(truth: dict, features: list, chip: str) -> list:
    """One sample a kernel of the truth above MIN_BUNDLES."""
    samples, seen = [], set()
    for entry in features:
        path = pathlib.Path(entry["file"])
        compiler = "old" if path.parent.name.endswith("jax062") else "new"
        key = (chip, compiler, path.name.split(".hlo")[0], entry["op"])
        row = truth.get(key)
        if row is None or key in seen or float(row["bundles_executed"]) <= MIN_BUNDLES:
            continue
        seen.add(key)
        samples.append(dict(entry, chip=chip, compiler=compiler, module=key[2], family=row["family"],
                            bundles=float(row["bundles_executed"]), row=row))
    return samples


class Fit:
    """cycles = (sum over units of (slots used / (slots a bundle x packing))^sharpness)^(1/sharpness) + overheads."""

    def __init__(self, samples, chip, keys=None):
        self.keys = keys or sorted({k for s in samples for k in s["counts"]})
        self.unit_keys = [k for k in self.keys if k not in OVERHEAD]
        self.chip = chip
        prior = np.zeros((len(self.unit_keys), len(UNITS)))
        spread = np.full_like(prior, SPREAD)
        for i, key in enumerate(self.unit_keys):
            for unit, value in prior_of(key, chip["name"]).items():
                prior[i, UNITS.index(unit)] = value
            if prior_of(key, chip["name"]) is PRIOR["elementwise"]:
                spread[i] = SPREAD_BASE
        self.prior, self.spread = prior, spread
        # mxu counts instructions; a slot of it is busy for the cadence of the type, which is official.
        for i, key in enumerate(self.unit_keys):
            if key.startswith("matmul."):
                prior[i, UNITS.index("mxu_cycles")] = chip["matmul_cycles"].get(key.split(".")[1], 8.0)
                # The scheduler of v5e packs matmuls closer than the units run; they then stall (CostOf adds that).
                spread[i, UNITS.index("mxu_cycles")] = 0.15
            spread[i, UNITS.index("serial")] = 0.35
            if key.startswith("push"):
                prior[i, UNITS.index("mxu_push")] = chip["latch_cycles"].get("bf16", 4.0)
            if key in ("load", "store") or key.startswith(("load.", "store.")):
                spread[i] = 0.05
        self.slots = np.array([chip["slots"][u] for u in UNITS])
        self.theta = np.zeros(prior.size + len(UNITS) + len(OVERHEAD) + 1)

    def matrices(self, samples):
        x = np.array([[s["counts"].get(k, 0.0) for k in self.unit_keys] for s in samples])
        o = np.array([[s["counts"].get(k, 0.0) for k in OVERHEAD] for s in samples])
        return x, o

    def unpack(self, theta):
        n = self.prior.size
        weights = self.prior * np.exp(theta[:n].reshape(self.prior.shape))
        packing = PACKING * np.exp(theta[n:n + len(UNITS)])
        overhead = np.array(list(OVERHEAD.values())) * np.exp(theta[n + len(UNITS):-1])
        return weights, packing, overhead, 6.0 * math.exp(theta[-1])

    def train(self, samples, iterations=1000, start=None):
        x, o = self.matrices(samples)
        y = np.array([s["bundles"] for s in samples])
        weight = np.array([s.get("weight", 1.0) for s in samples])
        measured = np.full((len(samples), len(UNITS)), np.nan)
        for i, s in enumerate(samples):
            for u, unit in enumerate(UNITS):
                text = s["row"].get(COLUMNS[unit], "")
                old = s["compiler"] == "old" and unit in ("mxu_cycles", "mxu_push", "mxu_pop", "xlu")
                if text not in ("", None) and not old:
                    spill = s["row"].get({"vload": "VLOAD:FILL", "vstore": "VSTORE:SPILL"}.get(unit, "")) or 0
                    measured[i, u] = max(float(text) - float(spill), 1.0)
        # Only units that matter for the pace teach; the others are noise of addressing and spills.
        share = measured / self.slots / y[:, None]
        teach = np.where(np.isnan(share) | (share < 0.12), 0.0, 0.2 * np.minimum(np.nan_to_num(share) * 2, 1.0))
        target = np.log(np.where(teach > 0, np.maximum(measured, 1), 1.0))
        teach = teach * weight[:, None]
        theta = self.theta.copy() if start is None else start.copy()
        mask = (self.prior > 0).ravel()
        m, v = np.zeros_like(theta), np.zeros_like(theta)
        n = self.prior.size
        eps = 1e-9
        delta = 0.1
        for step in range(1, iterations + 1):
            w, packing, overhead, q = self.unpack(theta)
            use = x @ w + eps
            pressure = use / (self.slots * packing)
            top = pressure.max(axis=1, keepdims=True)
            ratio = pressure / top
            powers = ratio ** q
            total = powers.sum(axis=1, keepdims=True)
            steady = top * total ** (1 / q)
            extra = (o @ overhead)[:, None]
            cycles = steady + extra
            r = np.log(cycles[:, 0] / y)
            g = weight * r / np.sqrt(1 + (r / delta) ** 2)  # pseudo-Huber, scaled
            g_cycles = (g / cycles[:, 0])[:, None]
            g_pressure = g_cycles * steady * powers / total / pressure
            log_sum = np.log(total) / q
            g_q = (g_cycles * steady * (-(log_sum / q) + (powers * np.log(ratio + eps)).sum(1, keepdims=True) / total / q)).sum()
            ru = np.where(teach > 0, np.log(use) - target, 0.0)
            g_use = g_pressure / (self.slots * packing) + teach * ru / np.sqrt(1 + (ru / 0.15) ** 2) / use
            g_w = (x.T @ g_use) * w
            grad = np.empty_like(theta)
            grad[:n] = g_w.ravel() + RIDGE * theta[:n] / self.spread.ravel() ** 2
            grad[n:n + len(UNITS)] = -(g_pressure * pressure).sum(0) + 0.05 * theta[n:n + len(UNITS)] / 0.1 ** 2
            grad[n + len(UNITS):-1] = (o * g_cycles).sum(0) * overhead + 0.01 * theta[n + len(UNITS):-1] / 0.5 ** 2
            grad[-1] = g_q * q + 0.05 * theta[-1] / 0.3 ** 2
            grad[:n][~mask] = 0
            m = 0.9 * m + 0.1 * grad
            v = 0.99 * v + 0.01 * grad * grad
            rate = 0.03 * (1 - 0.95 * step / iterations)
            theta -= rate * (m / (1 - 0.9 ** step)) / (np.sqrt(v / (1 - 0.99 ** step)) + 1e-8)
        self.theta = theta
        return self

    def predict(self, samples):
        x, o = self.matrices(samples)
        w, packing, overhead, q = self.unpack(self.theta)
        use = x @ w
        pressure = use / (self.slots * packing)
        steady = (pressure ** q).sum(1) ** (1 / q)
        return steady + o @ overhead, use


def cross_validate(kernels, chip):
    """Cycles of each kernel from a fit to the kernels of all other families."""
    keys = sorted({k for s in kernels for k in s["counts"]})
    families = sorted({s["family"] for s in kernels})
    predicted = {}
    with concurrent.futures.ProcessPoolExecutor() as pool:
        parts = pool.map(predict_family, families, *map(itertools.repeat, (kernels, chip, keys)))
        for family, cycles in zip(families, parts):
            predicted.update(zip((i for i, s in enumerate(kernels) if s["family"] == family), cycles))
    return [predicted[i] for i in range(len(kernels))]


def predict_family(family, kernels, chip, keys):
    train = [s for s in kernels if s["family"] != family]
    return Fit(train, chip, keys).train(train).predict([s for s in kernels if s["family"] == family])[0]


def quantile(values, q):
    values = sorted(values)
    if not values:
        return float("nan")
    at = q * (len(values) - 1)
    low = int(at)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (at - low)


def chip_facts(name: str) -> dict:
    """The official figures of the chip file that the fit starts from."""
    text = (ROOT / f"configs/chips/{name}.yaml").read_text()
    value = lambda key: float(re.search(rf"^\s+{key}: {{value: ([0-9.]+)", text, re.M).group(1))
    table = lambda key: {k: float(v) for k, v in re.findall(
        r"^    (\w+): {value: ([0-9.]+)", re.search(rf"^  {key}:\n((?:    .*\n)+)", text, re.M).group(1), re.M)}
    slots = dict(valu=value("valu_slots"), eup=value("eup_slots"), xlu=value("xlu_slots"),
                 mxu_cycles=value("mxus"), mxu_push=value("mxus"), mxu_pop=2.0, vload=value("load_slots"),
                 vstore=value("store_slots"), serial=1.0)
    return dict(name=name, slots=slots, matmul_cycles=table("matmul_cycles"), latch_cycles=table("latch_cycles"),
                matmul_latency=table("matmul_latency"))


BEGIN = "  # Compute model: this part is written by reports/compute_fit.py --write.\n"
END = "  # End of what compute_fit.py writes.\n"


def number(value: float) -> str:
    return f"{float(f'{value:.3g}'):g}"


def bands_of(samples, errors, mosaic_errors) -> dict:
    """90th percentile of the cross-validation errors of each class; classes of few kernels are not said to be good."""
    bands = {"custom": quantile(mosaic_errors, 0.9) if mosaic_errors else 1.0}
    for cls in CLASSES:
        inside = [e for e, s in zip(errors, samples) if s["class"] == cls]
        bands[cls] = max(quantile(inside, 0.9) if inside else 1.0, 1.0 if len(inside) < 10 else 0.0)
    return bands


def write_chip(name: str, fit: Fit, kernels, mosaic, bands):
    path = ROOT / f"configs/chips/{name}.yaml"
    weights, packing, overhead, sharpness = fit.unpack(fit.theta)
    counts = collections.Counter(k for s in kernels for k in s["counts"])
    fitted = lambda n: f'source: "reports/compute_fit.py: bundles of {n} kernels", certainty: derived'
    lines = [BEGIN, f'  pop_slots: {{value: 2, source: "compiler\'s static per-bundle utilization dumps", certainty: measured}}\n']
    lines.append("  op_slots:\n")
    table = dict(zip(fit.unit_keys, weights))
    own = {key.split(":")[1] for key in PRIOR if key.startswith(name + ":")}
    for key in sorted({key for key in PRIOR if ":" not in key} | own | set(table)):
        if key in OVERHEAD:
            continue
        row = table.get(key)
        prior = prior_of(key, name)
        if key.startswith("matmul.") and row is None:
            prior = dict(prior, mxu_cycles=fit.chip["matmul_cycles"].get(key.split(".")[1], 8.0))
        if row is None and not prior:
            continue
        units = {u: row[i] for i, u in enumerate(UNITS)} if row is not None else prior
        text = ", ".join(f"{u}: {number(units[u])}" for u in UNITS if units.get(u, 0) > 0)
        origin = fitted(counts[key]) if counts[key] else 'source: "register count of the operation; in no kernel of the fit", certainty: assumed'
        lines.append(f"    {key}: {{value: {{{text}}}, {origin}}}\n")
    n = len(kernels)
    lines.append("  packing:\n")
    lines += [f"    {u}: {{value: {number(p)}, {fitted(n)}}}\n" for u, p in zip(UNITS, packing)]
    lines.append(f"  sharpness: {{value: {number(sharpness)}, {fitted(n)}}}\n")
    lines.append("  error_band:\n")
    for cls, band in bands.items():
        count = len(mosaic) if cls == "custom" else sum(s["class"] == cls for s in kernels)
        origin = f'source: "90th percentile of the errors of {count} kernels, not fitted to them", certainty: derived'
        lines.append(f"    {cls}: {{value: {number(band)}, {origin}}}\n")
    for key, value in zip(("kernel_overhead", "step_overhead", "stream_overhead"), overhead):
        lines.append(f"  {key}: {{value: {value:.0f}, {fitted(n)}}}\n")
    lines.append(END)
    text = path.read_text()
    if BEGIN in text:
        text = text[:text.index(BEGIN)] + "".join(lines) + text[text.index(END) + len(END):]
    else:
        text = re.sub(r"  # Device time of a 128 B kernel[^\n]*\n", "", text)
        text = re.sub(r"  (kernel|step)_overhead: [^\n]*\n", "", text)
        at = text.index("memory_spaces:\n")
        text = text[:at] + "".join(lines) + text[at:]
    path.write_text(text)


def estimated_error(sample):
    """XLA's own estimate against the larger of bundles and DMA at the published peak; None if it states none."""
    estimate = sample.get("estimated_cycles") or 0
    if estimate <= 0:
        return None
    row = sample["row"]
    moved = float(row["dma_in_bytes"] or 0) + float(row["dma_out_bytes"] or 0)
    return abs(estimate / max(sample["bundles"], moved / PEAK_BYTES_A_CYCLE[sample["chip"]]) - 1)


def summary_row(label, samples, errors):
    estimates = [e for e in map(estimated_error, samples) if e is not None]
    percent = lambda values, q: f"{100 * quantile(values, q):.1f}%" if values else ""
    return (f"| {label} | {len(samples)} | {percent(errors, .5)} | {percent(errors, .9)} | {len(estimates)} | "
            f"{percent(estimates, .5)} | {percent(estimates, .9)} |")


HEADER = ("| | kernels | median | 90th percentile | with `estimated_cycles` | its median | its 90th percentile |\n"
          "|---|---:|---:|---:|---:|---:|---:|")


def report(results: dict) -> str:
    out = ["# Compute cycles from HLO alone", "", "```", "python3 reports/compute_captures.py captures --python /path/to/venv/bin/python",
           "python3 reports/compute_fit.py --captures captures --write", "```", "",
           f"Kernels of the corpus' truth.csv with more than {MIN_BUNDLES} executed bundles. Errors are |cycles / bundles - 1| by",
           "cross-validation: the tables are fitted without any module of the kernel's family. Beside it XLA's own",
           "`estimated_cycles` of the same kernels against the larger of bundles and DMA at the published HBM peak (it includes",
           "memory time, so it is not compared with bundles alone). No measured time enters. What is counted, and the starting point of",
           "the weights (PRIOR), were chosen with all kernels in view: only the fitted weights are blind to the family left out.",
           "Kernels that `compute_captures.py` compiled train the tables as well; those of a family that truth.csv has (same name) are",
           "left out together with it. They are judged apart, below; bands are the 90th percentile of both.", ""]
    for name, (samples, errors, cv, left_out, inside, captured, captured_errors, mosaic, bands) in results.items():
        out += [f"## {name}", "", HEADER, summary_row("all", samples, errors)]
        for compiler in ("new", "old"):
            pick = [i for i, s in enumerate(samples) if s["compiler"] == compiler]
            out.append(summary_row(f"{compiler} compiler", [samples[i] for i in pick], [errors[i] for i in pick]))
        for cls in CLASSES:
            pick = [i for i, s in enumerate(samples) if s["class"] == cls]
            out.append(summary_row(cls, [samples[i] for i in pick], [errors[i] for i in pick]))
        out += ["", f"Fitted to all kernels and judged on the same: median {100 * quantile(inside, .5):.1f}%, 90th percentile "
                f"{100 * quantile(inside, .9):.1f}%. Without an HLO computation, so unmodelled: "
                + (", ".join(f"`{s['module']}/{s['op']}`" for s in left_out) or "none") + ".", "",
                "Slots of all these kernels together, model (fitted to all) / bundles; spills are not modelled:", ""]
        out.append("| " + " | ".join(COLUMNS[u] for u in UNITS if COLUMNS[u]) + " |")
        out.append("|" + "---:|" * sum(bool(COLUMNS[u]) for u in UNITS))
        cells = []
        for unit in UNITS:
            if COLUMNS[unit]:
                new = [s for s in samples if s["compiler"] == "new"]
                real = sum(float(s["row"].get(COLUMNS[unit]) or 0) for s in new)
                cells.append(f"{sum(s['use'][unit] for s in new) / real:.2f}" if real else "")
        out += ["| " + " | ".join(cells) + " |", "", "Worst kernels:", "",
                "| kernel | compiler | class | bundles | model, cross-validated |", "|---|---|---|---:|---:|"]
        for i in sorted(range(len(samples)), key=lambda i: -errors[i])[:20]:
            s = samples[i]
            out.append(f"| {s['module']} `{s['op']}` | {s['compiler']} | {s['class']} | {s['bundles']:.0f} | {cv[i]:.0f} "
                       f"({100 * (cv[i] / s['bundles'] - 1):+.0f}%) |")
        if captured:
            out += ["", "Captured kernels, by the same cross-validation, and Pallas kernels (Mosaic bodies), to which nothing is fitted:", "",
                    "| | kernels | median | 90th percentile | band | inside the band |", "|---|---:|---:|---:|---:|---:|"]
            groups = [(cls, [e for e, s in zip(captured_errors, captured) if s["class"] == cls]) for cls in CLASSES]
            groups.append(("custom", [abs(s["model"] / s["bundles"] - 1) for s in mosaic]))
            for cls, group in groups:
                if group:
                    share = sum(e <= bands[cls] for e in group) / len(group)
                    label = "Pallas (`custom`)" if cls == "custom" else cls
                    out.append(f"| {label} | {len(group)} | {100 * quantile(group, .5):.1f}% | {100 * quantile(group, .9):.1f}% | "
                               f"{100 * bands[cls]:.0f}% | {100 * share:.0f}% |")
            out += ["", "Pallas kernels, model / bundles: " + ", ".join(
                f"`{s['module']}` {s['model'] / s['bundles']:.2f}" for s in sorted(mosaic, key=lambda s: s["module"])) + "."]
        out.append("")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truth", type=pathlib.Path, default=ROOT.parent / "shared/corpus")
    parser.add_argument("--features", default=str(ROOT / "build/release/sim/spillway_compute_features"))
    parser.add_argument("--chip", choices=CHIPS, help="only this chip, without a report")
    parser.add_argument("--captures", type=pathlib.Path, help="directory of reports/compute_captures.py: kernels to train on as well")
    parser.add_argument("--write", action="store_true", help="write the tables of configs/chips/*.yaml and reports/compute.md")
    parser.add_argument("--worst", type=int, default=0, help="also print so many of the worst kernels")
    args = parser.parse_args()
    truth = read_truth(args.truth)
    results = {}
    for name in [args.chip] if args.chip else CHIPS:
        chip = chip_facts(name)
        everything = join(truth, count_features(args.features, args.truth, name), name)
        samples = [s for s in everything if s["class"] != "custom"]
        captured, mosaic = add_captures(args.features, args.captures, name) if args.captures else ([], [])
        mosaic += [s for s in everything if s.get("mosaic")]
        keys = sorted({k for s in samples + captured + mosaic for k in s["counts"] if k != "step.mxu"})
        fit = Fit(samples + captured, chip, keys).train(samples + captured)
        cycles, use = fit.predict(samples)
        for sample, row in zip(samples, use):
            sample["use"] = dict(zip(UNITS, row))
        inside = [abs(c / s["bundles"] - 1) for c, s in zip(cycles, samples)]
        for sample, predicted in zip(mosaic, fit.predict(mosaic)[0] if mosaic else []):
            sample["model"] = predicted + chip["matmul_latency"]["bf16"] * sample["counts"].get("step.mxu", 0)
        mosaic_errors = [abs(s["model"] / s["bundles"] - 1) for s in mosaic]
        cv = cross_validate(samples + captured, chip)
        all_errors = [abs(c / s["bundles"] - 1) for c, s in zip(cv, samples + captured)]
        errors = all_errors[:len(samples)]
        bands = bands_of(samples + captured, all_errors, mosaic_errors)
        left_out = [s for s in everything if s["class"] == "custom" and not s.get("mosaic")]
        results[name] = (samples, errors, cv, left_out, inside, captured, all_errors[len(samples):], mosaic, bands)
        print(f"{name}: {len(samples)} kernels ({len(captured)} more to train on), cross-validation median {100 * quantile(errors, .5):.1f}%, 90th percentile "
              f"{100 * quantile(errors, .9):.1f}%; fitted to all {100 * quantile(inside, .5):.1f}%, "
              f"{100 * quantile(inside, .9):.1f}%")
        for cls in CLASSES:
            group = [e for e, s in zip(errors, samples) if s["class"] == cls]
            print(f"  {cls:12} {len(group):4} {100 * quantile(group, .5):6.1f}% {100 * quantile(group, .9):6.1f}%")
        if mosaic:
            print(f"  mosaic       {len(mosaic):4} {100 * quantile(mosaic_errors, .5):6.1f}% {100 * quantile(mosaic_errors, .9):6.1f}%")
        for i in sorted(range(len(samples)), key=lambda i: -errors[i])[:args.worst]:
            s = samples[i]
            print("  %+.2f (in %+.2f) %s %s/%s %s %d" % (cv[i] / s["bundles"] - 1, cycles[i] / s["bundles"] - 1, s["compiler"],
                                                        s["module"], s["op"], s["class"], s["bundles"]),
                  {u: "%.0f/%s" % (s["use"][u], s["row"].get(COLUMNS[u])) for u in UNITS
                   if s["use"][u] / chip["slots"][u] > 0.1 * s["bundles"]})
        if args.write:
            write_chip(name, fit, samples + captured, mosaic, bands)
    if args.write and not args.chip:
        (ROOT / "reports/compute.md").write_text(report(results))


if __name__ == "__main__":
    main()
