#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs every test: release build first, then the same under ASan + UBSan.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install_deps.sh test
jobs=$(nproc)
# The same random cases on every run; another seed, or none, explores further.
export RC_PARAMS="${RC_PARAMS:-seed=20261129}"
python3 tools/check_layers.py
if [ -d tests/python ]; then python3 -m unittest discover -q -s tests/python; fi
cmake --preset asan >/dev/null
cmake --build --preset asan -- --quiet
ctest --preset asan -j "$jobs"
cmake --preset release -DSPILLWAY_TESTS=ON >/dev/null
cmake --build --preset release -- --quiet
ctest --preset release -j "$jobs"
