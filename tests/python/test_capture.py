# SPDX-License-Identifier: Apache-2.0
"""spillway-capture without a compiler, and with one where jax and libtpu are installed.

    python3 -m unittest discover tests/python
SPILLWAY_CAPTURE_PYTHON names an interpreter that has jax and libtpu, if this one has not.
"""
import base64
import contextlib
import gzip
import hashlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "workloads"))
sys.dont_write_bytecode = True

import capture  # noqa: E402


def jax_python():
    """An interpreter with jax and libtpu, or None."""
    python = os.environ.get("SPILLWAY_CAPTURE_PYTHON")
    if python:
        return python
    return sys.executable if all(importlib.util.find_spec(name) for name in ("jax", "libtpu")) else None


def run(*argv):
    """(exit code, standard error) of the command."""
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        code = capture.main(list(argv))
    return code, err.getvalue()


class Shapes(unittest.TestCase):
    def test_accepts(self):
        self.assertEqual(capture.parse_shape("bf16[8192,128]"), ("bf16", [8192, 128]))
        self.assertEqual(capture.parse_shape("f32[]"), ("f32", []))
        self.assertEqual(capture.parse_shape("f8e4m3b11fnuz[0,3]"), ("f8e4m3b11fnuz", [0, 3]))

    def test_every_mistake_has_its_column(self):
        for text, column, word in [
                ("", 1, "element type"), ("float32[8]", 1, "unknown element type 'float32'"), ("bf16", 5, "'['"),
                ("bf16(8)", 5, "'['"), ("bf16[8,x]", 8, "dimension"), ("bf16[8,]", 8, "dimension"),
                ("bf16[-1]", 6, "dimension"), ("bf16[8 ,2]", 7, "','"), ("bf16[8", 7, "',' or ']'"),
                ("bf16[8]{0}", 8, "unexpected"), ("bf16[2147483648]", 6, "too large"), ("bf16[²]", 6, "dimension")]:
            with self.subTest(text=text), self.assertRaises(capture.CaptureError) as caught:
                capture.parse_shape(text)
            self.assertEqual((caught.exception.column, caught.exception.code), (column, capture.USAGE))
            self.assertIn(word, caught.exception.message)

    def test_caret_stands_under_the_column(self):
        code, err = run("x.py:f", "--chip", "v6e", "--arg", "bf16[8,x]", "-o", "out")
        self.assertEqual(code, 2)
        lines = err.splitlines()
        self.assertEqual(lines[2].index("^"), lines[1].index("x"))


class Options(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.model = Path(self.dir.name, "model.py")
        self.model.write_text("def f(x):\n    return x\n")
        self.out = Path(self.dir.name, "out")

    def spec(self, *more):
        return capture.make_spec(capture.make_parser().parse_args(
            [f"{self.model}:f", "--chip", "v6e", "-o", str(self.out), *more]))

    def test_spec(self):
        spec = self.spec("--arg", "f32[2]", "--static", "causal=True", "--static", "name=flash",
                         "--compiler-option", "xla_a=true", "--compiler-option", "xla_b=-3",
                         "--scoped-vmem-kib", "65536", "--no-bundles")
        self.assertEqual(spec["args"], ["f32[2]"])
        self.assertEqual(spec["statics"], {"causal": True, "name": "flash"})
        self.assertEqual(spec["compiler_options"],
                         {"xla_a": True, "xla_b": -3, "xla_tpu_scoped_vmem_limit_kib": 65536})
        self.assertFalse(spec["bundles"])

    def test_usage_errors(self):
        target = f"{self.model}:f"
        for argv, word in [
                (["--chip", "v7", target, "-o", "o"], "unknown chip 'v7'"), ([target, "-o", "o"], "--chip"),
                ([str(self.model), "--chip", "v6e", "-o", "o"], "FILE.py:FUNCTION"),
                ([target, "--chip", "v6e", "--static", "x", "-o", "o"], "KEY=VALUE"),
                ([target, "--chip", "v6e", "--scoped-vmem-kib", "0", "-o", "o"], "positive"),
                ([target, "--chip", "v6e", "--timeout", "-1", "-o", "o"], "positive"),
                ([target, "--chip", "v6e"], "-o")]:
            with self.subTest(argv=argv):
                code, err = run(*argv)
                self.assertEqual(code, 2)
                self.assertIn(word, err)

    def test_bad_input(self):
        code, err = run("missing.py:f", "--chip", "v6e", "-o", str(self.out))
        self.assertEqual((code, "missing.py: no such file" in err), (3, True))
        code, err = run(f"{self.model}:f", "--chip", "v6e", "-o", str(self.out), "--python", "no-such-python")
        self.assertEqual((code, "cannot run 'no-such-python'" in err), (3, True))
        self.assertFalse(self.out.exists())

    def test_output_is_never_overwritten_by_accident(self):
        self.out.mkdir()
        (self.out / "mine.txt").write_text("x")
        for more, word in [([], "not empty"), (["--force"], "not a dump directory")]:
            code, err = run(f"{self.model}:f", "--chip", "v6e", "-o", str(self.out), *more)
            self.assertEqual(code, 3)
            self.assertIn(word, err)
        self.assertEqual((self.out / "mine.txt").read_text(), "x")
        code, err = run(f"{self.model}:f", "--chip", "v6e", "-o", str(self.model))
        self.assertEqual((code, "not a directory" in err), (3, True))

    def test_a_python_without_jax_says_so(self):
        fake = Path(self.dir.name, "python")
        fake.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')
        fake.chmod(0o755)
        probe = subprocess.run([str(fake), "-c", "import jax"], capture_output=True, check=False)
        if probe.returncode == 0:
            self.skipTest("jax is importable even without site-packages")
        code, err = run(f"{self.model}:f", "--chip", "v6e", "-o", str(self.out), "--python", str(fake))
        self.assertEqual(code, 3)
        self.assertIn("JAX cannot be imported", err)
        self.assertIn("pip install jax libtpu", err)

    def test_a_dying_compiler_shows_its_last_lines(self):
        fake = Path(self.dir.name, "python")
        fake.write_text("#!/bin/sh\necho the compiler is unwell >&2\nexit 7\n")
        fake.chmod(0o755)
        code, err = run(f"{self.model}:f", "--chip", "v6e", "-o", str(self.out), "--python", str(fake))
        self.assertEqual(code, 3)
        self.assertIn("status 7", err)
        self.assertIn("the compiler is unwell", err)

    def test_timeout_is_a_limit(self):
        fake = Path(self.dir.name, "python")
        fake.write_text("#!/bin/sh\nexec sleep 30\n")
        fake.chmod(0o755)
        code, _ = run(f"{self.model}:f", "--chip", "v6e", "-o", str(self.out), "--python", str(fake),
                      "--timeout", "0.2")
        self.assertEqual(code, 5)
        self.assertEqual([p.name for p in Path(self.dir.name).iterdir() if p.name.startswith(".")], [])


class Scrubbing(unittest.TestCase):
    def test_paths_lose_their_directories(self):
        text = ('source_file="/home/me/x y/model.py" source_line=3\n1 "/opt/py/site-packages/jax/_src/pjit.py"\n'
                'op_name="jit(f)/jit(main)/dot_general" at /data/run/model.py:12')
        clean = capture.scrub(text, ["/home/me"])
        self.assertNotIn("/opt", clean)
        self.assertNotIn("/home", clean)
        self.assertNotIn("/data", clean)
        self.assertIn('1 "pjit.py"', clean)
        self.assertIn('op_name="jit(f)/jit(main)/dot_general" at model.py:12', clean)

    def test_roots_vanish(self):
        self.assertEqual(capture.scrub("dump at /tmp/work123/hlo", ["/tmp/work123"]), "dump at hlo")
        self.assertEqual(capture.scrub("/tmp/work1234", ["/tmp/work123"]), "/tmp/work1234")
        self.assertEqual(capture.scrub("a / b", ["/"]), "a / b")

    def test_mosaic_body_keeps_its_length(self):
        raw = b"ML\xefR\x00\x20/home/me/kernels/flash.py\x00\xff/ no path"
        line = '"body":"' + base64.b64encode(raw).decode() + '"'
        clean = capture.scrub(line)
        body = base64.b64decode(clean[len('"body":"'):-1])
        self.assertEqual(len(body), len(raw))
        self.assertNotIn(b"/home", body)
        self.assertIn(b"flash.py\x00\xff/ no path", body)

    def test_body_that_is_not_base64_stays(self):
        self.assertEqual(capture.scrub('"body":"abc"'), '"body":"abc"')

    def test_strip_source(self):
        text = ('HloModule m, is_scheduled=true\n\nFileNames\n1 "model.py"\n\nFunctionNames\n1 "f"\n\n'
                'FileLocations\n1 {file_name_id=1 function_name_id=1 line=2}\n\nStackFrames\n'
                '1 {file_location_id=1 parent_frame_id=1}\n\n\n%c (p: f32[]) -> f32[] {\n'
                '  %p = f32[] parameter(0), metadata={op_name="x" stack_frame_id=1}\n'
                '  %a = f32[] add(%p, %p), metadata={source_file="a \\"b\\".py" source_line=3}\n'
                '  ROOT %b = f32[] add(%a, %p), metadata={op_name="y" source_file="m.py" source_line=3}\n}\n')
        self.assertEqual(capture.strip_source(text), (
            'HloModule m, is_scheduled=true\n\n%c (p: f32[]) -> f32[] {\n'
            '  %p = f32[] parameter(0), metadata={op_name="x"}\n  %a = f32[] add(%p, %p)\n'
            '  ROOT %b = f32[] add(%a, %p), metadata={op_name="y"}\n}\n'))


class Collecting(unittest.TestCase):
    def test_bundle_names(self):
        taken = set()
        self.assertEqual(capture.bundle_name("1795983783547065664-fusion-02-final_bundles.txt", taken),
                         "fusion-02-final_bundles.txt.gz")
        self.assertEqual(capture.bundle_name("1795983783999999999-fusion-02-final_bundles.txt", taken),
                         "2-fusion-02-final_bundles.txt.gz")

    def test_wanted_files(self):
        for name, wanted in [("1-a-03-final_bundles.txt", True), ("1-a-02-schedule-analysis_final_bundles.txt", False),
                             ("1-a-01-final_hlo-static-per-bundle-utilization.txt", True), ("1-TLP-hlo.txt", False),
                             ("1-TLP-00-deduplication-map.txt", True), ("1-TLP-04-final-top-level-llo.txt", False),
                             ("1-a-00-pre-finalize-registers-and-allocations.txt", False)]:
            self.assertEqual(capture.wanted_bundle_file(name), wanted, name)

    def test_gzip_is_deterministic(self):
        data = capture.gzip_bytes(b"x" * 1000)
        self.assertEqual(data[4:8], b"\0\0\0\0")
        self.assertEqual(data[3] & 8, 0)  # no file name
        self.assertEqual(gzip.decompress(data), b"x" * 1000)

    def test_failed_write_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(TypeError):
                capture.write_directory(Path(folder, "out"), {"a.txt": b"x", "b.txt": None}, {})
            self.assertEqual(os.listdir(folder), [])


class Meta(unittest.TestCase):
    def test_flags_lose_their_paths(self):
        before = os.environ.get("XLA_FLAGS")
        os.environ["XLA_FLAGS"] = "--xla_a=1 --xla_dump_to=/home/me/x --xla_b=c/d"
        try:
            self.assertEqual(capture.flags_without_paths("XLA_FLAGS"), "--xla_a=1 --xla_dump_to=PATH --xla_b=c/d")
        finally:
            os.environ.pop("XLA_FLAGS")
            if before is not None:
                os.environ["XLA_FLAGS"] = before


class Bundled(unittest.TestCase):
    """The bundled workloads are what the manifest says."""

    def test_manifest(self):
        files = json.loads((ROOT / "workloads/MANIFEST.json").read_text())["files"]
        self.assertGreater(len(files), 0)
        for path, entry in files.items():
            with self.subTest(path=path):
                file = ROOT / "workloads" / path
                self.assertEqual(file.is_file(), entry["status"] == "ok")
                if entry["status"] == "ok":
                    text = gzip.decompress(file.read_bytes())
                    self.assertEqual(hashlib.sha256(text).hexdigest(), entry["sha256"])
                    self.assertIn(b"is_scheduled=true", text.split(b"\n", 1)[0])
                    self.assertNotRegex(text, rb"source_file|StackFrames|site-packages|/(home|root|tmp|usr)/")
                else:
                    self.assertTrue(entry["reason"])
        on_disk = {f"hlo/{p.name}" for p in (ROOT / "workloads/hlo").iterdir()}
        self.assertEqual(on_disk, {path for path, entry in files.items() if entry["status"] == "ok"})

    @unittest.skipUnless(importlib.util.find_spec("yaml"), "PyYAML is not installed")
    def test_workload_files(self):
        import build
        import yaml
        families = yaml.safe_load((ROOT / "workloads/families.yaml").read_text())
        files = json.loads((ROOT / "workloads/MANIFEST.json").read_text())["files"]
        cases, dumps = {}, set()
        for name in families["workloads"]:
            workload = yaml.safe_load((ROOT / f"workloads/{name}.yaml").read_text())
            self.assertEqual((workload["schema"], workload["name"]), ("spillway.workload/1", name))
            self.assertIn(workload["default"]["chip"], workload["chips"])
            self.assertIn(workload["default"]["variant"], workload["variants"])
            for symbol in workload["symbols"].values():
                self.assertIn(symbol["default"], symbol["values"])
            points = dict(build.cases(workload))
            cases.update(points)
            dumps.update(dump["path"] for dump in workload.get("dumps", []))
            for expected in workload.get("expect", []):
                self.assertIn(expected["timer"], ("device", "wall", "unclear"))
                self.assertTrue(any(case["chip"] == expected["chip"] and case["symbols"] == expected["symbols"]
                                    for case in points.values()))
        self.assertEqual(set(cases), set(files))
        for path, case in cases.items():
            self.assertEqual(case["args"], files[path]["args"], path)
            self.assertEqual(families["compilers"][case["variant"]],
                             {key: files[path][key] for key in ("jax", "libtpu")}, path)
        self.assertEqual(dumps, {f"dumps/{p.name}" for p in (ROOT / "workloads/dumps").iterdir()})

    def test_dumps(self):
        folders = sorted((ROOT / "workloads/dumps").iterdir())
        self.assertGreater(len(folders), 0)
        for folder in folders:
            meta = json.loads((folder / "meta.json").read_text())
            found = {}
            for file in folder.rglob("*"):
                if file.is_file() and file.name != "meta.json":
                    data = file.read_bytes()
                    found[str(file.relative_to(folder))] = gzip.decompress(data) if file.suffix == ".gz" else data
            self.assertEqual({name: hashlib.sha256(data).hexdigest() for name, data in found.items()}, meta["sha256"])
            self.assertTrue(any(name.endswith("final_bundles.txt.gz") for name in found), folder.name)


@unittest.skipUnless(jax_python(), "no interpreter with jax and libtpu")
class WithJax(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.model = Path(self.dir.name, "model.py")
        self.model.write_text("import jax.numpy as jnp\n\ndef double(x, times=2):\n    return x * times\n\n"
                              "def broken(x):\n    return x @ x\n")
        self.out = Path(self.dir.name, "out")

    def capture(self, function, *more):
        return run(f"{self.model}:{function}", "--chip", "v6e", "--python", jax_python(), "-q", "-o", str(self.out), *more)

    def test_dump_directory(self):
        code, err = self.capture("double", "--arg", "bf16[256,256]", "--static", "times=3")
        self.assertEqual((code, err), (0, ""))
        meta = json.loads((self.out / "meta.json").read_text())
        self.assertEqual((meta["chip"], meta["function"], meta["statics"]), ("v6e", "double", {"times": 3}))
        for name, digest in meta["sha256"].items():
            data = (self.out / name).read_bytes()
            data = gzip.decompress(data) if name.endswith(".gz") else data
            self.assertEqual(hashlib.sha256(data).hexdigest(), digest)
            for place in (self.dir.name, str(Path.home()) + "/", "site-packages"):
                self.assertNotIn(place.encode(), data, name)
        self.assertIn("module.after_optimizations.txt", meta["sha256"])
        self.assertIn("module.after_optimizations-buffer-assignment.txt", meta["sha256"])
        self.assertTrue(any(name.endswith("final_bundles.txt.gz") for name in meta["sha256"]))
        stable = [name for name in meta["sha256"] if "memory-usage-report" not in name]  # ties in an order of chance
        before = {name: (self.out / name).read_bytes() for name in stable}
        self.assertEqual(self.capture("double", "--arg", "bf16[256,256]", "--static", "times=3", "--force")[0], 0)
        self.assertEqual({name: (self.out / name).read_bytes() for name in stable}, before)

    def test_errors(self):
        for function, args, word in [("missing", [], "no function 'missing'"), ("double", [], "cannot be traced"),
                                     ("broken", ["--arg", "f32[2,3]"], "cannot be traced"),
                                     ("double", ["--arg", "f32[2]", "--compiler-option", "xla_no_such=1"],
                                      "the compiler failed")]:
            code, err = self.capture(function, *args)
            self.assertEqual(code, 3)
            self.assertIn(word, err)
            self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
