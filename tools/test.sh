#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs every test: under ASan + UBSan first, which finds most, then as released.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install_deps.sh test
jobs=$(nproc)
export CCACHE_DEPEND=1   # A cold cache, if there is one, costs nothing.
# The same random cases on every run; another seed, or none, explores further.
export RC_PARAMS="${RC_PARAMS:-seed=20261129}"
stage() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }

stage "layers, Python"
python3 tools/check_layers.py
if [ -d tests/python ]; then python3 -m unittest discover -q -s tests/python; fi
stage "build with sanitizers"
cmake --preset asan >/dev/null
if ! cmake --build --preset asan -- --quiet; then
  # In a batch of files two may share a name that each has to itself: no fault, but the batches must go.
  stage "again, each file alone"
  cmake --preset asan -DSPILLWAY_BATCH_LINES=0 >/dev/null
  cmake --build --preset asan -- --quiet
fi
stage "tests with sanitizers"
ctest --preset asan -j "$jobs"
stage "build as released"
cmake --preset release -DSPILLWAY_TESTS=ON >/dev/null
cmake --build --preset release -- --quiet
stage "tests as released"
ctest --preset release -j "$jobs"
stage "passed"
