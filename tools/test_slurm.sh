#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs docs/slurm/sweep.sbatch in a Slurm of one node that lives in a temporary directory, then GNU parallel's
# script, and compares the merged results with the sweep in one piece. Argument: the spillway executable.
# Exit code 77: not here (says why), 0: the same, 1: not.
set -euo pipefail
spillway=$(realpath "${1:?the spillway executable}")
source=$(cd "$(dirname "$0")/.." && pwd)
skip() { echo "skipped: $*"; exit 77; }
for program in munged slurmctld slurmd sbatch; do
  PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip "$program is not installed (Debian: slurm-wlm, munge)"
done
export PATH=$PATH:/usr/sbin
[ "$(id -u)" -eq 0 ] || skip "the daemons need root"

dir=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$dir"
}
trap finish EXIT
chmod 755 "$dir"
mkdir "$dir/state" "$dir/spool" "$dir/munge"
dd if=/dev/urandom of="$dir/munge/key" bs=1024 count=1 status=none
chmod 400 "$dir/munge/key"
chmod 711 "$dir/munge"
port=$((20000 + RANDOM % 20000))
host=$(hostname -s)
export SLURM_CONF=$dir/slurm.conf
cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF

munged --foreground --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
  --seed-file="$dir/munge/seed" --log-file="$dir/munge.log" --force 2>"$dir/munge.err" & pids+=($!)
for _ in $(seq 50); do [ -S "$dir/munge/socket" ] && break; sleep 0.1; done
[ -S "$dir/munge/socket" ] || skip "munged does not start: $(tail -n 1 "$dir/munge.err")"
slurmctld -D >"$dir/slurmctld.log" 2>&1 & pids+=($!)
slurmd -D -N "$host" >"$dir/slurmd.log" 2>&1 & pids+=($!)
for _ in $(seq 150); do
  [ "$(sinfo -h -o %t 2>/dev/null)" = idle ] && break
  sleep 0.1
done
[ "$(sinfo -h -o %t 2>/dev/null)" = idle ] || {
  tail -n 3 "$dir/slurmctld.log" "$dir/slurmd.log"
  skip "slurmctld and slurmd do not get ready"
}

cd "$dir"
export SPILLWAY=$spillway
sweep=(attention --variant new --axis S=512:2048:x2 --axis chip=v5e,v6e --axis dma.read_latency=200ns,400ns)
"$spillway" sweep "${sweep[@]}" -o one -q >one.txt
sbatch --quiet --wait --array=0-2 --cpus-per-task=1 --output="$dir/job-%a.log" "$source/docs/slurm/sweep.sbatch" "${sweep[@]}" || {
  tail -n 5 "$dir"/job-*.log "$dir/slurmctld.log" "$dir/slurmd.log"
  exit 1
}
ls -d out/shard-{1,2,3}-of-3 >/dev/null
"$spillway" merge out -o merged -q >merged.txt
for file in sweep.csv sweep.svg config.resolved.yaml; do cmp "one/$file" "merged/$file"; done
cmp one.txt merged.txt
echo "slurm: three tasks merged are the sweep in one piece"

if command -v parallel >/dev/null; then
  OUT=out2 "$source/docs/slurm/parallel.sh" 2 "${sweep[@]}" >parallel.txt 2>parallel.log || { tail -n 5 parallel.log; exit 1; }
  cmp one/sweep.csv out2/whole/sweep.csv
  cmp one.txt parallel.txt
  echo "parallel: two shards merged are the sweep in one piece"
fi
