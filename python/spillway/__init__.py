# SPDX-License-Identifier: Apache-2.0
"""Runs the `spillway` executable and reads what it writes. Tables come as pandas frames if pandas is there.

    import spillway
    run = spillway.run("attention", chip="v6e", sets={"hbm.channels": 32})
    run.summary["makespan_ps"], run.ops, run.slices, run.counters
    frame = spillway.sweep("attention", {"S": "512:32768:x2", "chip": ["v5e", "v6e"]})

The executable is the argument `executable`, else $SPILLWAY, else `spillway` in the PATH.
"""
from ._command import SpillwayError, find_executable
from ._results import Run, compare, explain, read_run, read_sweep, run, sweep

__version__ = "0.1.0"
__all__ = ["Run", "SpillwayError", "compare", "explain", "find_executable", "read_run", "read_sweep", "run", "sweep"]
