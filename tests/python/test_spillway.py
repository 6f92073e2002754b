# SPDX-License-Identifier: Apache-2.0
"""The Python package, with a stand-in for the executable and with the real one if $SPILLWAY names it.

    SPILLWAY=build/release/sim/spillway python3 -m unittest discover tests/python
"""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.dont_write_bytecode = True

import spillway  # noqa: E402

HAVE_PANDAS = importlib.util.find_spec("pandas") is not None
REAL = os.environ.get("SPILLWAY")

STAND_IN = """#!{python}
import json, os, sys
words = sys.argv[1:]
json.dump(words, open(os.environ["STAND_IN_LOG"], "w"))
print("some words", file=sys.stderr)
if "--output" in words:
    out = words[words.index("--output") + 1]
    os.makedirs(out, exist_ok=True)
    if words[0] == "sweep" and "nothing" not in words:
        open(out + "/sweep.csv", "w").write("S,chip,status,makespan_ps\\n512,v5e,ok,9007199254740993\\n1024,NA,bad,\\n")
    if words[0] == "run":
        json.dump({{"module": "m", "chip": "c", "plan": "p", "makespan_ps": 2500000}}, open(out + "/summary.json", "w"))
        open(out + "/ops.csv", "w").write("name,start_ps\\nNA,1\\n")
if words[0] == "compare":
    print('{{"same": true}}')
sys.exit(int(os.environ.get("STAND_IN_CODE", "0")))
"""


class StandIn(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)
        self.executable = self.directory / "spillway"
        self.executable.write_text(STAND_IN.format(python=sys.executable))
        self.executable.chmod(0o755)
        os.environ["STAND_IN_LOG"] = str(self.directory / "log")
        self.addCleanup(os.environ.pop, "STAND_IN_LOG")

    def words(self):
        return json.loads((self.directory / "log").read_text())

    def code(self, code):
        os.environ["STAND_IN_CODE"] = str(code)
        self.addCleanup(os.environ.pop, "STAND_IN_CODE", None)

    def test_run_builds_the_command_line(self):
        out = self.directory / "out"
        run = spillway.run("attention", "v6e", {"hbm.channels": 16, "run.warm": True}, bind={"S": 512}, plan="resident",
                           config=["a.yaml", "b.yaml"], formats=["perfetto", "xplane"], out=out, executable=self.executable)
        self.assertEqual(self.words(), [
            "run", "attention", "--chip", "v6e", "--set", "hbm.channels=16", "--set", "run.warm=true", "--plan", "resident",
            "--bind", "S=512", "--config", "a.yaml", "--config", "b.yaml", "--format", "perfetto,xplane", "--output",
            str(out), "--quiet"])
        self.assertEqual(run.makespan_us, 2.5)
        self.assertEqual(run.rows("ops"), [{"name": "NA", "start_ps": "1"}])
        self.assertIn("2.5 us", repr(run))
        self.assertEqual(spillway.read_run(out).summary, run.summary)

    def test_a_temporary_run_directory_goes_away_with_the_run(self):
        run = spillway.run("attention", executable=self.executable)
        directory = run.directory
        self.assertTrue(directory.is_dir())
        del run
        self.assertFalse(directory.exists())

    def test_failures_are_exceptions_with_the_messages(self):
        self.code(3)
        with self.assertRaises(spillway.SpillwayError) as caught:
            spillway.run("attention", executable=self.executable)
        self.assertEqual(caught.exception.code, 3)
        self.assertIn("some words", str(caught.exception))

    def test_compare_reads_json(self):
        self.assertEqual(spillway.compare("a", "b", "v6e", executable=self.executable), {"same": True})
        self.assertEqual(self.words(), ["compare", "a", "b", "--json", "--chip", "v6e"])

    def test_missing_things(self):
        with self.assertRaises(FileNotFoundError):
            spillway.find_executable(self.directory / "absent")
        with self.assertRaises(FileNotFoundError):
            spillway.read_run(self.directory)

    def test_an_installed_package_finds_the_program_of_its_prefix(self):
        package = self.directory / "prefix/lib/python3/site-packages/spillway"
        shutil.copytree(ROOT / "python/spillway", package, ignore=shutil.ignore_patterns("__pycache__"))
        program = self.directory / "prefix/bin/spillway"
        program.parent.mkdir()
        self.executable.rename(program)
        code = "import spillway; print(spillway.find_executable())"
        environment = {"PYTHONPATH": str(package.parent), "PATH": "/nowhere", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        self.assertEqual(Path(done.stdout.strip()), program.resolve())

    @unittest.skipUnless(HAVE_PANDAS, "needs pandas")
    def test_sweep_gives_exact_integers_and_texts(self):
        self.code(1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            frame = spillway.sweep("attention", {"S": [512, 1024], "chip": "v5e,NA"}, jobs=2, executable=self.executable)
        self.assertTrue(any("some words" in str(warning.message) for warning in caught))
        self.assertEqual(self.words()[:-2], ["sweep", "attention", "--axis", "S=512,1024", "--axis", "chip=v5e,NA", "--jobs", "2",
                                             "--shard", "1/1", "--output"])
        self.assertEqual(int(frame.makespan_ps[0]), 9007199254740993)  # no double holds it
        self.assertEqual(list(frame.chip), ["v5e", "NA"])
        self.assertTrue(frame.makespan_ps.isna()[1])
        self.assertEqual(list(frame.status), ["ok", "bad"])

    def test_a_sweep_without_a_table_is_an_exception(self):
        self.code(1)
        with self.assertRaises(spillway.SpillwayError):
            spillway.sweep("nothing", {"S": [1]}, executable=self.executable)

    @unittest.skipIf(HAVE_PANDAS, "pandas is here")
    def test_frames_without_pandas_say_what_is_missing(self):
        with self.assertRaisesRegex(ImportError, "pandas"):
            spillway.run("attention", executable=self.executable).ops  # noqa: B018


@unittest.skipUnless(REAL, "set SPILLWAY to the executable")
class Real(unittest.TestCase):
    def test_run(self):
        run = spillway.run("attention", "v6e", {"hbm.channels": 32}, bind={"S": 512})
        self.assertGreater(run.summary["makespan_ps"], 0)
        self.assertTrue(run.rows("ops"))
        if HAVE_PANDAS:
            self.assertEqual(int(run.ops.hbm_read_bytes.sum()), run.summary["hbm"]["read_bytes"])
            self.assertLessEqual(int(run.slices.end_ps.max()), run.summary["makespan_ps"])
            self.assertTrue(len(run.counters))

    def test_errors_come_through(self):
        with self.assertRaisesRegex(spillway.SpillwayError, "hbm.channels"):
            spillway.run("attention", "v6e", {"hbm.chanels": 1})

    @unittest.skipUnless(HAVE_PANDAS, "needs pandas")
    def test_sweep(self):
        frame = spillway.sweep("attention", {"S": [512, 1024], "chip": ["v5e", "v6e"]})
        self.assertEqual(list(frame.S), [512, 512, 1024, 1024])
        self.assertEqual(set(frame.status), {"ok"})
        point = frame[(frame.S == 512) & (frame.chip == "v6e")].iloc[0]
        self.assertEqual(int(point.makespan_ps), spillway.run("attention", "v6e", bind={"S": 512}).summary["makespan_ps"])

    @unittest.skipUnless(HAVE_PANDAS, "needs pandas")
    def test_example(self):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "SPILLWAY": str(Path(REAL).resolve())}
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([sys.executable, ROOT / "python/examples/plot_sweep.py"], cwd=scratch, env=environment,
                                  capture_output=True, text=True, check=False)
        self.assertIn("v5e: steepest step up to S=8192", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
