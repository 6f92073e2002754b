#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels that the corpus lacks, as further training data of reports/compute_fit.py (option --captures).

    python3 reports/compute_captures.py DIRECTORY --python /path/to/venv/bin/python [--only GLOB] [--chip v5e]

Each case is one function of one family; families named as in the corpus' truth.csv are left out together with it by the
cross-validation. The dumps (some 100 MB) are not kept in the repository: same compiler, same dumps. The directory is
DIRECTORY/FAMILY/NAME.CHIP, written by workloads/capture.py.
"""
import argparse
import fnmatch
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = pathlib.Path(__file__).resolve()


def _jax():
    import jax
    return jax, jax.numpy, jax.lax


# Elementwise -----------------------------------------------------------------------------------------------------------
def poly(x):
    return ((x * 0.5 + 1.0) * x - 0.25) * x + 0.125


def silu(x):
    return _jax()[0].nn.silu(x)


def where(x, y):
    return _jax()[1].where(x > y, x * 2, y - 1)


def adam(p, g, m, v):
    jnp = _jax()[1]
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


def rope(x, c, s):
    jnp = _jax()[1]
    half = x.shape[-1] // 2
    turned = jnp.concatenate([-x[..., half:], x[..., :half]], -1)
    return x * c[:, None, :] + turned * s[:, None, :]


def quant(x, s):
    jnp = _jax()[1]
    return jnp.clip(jnp.round(x / s[:, None]), -127, 127).astype(jnp.int8)


def dequant(x, s):
    jnp = _jax()[1]
    return (x.astype(jnp.float32) * s[None, :]).astype(jnp.bfloat16)


def bits(x):
    return ((x << 3) ^ (x >> 5)) & 0x00FFFFFF | 1


def softplus(x):
    return _jax()[0].nn.softplus(x)


def gate(x, g, b):
    return _jax()[1].tanh(x + b[None, :]) * g


def outer_add(a, b):
    return a[:, None] + b[None, :]


# Reductions ------------------------------------------------------------------------------------------------------------
def l2norm(x):
    lax = _jax()[2]
    return x * lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def logsumexp(x):
    return _jax()[0].nn.logsumexp(x, -1)


def batchnorm(x):
    m = x.mean(0)
    v = ((x - m) ** 2).mean(0)
    return (x - m) * _jax()[2].rsqrt(v + 1e-5)


def groupnorm(x):
    y = x.reshape(x.shape[0], -1, 256)
    m = y.mean(-1, keepdims=True)
    v = ((y - m) ** 2).mean(-1, keepdims=True)
    return ((y - m) * _jax()[2].rsqrt(v + 1e-5)).reshape(x.shape)


def row_max(x):
    return x.max(-1)


def row_sum_square(x):
    return (x.astype("float32") ** 2).sum(-1)


def col_max(x):
    return x.max(0)


def mid_sum(x):
    return x.sum(1)


def mse(x, y):
    return ((x - y) ** 2).mean()


def dot_rows(x, y):
    return (x * y).sum(-1)


def argmin(x):
    return _jax()[1].argmin(x, -1)


def count(x):
    return (x > 0).sum(-1)


def two_norms(x, y, g):
    lax = _jax()[2]
    z = x + y
    return z * lax.rsqrt((z.astype("float32") ** 2).mean(-1, keepdims=True) + 1e-6).astype(z.dtype) * g


# Matrix units ----------------------------------------------------------------------------------------------------------
def linear(x, w, b):
    return _jax()[0].nn.relu(x @ w + b)


def product(x, w):
    return x @ w


def product_nt(x, w):
    return _jax()[2].dot_general(x, w, (((1,), (1,)), ((), ())))


def product_tn(x, w):
    return _jax()[2].dot_general(x, w, (((0,), (0,)), ((), ())))


def batched(x, w):
    return _jax()[1].einsum("bij,bjk->bik", x, w)


def heads_qk(q, k):
    return _jax()[1].einsum("qhd,khd->hqk", q, k)


def lora(x, w, a, b):
    return x @ w + (x @ a) @ b


def product_f32(x, w):
    return _jax()[2].dot(x, w, precision="highest")


def product_s8(x, w):
    return _jax()[2].dot_general(x, w, (((1,), (0,)), ((), ())), preferred_element_type="int32")


def gelu_mm(x, w):
    return _jax()[0].nn.gelu(x @ w)


def mm_scale(x, w, s):
    return ((x @ w).astype("float32") * s).astype("bfloat16")


def mm_norm(x, w, g):
    y = (x @ w).astype("float32")
    return (y * _jax()[2].rsqrt((y * y).mean(-1, keepdims=True) + 1e-6) * g).astype("bfloat16")


def conv1d(x, w):
    return _jax()[2].conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


def conv_strided(x, w):
    return _jax()[2].conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def conv_1x1(x, w):
    return _jax()[2].conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


# Movement --------------------------------------------------------------------------------------------------------------
def flip_axes(x, axes=(1, 0)):
    return _jax()[1].transpose(x, axes) + 1


def t3_021(x):
    return flip_axes(x, (0, 2, 1))


def t3_102(x):
    return flip_axes(x, (1, 0, 2))


def t3_201(x):
    return flip_axes(x, (2, 0, 1))


def t3_210(x):
    return flip_axes(x, (2, 1, 0))


def t4_0213(x):
    return flip_axes(x, (0, 2, 1, 3))


def nchw(x):
    return flip_axes(x, (0, 3, 1, 2))


def nhwc(x):
    return flip_axes(x, (0, 2, 3, 1))


def split_heads(x, heads=16):
    return _jax()[1].transpose(x.reshape(x.shape[0], heads, -1), (1, 0, 2)) * 2


def merge_heads(x):
    return _jax()[1].transpose(x, (1, 0, 2)).reshape(x.shape[1], -1) * 2


def fold(x):
    return x.reshape(x.shape[0] * 4, -1) * 2


def unfold(x):
    return x.reshape(x.shape[0] // 4, -1) * 2


def roll(x):
    return _jax()[1].roll(x, 37, -1)


def roll_rows(x):
    return _jax()[1].roll(x, 5, 0)


def repeat(x):
    return _jax()[1].repeat(x, 4, 0)


def tile(x):
    return _jax()[1].tile(x, (1, 4)) + 1


def pad_rows(x):
    return _jax()[1].pad(x, ((3, 5), (0, 0)))


def pad_lanes(x):
    return _jax()[1].pad(x, ((0, 0), (8, 120)))


def slice_odd(x):
    return x[3:-5, 17:-31] * 2


def slice_even(x):
    return x[::2] + 1


def interleave(x, y):
    return _jax()[1].stack([x, y], -1).reshape(x.shape[0], -1)


def concat_odd(x, y):
    return _jax()[1].concatenate([x, y], -1)


def concat_rows(x, y):
    return _jax()[1].concatenate([x, y], 0) * 2


def reverse(x):
    return x[:, ::-1] + 1


def triangle(x):
    return _jax()[1].tril(x)


# The rest --------------------------------------------------------------------------------------------------------------
def cumsum0(x):
    return _jax()[1].cumsum(x, 0)


def cumsum1(x):
    return _jax()[1].cumsum(x, 1)


def cummax(x):
    return _jax()[2].cummax(x, 1)


def maxpool(x):
    jnp, lax = _jax()[1:]
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def avgpool(x):
    lax = _jax()[2]
    return lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")


def take(t, i):
    return t[i]


def scatter_add(t, i, u):
    return t.at[i].add(u)


def sort_rows(x):
    return _jax()[1].sort(x, -1)


def topk(x):
    return _jax()[2].top_k(x, 32)


def uniform(key):
    jax, jnp, _ = _jax()
    return jax.random.uniform(jax.random.wrap_key_data(key), (2048, 2048), jnp.float32)


def dropout(key, x):
    jax, jnp, _ = _jax()
    keep = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.9, x.shape)
    return jnp.where(keep, x / 0.9, 0)


def softmax(x):
    return _jax()[0].nn.softmax(x, -1)


def softmax_cols(x):
    return _jax()[0].nn.softmax(x, 0)


def masked_softmax(x):
    jax, jnp, lax = _jax()
    i, j = (lax.broadcasted_iota(jnp.int32, x.shape, d) for d in (1, 2))
    return jax.nn.softmax(jnp.where(i >= j, x, -1e30), -1)


def layernorm(x, g, b):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) * _jax()[2].rsqrt(v + 1e-5) * g + b


def attention(q, k, v):
    jax, jnp, _ = _jax()
    s = jnp.einsum("hqd,hkd->hqk", q, k).astype(jnp.float32) * 0.088
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(s, -1).astype(q.dtype), v)


def decode(q, k, v):
    jax, jnp, _ = _jax()
    s = jnp.einsum("hd,shd->hs", q, k).astype(jnp.float32) * 0.088
    return jnp.einsum("hs,shd->hd", jax.nn.softmax(s, -1).astype(q.dtype), v)


# Mosaic kernels: the fit never trains on them, their errors are the band of Mosaic bodies. ----------------------------------
def _blocks(kernel, out, blocks, grid, *arrays):
    """One pallas_call over a grid of (i, j); a block is (shape, index function)."""
    from jax.experimental import pallas as pl
    specs = [pl.BlockSpec(shape, index) for shape, index in blocks]
    return pl.pallas_call(kernel, out_shape=out, grid=grid, in_specs=specs[:len(arrays)], out_specs=specs[-1])(*arrays)


def _rows(kernel, x, *rest, rows=256):
    """Kernel over groups of rows; vectors go whole to each step."""
    jax = _jax()[0]
    block = ((rows, x.shape[1]), lambda i: (i, 0))
    others = [block if r.ndim == 2 and r.shape == x.shape else (r.shape, lambda i, n=r.ndim: (0,) * n) for r in rest]
    return _blocks(kernel, jax.ShapeDtypeStruct(x.shape, x.dtype), [block, *others, block], (x.shape[0] // rows,), x, *rest)


def mosaic_add(x, y):
    def kernel(a, b, o):
        o[...] = a[...] + b[...]
    return _rows(kernel, x, y)


def mosaic_gelu(x):
    jax, jnp, _ = _jax()

    def kernel(a, o):
        v = a[...].astype(jnp.float32)
        o[...] = (0.5 * v * (1 + jnp.tanh(0.79788 * (v + 0.044715 * v * v * v)))).astype(o.dtype)
    return _rows(kernel, x)


def mosaic_softmax(x):
    jnp = _jax()[1]

    def kernel(a, o):
        v = a[...].astype(jnp.float32)
        e = jnp.exp(v - v.max(-1, keepdims=True))
        o[...] = (e / e.sum(-1, keepdims=True)).astype(o.dtype)
    return _rows(kernel, x, rows=128)


def mosaic_rmsnorm(x, g):
    jnp, lax = _jax()[1:]

    def kernel(a, w, o):
        v = a[...].astype(jnp.float32)
        o[...] = (v * lax.rsqrt((v * v).mean(-1, keepdims=True) + 1e-6) * w[...].astype(jnp.float32)).astype(o.dtype)
    return _rows(kernel, x, g)


def mosaic_layernorm(x, g):
    jnp, lax = _jax()[1:]

    def kernel(a, w, o):
        v = a[...].astype(jnp.float32)
        m = v.mean(-1, keepdims=True)
        d = v - m
        o[...] = (d * lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-6) * w[...].astype(jnp.float32)).astype(o.dtype)
    return _rows(kernel, x, g, rows=128)


def mosaic_matmul(x, w, bm=256, bn=256, bk=512):
    jax, jnp, _ = _jax()
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def kernel(a, b, o, acc):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)
        acc[...] += jnp.dot(a[...], b[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o[...] = acc[...].astype(o.dtype)
    m, k, n = x.shape[0], x.shape[1], w.shape[1]
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((m, n), x.dtype), grid=(m // bm, n // bn, k // bk),
                          in_specs=[pl.BlockSpec((bm, bk), lambda i, j, l: (i, l)), pl.BlockSpec((bk, bn), lambda i, j, l: (l, j))],
                          out_specs=pl.BlockSpec((bm, bn), lambda i, j, l: (i, j)),
                          scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)])(x, w)


def mosaic_matmul_512(x, w):
    return mosaic_matmul(x, w, 512, 512, 512)


def mosaic_transpose(x):
    jax = _jax()[0]

    def kernel(a, o):
        o[...] = a[...].T
    return _blocks(kernel, jax.ShapeDtypeStruct(x.shape[::-1], x.dtype), [((256, 256), lambda i, j: (i, j)), ((256, 256), lambda i, j: (j, i))],
                   (x.shape[0] // 256, x.shape[1] // 256), x)


def mosaic_column_sum(x):
    jax, jnp, _ = _jax()
    from jax.experimental import pallas as pl

    def kernel(a, o):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o[...] = jnp.zeros_like(o)
        o[...] += a[...].astype(jnp.float32).sum(0, keepdims=True)
    return _blocks(kernel, jax.ShapeDtypeStruct((1, x.shape[1]), jnp.float32), [((256, x.shape[1]), lambda i: (i, 0)), ((1, x.shape[1]), lambda i: (0, 0))],
                   (x.shape[0] // 256,), x)


def mosaic_flash(q, k, v):
    from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention
    return flash_attention(q, k, v)


def mosaic_flash_causal(q, k, v):
    from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention
    return flash_attention(q, k, v, causal=True)


def mosaic_swiglu(x, y):
    jax, jnp, _ = _jax()

    def kernel(a, b, o):
        v = a[...].astype(jnp.float32)
        o[...] = (v / (1 + jnp.exp(-v)) * b[...].astype(jnp.float32)).astype(o.dtype)
    return _rows(kernel, x, y)


def mosaic_quant(x):
    jax, jnp, _ = _jax()

    def kernel(a, o):
        v = a[...].astype(jnp.float32)
        s = jnp.abs(v).max(-1, keepdims=True) / 127.0
        o[...] = jnp.clip(jnp.round(v / s), -127, 127).astype(jnp.int8)
    block = ((128, x.shape[1]), lambda i: (i, 0))
    return _blocks(kernel, jax.ShapeDtypeStruct(x.shape, jnp.int8), [block, block], (x.shape[0] // 128,), x)


# family, function, arguments; several sets of arguments are several cases.
CASES = [
    ("ew_poly", poly, ["f32[2048,2048]"], ["bf16[4096,2048]"]),
    ("ew_silu", silu, ["bf16[4096,4096]"], ["f32[1024,8192]"]),
    ("ew_where", where, ["bf16[4096,2048]"] * 2, ["f32[2048,2000]"] * 2),
    ("ew_adam", adam, ["f32[2048,2048]"] * 4, ["f32[4194304]"] * 4),
    ("ew_rope", rope, ["bf16[2048,16,128]", "bf16[2048,128]", "bf16[2048,128]"]),
    ("ew_quant", quant, ["f32[2048,4096]", "f32[2048]"], ["bf16[2048,4096]", "bf16[2048]"]),
    ("ew_dequant", dequant, ["s8[4096,4096]", "f32[4096]"]),
    ("ew_bits", bits, ["s32[2048,4096]"]),
    ("ew_softplus", softplus, ["f32[2048,2048]"], ["bf16[2048,2048]"]),
    ("ew_gate", gate, ["bf16[4096,2048]", "bf16[4096,2048]", "bf16[2048]"], ["f32[2048,2048]", "f32[2048,2048]", "f32[2048]"]),
    ("ew_outer", outer_add, ["f32[4096]", "f32[2048]"], ["bf16[4096]", "bf16[4096]"]),
    ("l2norm", l2norm, ["f32[4096,1024]"], ["bf16[8192,2048]"]),
    ("logsumexp", logsumexp, ["f32[4096,4096]"], ["bf16[2048,8192]"]),
    ("batchnorm", batchnorm, ["f32[4096,1024]"], ["bf16[8192,512]"]),
    ("groupnorm", groupnorm, ["f32[2048,2048]"]),
    ("row_max", row_max, ["f32[8192,1024]"], ["bf16[4096,4096]"]),
    ("row_sum_square", row_sum_square, ["bf16[4096,4096]"], ["f32[16384,512]"]),
    ("col_max", col_max, ["f32[8192,1024]"], ["bf16[4096,4096]"]),
    ("mid_sum", mid_sum, ["f32[64,128,1024]"], ["bf16[512,16,1024]"]),
    ("mse", mse, ["f32[4096,2048]"] * 2, ["bf16[4096,2048]"] * 2),
    ("dot_rows", dot_rows, ["f32[8192,1024]"] * 2, ["bf16[8192,1024]"] * 2),
    ("argmax", argmin, ["f32[2048,4096]"]),
    ("row_count", count, ["f32[4096,2048]"], ["bf16[4096,2048]"]),
    ("add_norm", two_norms, ["bf16[4096,2048]", "bf16[4096,2048]", "bf16[2048]"],
     ["bf16[1024,8192]", "bf16[1024,8192]", "bf16[8192]"]),
    ("linear", linear, ["bf16[2048,1024]", "bf16[1024,4096]", "bf16[4096]"], ["bf16[512,4096]", "bf16[4096,1024]", "bf16[1024]"],
     ["bf16[4096,512]", "bf16[512,512]", "bf16[512]"], ["f32[1024,1024]", "f32[1024,1024]", "f32[1024]"]),
    ("matmul", product, ["bf16[1024,4096]", "bf16[4096,1024]"], ["bf16[256,2048]", "bf16[2048,8192]"],
     ["bf16[8192,256]", "bf16[256,1024]"], ["bf16[1536,1536]", "bf16[1536,1536]"], ["f32[2048,512]", "f32[512,2048]"]),
    ("matmul_skinny", product, ["bf16[16,4096]", "bf16[4096,8192]"], ["bf16[64,2048]", "bf16[2048,8192]"],
     ["bf16[128,4096]", "bf16[4096,4096]"], ["bf16[8192,1024]", "bf16[1024,64]"]),
    ("matmul_ksmall", product, ["bf16[4096,64]", "bf16[64,4096]"], ["bf16[4096,256]", "bf16[256,4096]"]),
    ("transpose_matmul", product_nt, ["bf16[2048,1024]", "bf16[4096,1024]"], ["bf16[512,512]", "bf16[8192,512]"]),
    ("transpose_matmul", product_tn, ["bf16[4096,1024]", "bf16[4096,2048]"], ["bf16[1024,2048]", "bf16[1024,1024]"]),
    ("matmul_batch", batched, ["bf16[16,512,256]", "bf16[16,256,512]"], ["bf16[64,256,64]", "bf16[64,64,256]"]),
    ("heads_qk", heads_qk, ["bf16[1024,8,128]", "bf16[1024,8,128]"], ["bf16[512,16,64]", "bf16[512,16,64]"]),
    ("lora", lora, ["bf16[1024,2048]", "bf16[2048,2048]", "bf16[2048,16]", "bf16[16,2048]"]),
    ("matmul_f32", product_f32, ["f32[512,1024]", "f32[1024,1024]"]),
    ("matmul_int8", product_s8, ["s8[1024,2048]", "s8[2048,2048]"], ["s8[4096,512]", "s8[512,4096]"]),
    ("gelu_mm", gelu_mm, ["bf16[1024,2048]", "bf16[2048,4096]"], ["bf16[2048,512]", "bf16[512,2048]"]),
    ("mm_scale", mm_scale, ["bf16[2048,2048]", "bf16[2048,1024]", "f32[1024]"]),
    ("mm_norm", mm_norm, ["bf16[2048,1024]", "bf16[1024,2048]", "f32[2048]"]),
    ("conv2d", conv1d, ["bf16[8,2048,256]", "bf16[3,256,256]"]),
    ("conv2d", conv_strided, ["bf16[16,56,56,128]", "bf16[3,3,128,256]"]),
    ("conv2d", conv_1x1, ["bf16[16,28,28,256]", "bf16[1,1,256,512]"]),
    ("transpose", flip_axes, ["f32[1024,4096]"], ["bf16[2048,1024]"], ["s8[4096,2048]"], ["f32[2000,1000]"], ["s32[4096,512]"]),
    ("transpose", t3_021, ["f32[16,512,512]"], ["bf16[32,512,256]"], ["bf16[256,64,128]"]),
    ("transpose", t3_102, ["f32[32,512,128]"], ["bf16[64,512,256]"], ["f32[16,256,1024]"], ["bf16[512,8,512]"]),
    ("transpose", t3_201, ["f32[64,256,128]"], ["bf16[128,128,256]"]),
    ("transpose", t3_210, ["f32[64,64,512]"], ["bf16[128,64,256]"]),
    ("transpose", t4_0213, ["bf16[4,512,16,128]"], ["bf16[8,256,16,64]"], ["f32[4,256,8,128]"]),
    ("layout", nchw, ["bf16[16,56,56,128]"], ["f32[8,32,32,64]"]),
    ("layout", nhwc, ["bf16[16,128,28,28]"], ["f32[8,64,32,32]"]),
    ("reshape", split_heads, ["bf16[2048,2048]"], ["f32[1024,2048]"], ["bf16[4096,1024]"]),
    ("reshape", merge_heads, ["bf16[16,2048,128]"], ["f32[8,1024,128]"], ["bf16[16,2048,64]"]),
    ("fold", fold, ["bf16[1024,4096]"], ["f32[1024,2048]"], ["f32[4096,256]"]),
    ("fold", unfold, ["bf16[4096,1024]"], ["f32[4096,512]"], ["f32[16384,64]"]),
    ("roll", roll, ["f32[2048,2048]"], ["bf16[4096,2048]"]),
    ("roll", roll_rows, ["f32[2048,2048]"], ["bf16[4096,2048]"]),
    ("repeat", repeat, ["f32[1024,1024]"], ["bf16[1024,2048]"]),
    ("tile", tile, ["f32[2048,512]"], ["bf16[2048,1024]"]),
    ("pad", pad_rows, ["f32[2048,2048]"], ["bf16[2048,4096]"]),
    ("pad", pad_lanes, ["f32[2048,1920]"], ["bf16[4096,1920]"]),
    ("slice", slice_odd, ["f32[2048,2048]"], ["bf16[4096,2048]"]),
    ("slice", slice_even, ["f32[4096,1024]"], ["bf16[4096,2048]"]),
    ("interleave", interleave, ["f32[2048,512]", "f32[2048,512]"], ["bf16[2048,512]", "bf16[2048,512]"]),
    ("concat", concat_odd, ["f32[2048,1000]", "f32[2048,1100]"], ["bf16[2048,1900]", "bf16[2048,200]"]),
    ("concat", concat_rows, ["f32[1001,2048]", "f32[1003,2048]"], ["bf16[1001,2048]", "bf16[1003,2048]"]),
    ("reverse", reverse, ["f32[2048,1024]"], ["bf16[2048,1024]"]),
    ("triangle", triangle, ["f32[2048,2048]"], ["bf16[4096,2048]"]),
    ("cumsum", cumsum0, ["f32[1024,1024]"]),
    ("cumsum", cumsum1, ["f32[512,1024]"], ["bf16[512,2048]"]),
    ("cumsum", cummax, ["f32[512,1024]"]),
    ("pool", maxpool, ["f32[8,64,64,128]"], ["bf16[8,56,56,128]"]),
    ("pool", avgpool, ["f32[8,32,32,128]"]),
    ("embedding", take, ["f32[8192,512]", "s32[2048]"], ["bf16[32000,1024]", "s32[4096]"]),
    ("scatter", scatter_add, ["f32[4096,256]", "s32[1024]", "f32[1024,256]"]),
    ("sort", sort_rows, ["f32[128,512]"], ["s32[64,2048]"]),
    ("topk", topk, ["f32[64,2048]"]),
    ("rng", uniform, ["u32[2]"]),
    ("dropout", dropout, ["u32[2]", "bf16[2048,2048]"], ["u32[2]", "f32[1024,2048]"]),
    ("softmax", softmax, ["bf16[2048,2048]"], ["f32[4096,512]"], ["f32[1024,1000]"]),
    ("softmax_cols", softmax_cols, ["f32[2048,1024]"], ["bf16[1024,2048]"]),
    ("masked_softmax", masked_softmax, ["bf16[8,1024,1024]"], ["f32[4,1024,1024]"]),
    ("layernorm", layernorm, ["bf16[2048,2048]", "bf16[2048]", "bf16[2048]"], ["f32[4096,768]", "f32[768]", "f32[768]"]),
    ("attn_batched", attention, ["bf16[4,1024,128]"] * 3, ["bf16[8,512,64]"] * 3),
    ("mosaic_add", mosaic_add, ["bf16[4096,2048]"] * 2, ["f32[2048,2048]"] * 2),
    ("mosaic_gelu", mosaic_gelu, ["bf16[4096,2048]"], ["f32[2048,2048]"]),
    ("mosaic_softmax", mosaic_softmax, ["bf16[4096,2048]"], ["f32[2048,2048]"]),
    ("mosaic_rmsnorm", mosaic_rmsnorm, ["bf16[4096,2048]", "bf16[1,2048]"], ["f32[2048,1024]", "f32[1,1024]"]),
    ("mosaic_layernorm", mosaic_layernorm, ["bf16[4096,2048]", "bf16[1,2048]"]),
    ("mosaic_matmul", mosaic_matmul, ["bf16[2048,2048]", "bf16[2048,2048]"], ["f32[1024,1024]", "f32[1024,1024]"]),
    ("mosaic_matmul", mosaic_matmul_512, ["bf16[2048,1024]", "bf16[1024,4096]"]),
    ("mosaic_transpose", mosaic_transpose, ["f32[2048,2048]"], ["bf16[2048,4096]"]),
    ("mosaic_column_sum", mosaic_column_sum, ["bf16[8192,1024]"], ["f32[4096,1024]"]),
    ("mosaic_flash", mosaic_flash, ["bf16[1,4,2048,128]"] * 3, ["f32[1,2,1024,128]"] * 3),
    ("mosaic_flash", mosaic_flash_causal, ["bf16[1,4,2048,128]"] * 3),
    ("mosaic_swiglu", mosaic_swiglu, ["bf16[4096,2048]"] * 2),
    ("mosaic_quant", mosaic_quant, ["bf16[4096,2048]"], ["f32[2048,1024]"]),
    ("decode_attn", decode, ["bf16[16,128]", "bf16[4096,16,128]", "bf16[4096,16,128]"]),
]


def cases():
    """(family, name, function, arguments) of each dump; names are unique."""
    for family, function, *sets in CASES:
        for arguments in sets:
            shape = "_".join(dict.fromkeys(a.replace("[", "_").replace("]", "").replace(",", "x") for a in arguments))
            yield family, f"{function.__name__}__{shape}", function.__name__, arguments


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--python", required=True, help="interpreter with jax and libtpu")
    parser.add_argument("--only", default="*", help="names of cases")
    parser.add_argument("--chip", action="append", choices=("v5e", "v6e"))
    args = parser.parse_args()
    failed = 0
    for family, name, function, arguments in cases():
        if not fnmatch.fnmatch(name, args.only):
            continue
        for chip in args.chip or ("v5e", "v6e"):
            target = args.directory / family / f"{name}.{chip}"
            if target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, str(ROOT / "workloads/capture.py"), f"{HERE}:{function}", "--chip", chip, "--python",
                       args.python, "--timeout", "300", "-o", str(target), *(f"--arg={a}" for a in arguments)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                failed += 1
                print(f"{target}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
