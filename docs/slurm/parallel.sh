#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One sweep on several machines with GNU parallel: docs/slurm/parallel.sh SHARDS SPEC [OPTIONS OF spillway sweep]
#
# HOSTS=node1,node2 spreads the shards over machines that see this directory and have spillway in their PATH;
# without it they run here, one after another, each on all cores. A second call goes on where the first stopped.
set -euo pipefail
shards=${1:?how many shards}
shift
out=${OUT:-out}
hosts=${HOSTS:-:}
# Exit code 1 says that some points have no result: merge shows which, so the other shards go on.
parallel --jobs 1 --sshlogin "$hosts" --workdir "$PWD" --quote --line-buffer \
  "${SPILLWAY:-spillway}" sweep "$@" --shard "{}/$shards" -o "$out/shard-{}-of-$shards" --resume -v \
  ::: $(seq "$shards") >/dev/null || true
exec "${SPILLWAY:-spillway}" merge "$out" -o "$out/whole"
