# SPDX-License-Identifier: Apache-2.0
"""The functions of the bundled workloads, as a JAX user would write them. Shapes are in families.yaml."""
import jax
import jax.numpy as jnp


def attention(q, k, v):
    """Naive attention of one head: [S, D] each; the S x S scores exist as a tensor."""
    scores = (q @ k.T) * (q.shape[-1] ** -0.5)
    return jax.nn.softmax(scores, axis=-1) @ v


def attention_causal(q, k, v):
    """As attention, each query sees no later key."""
    scores = (q @ k.T) * (q.shape[-1] ** -0.5)
    mask = jnp.tril(jnp.ones(scores.shape, dtype=bool))
    return jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1) @ v


def attention_batched(q, k, v):
    """Naive attention over [B, H, S, D]."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * (q.shape[-1] ** -0.5)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)


def attention_batched_causal(q, k, v):
    """Naive causal attention over [B, H, S, D]."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * (q.shape[-1] ** -0.5)
    mask = jnp.tril(jnp.ones(scores.shape[-2:], dtype=bool))
    scores = jnp.where(mask, scores, -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)


def flash_attention(q, k, v, block=512):
    """JAX's Pallas flash attention over [B, H, S, D], in blocks of `block` queries and keys."""
    from jax.experimental.pallas.ops.tpu import flash_attention as flash
    block = min(block, q.shape[2])
    sizes = flash.BlockSizes(block_q=block, block_k_major=block, block_k=block, block_b=1)
    return flash.flash_attention(q, k, v, sm_scale=q.shape[-1] ** -0.5, block_sizes=sizes)


def decode_attention(q, k_cache, v_cache):
    """One new token against a long cache: q [B, H, D], caches [B, S, G, D], H/G query heads share one key head."""
    batch, heads, dim = q.shape
    groups = k_cache.shape[2]
    q = q.reshape(batch, groups, heads // groups, dim)
    scores = jnp.einsum("bgrd,bsgd->bgrs", q, k_cache) * (dim ** -0.5)
    weights = jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(q.dtype)
    return jnp.einsum("bgrs,bsgd->bgrd", weights, v_cache).reshape(batch, heads, dim)


def softmax(x):
    return jax.nn.softmax(x, axis=-1)


def rmsnorm(x, gain):
    """RMSNorm over the last axis, the mean taken in f32."""
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)
    return (wide * scale).astype(x.dtype) * gain


def matmul(a, b):
    return a @ b


def mlp(x, w_gate, w_up, w_down):
    """Gated MLP (SwiGLU)."""
    return (jax.nn.silu(x @ w_gate) * (x @ w_up)) @ w_down


def _rotate(x):
    """Rotary position embedding over [S, H, D]."""
    seq, _, dim = x.shape
    frequency = 10000.0 ** (-jnp.arange(0, dim // 2, dtype=jnp.float32) / (dim // 2))
    angle = jnp.arange(seq, dtype=jnp.float32)[:, None] * frequency
    cos, sin = jnp.cos(angle)[:, None, :], jnp.sin(angle)[:, None, :]
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1).astype(x.dtype)


def transformer_layer(x, g_attn, w_q, w_k, w_v, w_o, g_mlp, w_gate, w_up, w_down, head_dim=128, query_block=512):
    """One decoder layer of Llama's shape; attention runs over blocks of queries, a `while` in the program."""
    seq, _ = x.shape
    h = rmsnorm(x, g_attn)
    q, k, v = ((h @ w).reshape(seq, -1, head_dim) for w in (w_q, w_k, w_v))
    q, k = _rotate(q), _rotate(k)
    block = min(query_block, seq)
    keys = jnp.arange(seq)

    def attend(operand):
        start, queries = operand
        scores = jnp.einsum("qhd,khd->hqk", queries, k) * (head_dim ** -0.5)
        mask = (start + jnp.arange(block))[:, None] >= keys[None, :]
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
        return jnp.einsum("hqk,khd->qhd", weights, v)

    starts = jnp.arange(0, seq, block)
    out = jax.lax.map(attend, (starts, q.reshape(seq // block, block, -1, head_dim)))
    x = x + out.reshape(seq, -1) @ w_o
    return x + mlp(rmsnorm(x, g_mlp), w_gate, w_up, w_down)
