# SPDX-License-Identifier: Apache-2.0
"""Makes the proto/text pairs beside this file: one module each, as HloModuleProto and as text.

Run with jax 0.10 installed (and libtpu for the v6e pair, which is compiled ahead of time):
    JAX_PLATFORMS=cpu TPU_SKIP_MDS_QUERY=1 python - OUT_DIR < make_protos.py
(from standard input, so that no path of this machine goes into the stack frame tables)
"""
import gzip
import os
import sys

import jax
import jax.numpy as jnp

SOURCE = '''
from jax import lax
def mixed(x, w, k, img):
    y = jax.nn.softmax(jnp.dot(x, w))
    c = lax.conv_general_dilated(img, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    s = lax.fori_loop(0, 3, lambda i, a: lax.dynamic_update_slice(a, a[0:1] * 2.0, (i, 0)), y)
    p = lax.pad(jnp.transpose(s)[::2, 1:], 0.0, ((1, 2, 0), (0, 1, 1)))
    q = lax.cond(x[0, 0] > 0, lambda a: a + 1, lambda a: a * 2, p)
    return y, c, q, jnp.sort(s, axis=1), s[jnp.array([1, 2, 3])], lax.cumsum(s), jnp.arange(7)
def softmax(x, w):
    return jax.nn.softmax((x @ w).astype(jnp.float32), axis=-1).astype(jnp.bfloat16)
'''


def write(out, name, module):
    with gzip.GzipFile(os.path.join(out, name + '.hlo.pb.gz'), 'wb', mtime=0) as f:
        f.write(module.as_serialized_hlo_module_proto())
    with gzip.GzipFile(os.path.join(out, name + '.hlo.gz'), 'wb', mtime=0) as f:
        f.write(module.to_string().encode())


def main(out):
    scope = {'jax': jax, 'jnp': jnp}
    exec(compile(SOURCE, 'model.py', 'exec'), scope)  # a file name that is the same everywhere
    ones = lambda *s: jnp.ones(s, jnp.float32)
    lowered = jax.jit(scope['mixed']).lower(ones(8, 16), ones(16, 8), ones(3, 3, 4, 8), ones(1, 8, 8, 4))
    write(out, 'cpu_mixed', lowered.compile().runtime_executable().hlo_modules()[0])
    from jax.experimental import topologies
    topology = topologies.get_topology_desc(topology_name='v6e:2x2', platform='tpu')
    sharding = jax.sharding.SingleDeviceSharding(topology.devices[0])
    arg = lambda *s: jax.ShapeDtypeStruct(s, jnp.bfloat16, sharding=sharding)
    compiled = jax.jit(scope['softmax']).lower(arg(1024, 256), arg(256, 1024)).compile()
    write(out, 'v6e_softmax', compiled.runtime_executable().hlo_modules()[0])


main(sys.argv[1])
