# SPDX-License-Identifier: Apache-2.0
"""Runs and sweeps as Python objects."""
import csv
import json
import shutil
import tempfile
import warnings
import weakref
from functools import cached_property
from pathlib import Path

from . import _command


def _frame(path):
    """The CSV file as a frame. Texts stay texts: a buffer may be called 'NA'."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("frames need pandas (pip install pandas); rows() works without") from error
    text_columns = {name: str for name in ("track", "kind", "op", "buffer", "stall", "counter", "name", "opcode", "class",
                                           "op_name", "compute_source", "bound", "status", "timer", "chip", "plan",
                                           "variant", "workload", "tag", "module", "llo")}
    with open(path, newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))
    frame = pandas.read_csv(path, keep_default_na=False, na_values={name: [""] for name in header if name not in text_columns},
                            dtype={name: kind for name, kind in text_columns.items() if name in header})
    # Figures that a failed point lacks must not turn exact integers into floats.
    for name in frame.columns:
        if name.endswith(("_ps", "_bytes", "_count", "cycles", "address", "flow")) and frame[name].dtype.kind == "f":
            frame[name] = pandas.read_csv(path, usecols=[name], dtype={name: "Int64"})[name]
    return frame


class Run:
    """A run directory: `summary` is the object of `run --json` (with notes and buffers), the tables are frames."""

    def __init__(self, directory, temporary=None):
        self.directory = Path(directory)
        if temporary is not None:  # it lives as long as this object
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)

    def __repr__(self):
        s = self.summary
        return f"<Run {s['module']} on {s['chip']}, {s['plan']}: {s['makespan_ps'] / 1e6:.4g} us>"

    @cached_property
    def summary(self):
        return json.loads((self.directory / "summary.json").read_text(encoding="utf-8"))

    @property
    def makespan_us(self):
        return self.summary["makespan_ps"] / 1e6

    @cached_property
    def ops(self):
        return _frame(self.directory / "ops.csv")

    @cached_property
    def slices(self):
        return _frame(self.directory / "slices.csv")

    @cached_property
    def counters(self):
        return _frame(self.directory / "counters.csv")

    def rows(self, table):
        """A table ("ops", "slices", "counters", "tracks") as dictionaries of texts; needs no pandas."""
        with open(self.directory / f"{table}.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def run(workload, chip=None, sets=None, *, plan=None, bind=None, variant=None, llo=None, config=None, module=None,
        formats=None, out=None, executable=None):
    """Replays `workload` (all that `spillway run` takes) and returns the Run.

    sets: {"hbm.channels": 16}; bind: {"S": 8192}; formats: timeline formats besides the tables, such as
    ["perfetto"]; out: the run directory (default: a temporary one that goes away with the Run).
    SpillwayError if the run fails or a limit cuts it short.
    """
    temporary = None
    if out is None:
        temporary = tempfile.mkdtemp(prefix="spillway-")
        out = Path(temporary) / "run"
    words = ["run", _command.text_of(workload), *_command.options(
        chip=chip, set=sets, plan=plan, bind=bind, variant=variant, llo=llo, config=config, module=module,
        format=",".join(formats) if formats else None, output=out, quiet=True)]
    try:
        _command.call(words, executable)
    except BaseException:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    return Run(out, temporary)


def read_run(directory):
    """The Run of an existing run directory."""
    if not (Path(directory) / "summary.json").is_file():
        raise FileNotFoundError(f"'{directory}' is no run directory: it has no summary.json")
    return Run(directory)


def sweep(workload, axes=None, *, chip=None, sets=None, plan=None, bind=None, variant=None, llo=None, config=None,
          jobs=None, resume=False, out=None, executable=None):
    """Runs all combinations of `axes` and returns a frame with one row a point (see docs/sweeps.md).

    workload: anything that `run` takes, or a sweep file; axes: {"S": "512:32768:x2", "chip": ["v5e", "v6e"]}.
    Points without a result have the reason in `status` and are warned about. out: the sweep directory
    (default: a temporary one).
    """
    axis = {key: values if isinstance(values, str) else ",".join(_command.text_of(v) for v in values)
            for key, values in (axes or {}).items()}
    with tempfile.TemporaryDirectory(prefix="spillway-") as scratch:
        directory = Path(out) if out is not None else Path(scratch) / "sweep"
        # The shard of an array job is for the command line; here the caller wants the whole.
        words = ["sweep", _command.text_of(workload), *_command.options(
            axis=axis, chip=chip, set=sets, plan=plan, bind=bind, variant=variant, llo=llo, config=config, jobs=jobs,
            resume=resume, shard="1/1", output=directory, quiet=True)]
        _, messages, code = _command.call(words, executable, accept=(0, 1))
        if code == 1:
            if not (directory / "sweep.csv").is_file():
                raise _command.SpillwayError(words, code, messages)
            warnings.warn(messages.strip(), stacklevel=2)
        return read_sweep(directory)


def read_sweep(directory):
    """The frame of an existing sweep directory (or the path of its sweep.csv)."""
    path = Path(directory)
    return _frame(path / "sweep.csv" if path.is_dir() else path)


def compare(a, b, chip=None, *, sets=None, executable=None):
    """The object of `spillway compare A B --json`: two inputs, or two plans of one ("x.hlo:unfused")."""
    words = ["compare", _command.text_of(a), _command.text_of(b), "--json", *_command.options(chip=chip, set=sets)]
    return json.loads(_command.call(words, executable, accept=(0, 1))[0])


def explain(workload, chip=None, *, sets=None, executable=None):
    """The object of `spillway explain --json`: fusion boundaries, verdicts, spill costs."""
    words = ["explain", _command.text_of(workload), "--json", *_command.options(chip=chip, set=sets)]
    return json.loads(_command.call(words, executable)[0])
