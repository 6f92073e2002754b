#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""spillway-capture: compile a JAX function for a TPU, without a TPU, into one dump directory.

    spillway-capture model.py:attention --chip v6e --arg 'bf16[8192,128]' --arg 'bf16[8192,128]' \\
        --arg 'bf16[8192,128]' -o attention
    spillway run attention --chip v6e

The compile runs ahead of time in a child process (pip install jax libtpu). The directory holds the scheduled
HLO, the buffer assignment, the memory-usage report, the final bundles under llo/ and meta.json; see docs/capture.md.
Exit codes: 0 done, 2 usage, 3 bad input or failed compile, 4 internal error, 5 time limit, 130 interrupted.
"""
import argparse
import ast
import base64
import binascii
import gzip
import hashlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCHEMA = "spillway.capture/1"
USAGE, BAD_INPUT, INTERNAL, LIMIT, INTERRUPTED = 2, 3, 4, 5, 130

# Smallest topology that libtpu describes for the chip; only its first core is compiled for.
TOPOLOGIES = {"v5e": "v5e:2x2", "v6e": "v6e:2x2"}

# HLO name -> attribute of jax.numpy (or ml_dtypes through it).
DTYPES = {
    "pred": "bool_", "s2": "int2", "s4": "int4", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64",
    "u2": "uint2", "u4": "uint4", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64",
    "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz", "f4e2m1fn": "float4_e2m1fn",
    "c64": "complex64", "c128": "complex128",
}
MAX_DIM = 2**31 - 1


class CaptureError(Exception):
    """A mistake of the user, or a failed compile: a message, an optional excerpt with a caret, a hint, an exit code."""

    def __init__(self, message, *, text=None, column=None, hint=None, code=BAD_INPUT):
        super().__init__(message)
        self.message, self.text, self.column, self.hint, self.code = message, text, column, hint, code

    def render(self):
        lines = [f"spillway-capture: error: {self.message}"]
        if self.text is not None:
            lines.append("  " + self.text)
            if self.column is not None:
                lines.append("  " + " " * (self.column - 1) + "^")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


# ---------------------------------------------------------------- arguments

def parse_shape(text):
    """'bf16[8192,128]' -> ('bf16', [8192, 128]); CaptureError (usage) with the column of the first mistake."""

    def fail(column, message, hint="write a shape as TYPE[DIM,DIM,...], e.g. bf16[8192,128] or f32[]"):
        raise CaptureError(f"--arg: column {column}: {message}", text=text, column=column, hint=hint, code=USAGE)

    word = re.match(r"[A-Za-z0-9]*", text).group()
    if word not in DTYPES:
        close = [name for name in DTYPES if name.startswith(word[:1].lower())] if word else []
        fail(1, f"unknown element type '{word}'" if word else "expected an element type",
             "element types: " + ", ".join(close or DTYPES))
    at = len(word)
    if text[at:at + 1] != "[":
        fail(at + 1, "expected '[' after the element type")
    at += 1
    dims = []
    if text[at:at + 1] != "]":
        while True:
            digits = re.match(r"[0-9]*", text[at:]).group()
            if not digits:
                fail(at + 1, "expected a dimension (a whole number)")
            if int(digits) > MAX_DIM:
                fail(at + 1, f"dimension {digits} is too large (at most {MAX_DIM})")
            dims.append(int(digits))
            at += len(digits)
            if text[at:at + 1] == ",":
                at += 1
            elif text[at:at + 1] == "]":
                break
            else:
                fail(at + 1, "expected ',' or ']'")
    if at + 1 != len(text):
        fail(at + 2, "unexpected text after ']'",
             "a layout cannot be given: the compiler chooses it" if text[at + 1] == "{" else None)
    return word, dims


def parse_pair(option, text):
    """'key=value' -> (key, value)."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise CaptureError(f"{option}: expected KEY=VALUE, got '{text}'", code=USAGE)
    return key, value


def parse_literal(text):
    """Python literal if it is one, else the string itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parse_option_value(text):
    """A compiler option's value: true/false and whole numbers are typed, all else is a string."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else text


def parse_target(text):
    """'dir/model.py:fn' -> (Path, 'fn')."""
    path, colon, name = text.rpartition(":")
    if not colon or not path or not name:
        raise CaptureError(f"expected FILE.py:FUNCTION, got '{text}'", code=USAGE)
    if not Path(path).is_file():
        raise CaptureError(f"{path}: no such file")
    return Path(path), name


def make_parser():
    parser = argparse.ArgumentParser(
        prog="spillway-capture", description="Compile a JAX function for a TPU (no TPU needed) into a dump directory "
        "that `spillway run DIR` replays.", epilog="example: spillway-capture model.py:attention --chip v6e "
        "--arg 'bf16[8192,128]' --arg 'bf16[8192,128]' --arg 'bf16[8192,128]' -o attention")
    parser.add_argument("target", metavar="FILE.py:FUNCTION", help="the function to compile")
    parser.add_argument("--chip", required=True, help="chip to compile for: " + ", ".join(TOPOLOGIES))
    parser.add_argument("--arg", action="append", default=[], metavar="SHAPE",
                        help="shape of the next positional argument, e.g. 'bf16[8192,128]'; repeat in order")
    parser.add_argument("--static", action="append", default=[], metavar="NAME=VALUE",
                        help="static keyword argument (a Python literal, else a string); repeatable")
    parser.add_argument("--compiler-option", action="append", default=[], metavar="KEY=VALUE",
                        help="option for this compile, e.g. xla_tpu_scoped_vmem_limit_kib=65536; repeatable")
    parser.add_argument("--scoped-vmem-kib", type=int, metavar="N", help="limit of scoped VMEM of one kernel, in KiB")
    parser.add_argument("--no-bundles", action="store_true", help="leave out the LLO bundles (smaller, faster)")
    parser.add_argument("--no-source", action="store_true", help="leave out source files, lines and call stacks")
    parser.add_argument("--python", default=sys.executable, metavar="EXE",
                        help="interpreter that has jax and libtpu (default: this one)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="give up after this long (exit code 5)")
    parser.add_argument("--force", action="store_true", help="replace an existing dump directory")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing when all goes well")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="dump directory to make")
    return parser


def make_spec(options):
    """Checks the options and returns the description of the compile that the child reads."""
    if options.chip not in TOPOLOGIES:
        raise CaptureError(f"unknown chip '{options.chip}'", hint="chips: " + ", ".join(TOPOLOGIES), code=USAGE)
    if options.scoped_vmem_kib is not None and options.scoped_vmem_kib <= 0:
        raise CaptureError("--scoped-vmem-kib: expected a positive number", code=USAGE)
    if options.timeout is not None and options.timeout <= 0:
        raise CaptureError("--timeout: expected a positive number", code=USAGE)
    for text in options.arg:
        parse_shape(text)
    compiler_options = {key: parse_option_value(value) for key, value in
                        (parse_pair("--compiler-option", text) for text in options.compiler_option)}
    if options.scoped_vmem_kib is not None:
        compiler_options["xla_tpu_scoped_vmem_limit_kib"] = options.scoped_vmem_kib
    statics = {key: parse_literal(value) for key, value in
               (parse_pair("--static", text) for text in options.static)}
    path, function = parse_target(options.target)
    return {"path": str(path.resolve()), "function": function, "chip": options.chip, "args": list(options.arg),
            "statics": statics, "compiler_options": compiler_options, "bundles": not options.no_bundles,
            "source": not options.no_source}


# ---------------------------------------------------------------- removing machine paths

# An absolute path of at least two parts ending in a file name with an extension, as compilers print source files.
_PATH = r"/(?:[^/\s\"'\\<>|:*?(){}\[\],;=]+/)+"
_SOURCE_FILE = re.compile(_PATH + r"(?=[^/\s\"'\\]+\.[A-Za-z]{1,4}\b)")
_SOURCE_BYTES = re.compile(rb"/(?:[\w.+@~-]+/)+(?=[\w.+@~-]+\.py\b)")
_BODY = re.compile(r'("body":")([A-Za-z0-9+/=]+)(")')
_TABLES = re.compile(r"^FileNames\n.*?^StackFrames\n(?:[0-9]+ \{[^\n]*\n)*\n*", re.M | re.S)
_METADATA = re.compile(r' ?\b(?:stack_frame_id|source_line|source_end_line|source_column|source_end_column)=[0-9]+'
                       r'| ?\bsource_file="(?:[^"\\]|\\.)*"')


def _scrub_body(match):
    """A Mosaic kernel's MLIR in base64: paths are overwritten at equal length, since bytecode states lengths."""
    try:
        raw = base64.b64decode(match.group(2), validate=True)
    except (binascii.Error, ValueError):
        return match.group()
    clean = _SOURCE_BYTES.sub(lambda path: b"_" * len(path.group()), raw)
    return match.group() if clean == raw else match.group(1) + base64.b64encode(clean).decode() + match.group(3)


def scrub(text, roots=()):
    """Removes machine paths: source files keep their base name; the directories `roots` vanish wherever they stand."""
    text = _BODY.sub(_scrub_body, text)
    text = _SOURCE_FILE.sub("", text)
    for root in sorted({str(r).rstrip("/") for r in roots if len(str(r)) > 1}, key=len, reverse=True):
        text = re.sub(re.escape(root) + r"(?:/|\b)", "", text)
    return text


def strip_source(text):
    """Removes source files, lines and call stacks altogether; op names stay."""
    text = _TABLES.sub("", text)
    text = _METADATA.sub("", text)
    return text.replace(", metadata={}", "")


# ---------------------------------------------------------------- the compile (child process)

def child_environment(spec, work):
    """Environment of the child: no TPU is looked for, and the compiler dumps what is kept, nothing more."""
    env = dict(os.environ)
    xla = f"--xla_dump_to={work}/hlo --xla_dump_hlo_as_text"
    tpu = ""
    if spec["bundles"]:
        tpu = (f"--xla_jf_dump_to={work}/llo --xla_jf_dump_hlo_text=true --xla_jf_dump_llo_text=true "
               "--xla_jf_dump_llo_pass_label_regex=^final|^dedup")
    env.update({
        "JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "true",
        "TPU_LOG_DIR": "disabled", "TPU_MIN_LOG_LEVEL": "3", "TF_CPP_MIN_LOG_LEVEL": "3",
        "JAX_ENABLE_COMPILATION_CACHE": "false", "PYTHONDONTWRITEBYTECODE": "1",
        "JAX_HLO_SOURCE_FILE_CANONICALIZATION_REGEX": ".*/",
        "XLA_FLAGS": (env.get("XLA_FLAGS", "") + " " + xla).strip(),
        "LIBTPU_INIT_ARGS": (env.get("LIBTPU_INIT_ARGS", "") + " " + tpu).strip(),
    })
    return env


def _load_function(spec):
    import importlib.util
    path = spec["path"]
    sys.path.insert(0, os.path.dirname(path))
    module_spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_spec.name] = module
    try:
        module_spec.loader.exec_module(module)
    except Exception as error:  # the user's file: anything may come out of it
        raise CaptureError(f"{Path(path).name}: cannot be imported: {type(error).__name__}: {error}") from error
    function = module
    for part in spec["function"].split("."):
        if not hasattr(function, part):
            names = sorted(name for name, value in vars(module).items()
                           if inspect.isfunction(value) and not name.startswith("_") and
                           value.__module__ == module.__name__)
            raise CaptureError(f"{Path(path).name}: no function '{spec['function']}'",
                               hint="functions: " + ", ".join(names) if names else None)
        function = getattr(function, part)
    if not callable(function):
        raise CaptureError(f"{Path(path).name}: '{spec['function']}' is not a function")
    return function


def _versions():
    from importlib import metadata
    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in ("jax", "jaxlib", "libtpu"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = ""
    return versions


def _numbers(analysis):
    """Cost or memory analysis of JAX, whichever form its version gives, as a plain dictionary of numbers."""
    if isinstance(analysis, list):
        analysis = analysis[0] if analysis else {}
    if not isinstance(analysis, dict):
        analysis = {name: getattr(analysis, name) for name in dir(analysis) if name.endswith("_in_bytes")}
    return {str(k): v for k, v in sorted(analysis.items()) if isinstance(v, (int, float))}


def _analysis(compiled, name):
    try:
        return _numbers(getattr(compiled, name)())
    except Exception:  # not every version of every backend has it
        return {}


def compile_in_child(spec, work):
    """Compiles and writes work/as_text.txt (when the version can) and returns facts for meta.json."""
    try:
        import jax
        import jax.numpy as jnp
        from jax.experimental import topologies
        from jax.sharding import SingleDeviceSharding
    except ImportError as error:
        raise CaptureError(f"JAX cannot be imported: {error}",
                           hint="pip install jax libtpu (or --python with an interpreter that has both)") from error
    versions = _versions()
    if not versions["libtpu"]:
        raise CaptureError("libtpu is not installed", hint="pip install libtpu")
    try:
        topology = topologies.get_topology_desc(topology_name=TOPOLOGIES[spec["chip"]], platform="tpu")
    except Exception as error:
        raise CaptureError(f"libtpu {versions['libtpu']} cannot describe chip {spec['chip']}: {error}") from error
    try:  # so that call stacks begin in the user's file
        from jax._src import source_info_util
        source_info_util.register_exclusion(__file__)
    except (ImportError, AttributeError):
        pass
    sharding = SingleDeviceSharding(topology.devices[0])
    function = _load_function(spec)
    args = []
    for text in spec["args"]:
        name, dims = parse_shape(text)
        if not hasattr(jnp, DTYPES[name]):
            raise CaptureError(f"jax {versions['jax']} has no element type {name}")
        if name in ("f64", "s64", "u64", "c128"):
            jax.config.update("jax_enable_x64", True)
        args.append(jax.ShapeDtypeStruct(tuple(dims), getattr(jnp, DTYPES[name]), sharding=sharding))
    try:
        lowered = jax.jit(function, static_argnames=tuple(spec["statics"]) or None).lower(*args, **spec["statics"])
    except Exception as error:
        shapes = ", ".join(spec["args"]) or "no arguments"
        raise CaptureError(f"{spec['function']}({shapes}) cannot be traced: {type(error).__name__}: {error}") from error
    try:
        compiled = lowered.compile(compiler_options=spec["compiler_options"] or None)
    except Exception as error:
        raise CaptureError(f"the compiler failed: {str(error).strip()}") from error
    try:
        Path(work, "as_text.txt").write_text(compiled.as_text())
    except Exception:  # some v6e modules cannot be printed; the dump holds the text then
        pass
    return {"versions": versions, "cost": _analysis(compiled, "cost_analysis"),
            "memory": _analysis(compiled, "memory_analysis")}


def child_main(work):
    """Entry of the child: reads work/spec.json, writes work/result.json."""
    spec = json.loads(Path(work, "spec.json").read_text())
    try:
        result = {"ok": True, **compile_in_child(spec, work)}
    except CaptureError as error:
        result = {"ok": False, "message": error.message, "hint": error.hint}
    Path(work, "result.json").write_text(json.dumps(result))
    return 0


def run_child(spec, work, python, timeout):
    """Runs the compile in a process of its own (flags are read once, a compiler may abort) and returns its result."""
    Path(work, "spec.json").write_text(json.dumps(spec))
    with open(Path(work, "log.txt"), "wb") as log:
        try:
            child = subprocess.run([python, os.path.abspath(__file__), "--child", str(work)], stdout=log, stderr=log,
                                   env=child_environment(spec, work), timeout=timeout, check=False)
        except FileNotFoundError as error:
            raise CaptureError(f"--python: cannot run '{python}': no such file") from error
        except PermissionError as error:
            raise CaptureError(f"--python: cannot run '{python}': not executable") from error
        except subprocess.TimeoutExpired as error:
            raise CaptureError(f"the compile took longer than {timeout:g} s", code=LIMIT) from error
    result_file = Path(work, "result.json")
    if not result_file.is_file():
        tail = "\n  ".join(Path(work, "log.txt").read_text(errors="replace").splitlines()[-12:])
        raise CaptureError(f"the compiler process ended with status {child.returncode}; its last lines:\n  {tail}")
    result = json.loads(result_file.read_text())
    if not result["ok"]:
        raise CaptureError(result["message"], hint=result["hint"])
    return result


# ---------------------------------------------------------------- collecting the dump

def pick_module(hlo_dir):
    """The TPU module's dump prefix: CPU modules of constants computed while tracing may stand beside it."""
    found = []
    for path in sorted(hlo_dir.glob("*.after_optimizations.txt")):
        with path.open(errors="replace") as text:
            if "is_scheduled=true" in text.readline():
                found.append(path)
    if not found:
        raise CaptureError("the compiler dumped no scheduled module", code=INTERNAL)
    return str(found[-1])[:-len(".after_optimizations.txt")]


def bundle_name(name, taken):
    """Name under llo/ without the time stamp that the compiler puts first; a number keeps equal names apart."""
    short = re.sub(r"^[0-9]{12,}-", "", name) + ".gz"
    number, unique = 1, short
    while unique in taken:
        number += 1
        unique = f"{number}-{short}"
    taken.add(unique)
    return unique


def wanted_bundle_file(name):
    """Final bundles, their utilisation, the deduplication map; not the analyses, which repeat the HLO text."""
    return bool(re.search(r"(?<!schedule-analysis_)(final_bundles|final_hlo-static-per-bundle-utilization|"
                          r"deduplication-map)\.txt$", name))


def gzip_bytes(data):
    """Deterministic gzip: no time, no name."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def collect(spec, work):
    """{relative path: bytes before compression} of everything a dump directory keeps, machine paths removed."""
    roots = [work, os.path.realpath(work), os.path.dirname(spec["path"]), os.getcwd(), str(Path.home()), sys.prefix]

    def read(path):
        text = Path(path).read_text(errors="replace")
        return scrub(text if spec["source"] else strip_source(text), roots).encode()

    prefix = pick_module(Path(work, "hlo"))
    as_text = Path(work, "as_text.txt")
    files = {"module.after_optimizations.txt":
             read(as_text if as_text.is_file() else prefix + ".after_optimizations.txt")}
    for kind in ("buffer-assignment", "buffer-assignment-values", "memory-usage-report", "live-range"):
        path = f"{prefix}.after_optimizations-{kind}.txt"
        if Path(path).is_file():
            files[f"module.after_optimizations-{kind}.txt"] = read(path)
    llo = Path(work, "llo")
    taken = set()
    if spec["bundles"]:
        for path in sorted(llo.iterdir()) if llo.is_dir() else []:
            if wanted_bundle_file(path.name):
                files["llo/" + bundle_name(path.name, taken)] = read(path)
        if not taken:
            raise CaptureError("the compiler dumped no bundles", hint="--no-bundles makes a dump without them")
    return files


def flags_without_paths(name):
    """Compiler flags of the environment, as they went in, absolute paths left out."""
    return re.sub(r"=/\S*", "=PATH", os.environ.get(name, ""))


def make_meta(spec, result, files):
    """meta.json: everything needed to make the dump again, and the SHA-256 of each file's content."""
    return {
        "schema": SCHEMA, "file": Path(spec["path"]).name, "function": spec["function"], "chip": spec["chip"],
        "topology": TOPOLOGIES[spec["chip"]], "args": spec["args"], "statics": spec["statics"],
        "compiler_options": spec["compiler_options"], "xla_flags": flags_without_paths("XLA_FLAGS"),
        "libtpu_init_args": flags_without_paths("LIBTPU_INIT_ARGS"), **result["versions"],
        "cost": result["cost"], "memory": result["memory"],
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())},
    }


def write_directory(output, files, meta):
    """Writes everything into a temporary sibling and renames it, so that no half-made dump is ever seen."""
    output.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
    try:
        for name, data in files.items():
            path = part / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(gzip_bytes(data) if name.endswith(".gz") else data)
        (part / "meta.json").write_text(json.dumps(meta, indent=1, sort_keys=True) + "\n")
        part.chmod(0o755)
        if output.is_dir():
            shutil.rmtree(output)
        part.rename(output)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def check_output(output, force):
    if output.is_dir() and any(output.iterdir()):
        if not force:
            raise CaptureError(f"{output}: directory exists and is not empty", hint="--force replaces it")
        if not (output / "meta.json").is_file():  # never delete what is not a dump
            raise CaptureError(f"{output}: not a dump directory (no meta.json), left alone")
    elif output.exists() and not output.is_dir():
        raise CaptureError(f"{output}: exists and is not a directory")


def capture(spec, output=None, python=sys.executable, timeout=None):
    """Compiles `spec` (see make_spec) and returns (files, meta); writes the dump directory when `output` is given."""
    with tempfile.TemporaryDirectory(prefix="spillway-capture-") as work:
        result = run_child(spec, work, python, timeout)
        files = collect(spec, work)
    meta = make_meta(spec, result, files)
    if output is not None:
        write_directory(output, files, meta)
    return files, meta


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    if len(argv) == 2 and argv[0] == "--child":
        return child_main(argv[1])
    try:
        options = make_parser().parse_args(argv)
    except SystemExit as stop:
        return stop.code
    try:
        spec = make_spec(options)
        output = Path(options.output)
        check_output(output, options.force)
        files, meta = capture(spec, output, options.python, options.timeout)
        if not options.quiet:
            size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
            print(f"{output}: {len(files) + 1} files, {size / 1024:.0f} KiB, jax {meta['jax']}, "
                  f"libtpu {meta['libtpu']}", file=sys.stderr)
    except CaptureError as error:
        print(error.render(), file=sys.stderr)
        return error.code
    except OSError as error:
        print(f"spillway-capture: error: {options.output}: {error.strerror}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
