#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles small Pallas kernels ahead of time and writes their HLO text as NAME.hlo.gz; writes one MLIR module in every
version of the bytecode format as vN.mlirbc. Needs jax and libtpu, no chip."""
import gzip
import os
import pathlib

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental import topologies
from jax.experimental.pallas import tpu as pltpu

HERE = pathlib.Path(__file__).parent
# No path of the machine in the samples.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*")
jax.config.update("jax_traceback_in_locations_limit", 0)


def matmul(a, b):
    def body(x, y, out, total):
        @pl.when(pl.program_id(2) == 0)
        def _():
            total[...] = jnp.zeros_like(total)

        total[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            out[...] = total[...].astype(out.dtype)

    return pl.pallas_call(
        body, out_shape=jax.ShapeDtypeStruct((512, 512), jnp.bfloat16), grid=(2, 4, 2),
        in_specs=[pl.BlockSpec((256, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((256, 128), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((256, 128), jnp.float32)])(a, b)


def grouped(x, scale):
    """Index maps with arithmetic: the last block of x again and again; one scale for two blocks, in one buffer."""
    def body(x, s, out):
        out[...] = x[...] * s[0:1, :]

    return pl.pallas_call(
        body, out_shape=jax.ShapeDtypeStruct((8, 128, 128), jnp.float32), grid=(8,),
        in_specs=[pl.BlockSpec((None, 128, 128), lambda i: (jnp.minimum(i, 4), 0, 0)),
                  pl.BlockSpec((None, 8, 128), lambda i: (jax.lax.div(i, 2), 0, 0), pipeline_mode=pl.Buffered(1))],
        out_specs=pl.BlockSpec((None, 128, 128), lambda i: (i, 0, 0)))(x, scale)


def prefetch(order, x):
    def body(order, x, out):
        out[...] = x[...] + 1.0

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(16,),
        in_specs=[pl.BlockSpec((8, 128), lambda i, order: (order[i], 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, order: (i, 0)))
    return pl.pallas_call(body, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.float32))(order, x)


def manual(x):
    """The kernel copies its operand to VMEM itself."""
    def body(x, out, buffer, done):
        copy = pltpu.make_async_copy(x.at[pl.ds(0, 64)], buffer, done)
        copy.start()
        copy.wait()
        out[...] = buffer[...] * 2.0

    return pl.pallas_call(
        body, out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32), in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        scratch_shapes=[pltpu.VMEM((64, 128), jnp.float32), pltpu.SemaphoreType.DMA])(x)


def whole(x):
    def body(x, out):
        total = jnp.zeros((1, 128), jnp.float32)
        total = jax.lax.fori_loop(0, 8, lambda i, t: t + jnp.sum(x[pl.ds(i * 8, 8), :], axis=0, keepdims=True), total)
        out[...] = jnp.exp(x[...] - total)

    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32))(x)


MODULE = """
module attributes {test.list = [1 : i8, -300 : i32, 2.5 : f32, "text", @symbol, array<i64: 3, -4>, f8E4M3FN]} {
  func.func private @callee(i32) -> i32
  func.func @main(%a: i32, %b: memref<4x?xbf16, 3>) -> i32 {
    %c = "test.pair"(%a, %a) ({
      %x = arith.constant 7 : i32
      "test.use"(%x, %a) : (i32, i32) -> ()
    }) {name = "inner"} : (i32, i32) -> i32
    %d:2 = "test.two"(%c) : (i32) -> (i32, vector<8x128xf32>)
    cf.br ^next(%d#0 : i32)
  ^next(%e: i32):
    %f = arith.addi %e, %c : i32
    return %f : i32
  }
}
"""


def write_versions():
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir
    with mlir.make_ir_context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(MODULE)
        for version in range(7):
            with open(HERE / f"v{version}.mlirbc", "wb") as file:
                module.operation.write_bytecode(file, desired_version=version)


def main():
    write_versions()
    f32, bf16 = jnp.float32, jnp.bfloat16
    samples = {
        "matmul": (matmul, [((512, 256), bf16), ((256, 512), bf16)]),
        "grouped": (grouped, [((5, 128, 128), f32), ((4, 8, 128), f32)]),
        "prefetch": (prefetch, [((16,), jnp.int32), ((256, 128), f32)]),
        "manual": (manual, [((1024, 128), f32)]),
        "whole": (whole, [((64, 128), f32)]),
    }
    topology = topologies.get_topology_desc(topology_name="v5e:2x4", platform="tpu")
    place = jax.sharding.SingleDeviceSharding(topology.devices[0])
    for name, (function, shapes) in samples.items():
        arguments = [jax.ShapeDtypeStruct(shape, dtype, sharding=place) for shape, dtype in shapes]
        text = jax.jit(function).lower(*arguments).compile().as_text()
        with open(HERE / f"{name}.hlo.gz", "wb") as file:
            file.write(gzip.compress(text.encode(), 9, mtime=0))
        print(name, len(text))


if __name__ == "__main__":
    main()
