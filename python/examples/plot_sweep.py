# SPDX-License-Identifier: Apache-2.0
"""The VMEM cliff: where the scores of attention stop fitting. Each `# %%` is a notebook cell.

    PYTHONPATH=python SPILLWAY=build/release/sim/spillway python python/examples/plot_sweep.py [PICTURE.png]
"""
# %%
import sys

import spillway

# %% One point for each sequence length and chip.
frame = spillway.sweep("attention_f32_causal", {"S": "512:32768:x2", "chip": ["v5e", "v6e"]})
frame["makespan_us"] = frame.makespan_ps / 1e6
frame["hbm_mib"] = (frame.hbm_read_bytes + frame.hbm_write_bytes) / 2**20
print(frame[["S", "chip", "makespan_us", "hbm_mib", "measured_us"]].to_string(index=False))

# %% Each doubling of S makes four times the scores. Where time grows by more, they have left VMEM.
for chip, rows in frame.groupby("chip"):
    growth = rows.set_index("S").makespan_us.pct_change() + 1
    print(f"{chip}: steepest step up to S={growth.idxmax()}, {growth.max():.1f} times the time")

# %% The curve.
try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit("the picture needs matplotlib")
figure, (time, traffic) = plt.subplots(1, 2, figsize=(11, 4.5), constrained_layout=True)
for chip, rows in frame.groupby("chip"):
    time.plot(rows.S, rows.makespan_us, "o-", label=chip)
    traffic.plot(rows.S, rows.hbm_mib, "o--" if chip == "v6e" else "o-", label=chip)
time.set(xlabel="S", ylabel="makespan, us", title="time")
traffic.set(xlabel="S", ylabel="MiB through HBM", title="traffic")
for axes in (time, traffic):
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sorted(frame.S.unique()), labels=sorted(frame.S.unique()))
    axes.grid(alpha=0.3)
    axes.legend()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "sweep.png", dpi=110)
