#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and replays naive attention on v6e.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install_deps.sh run
cmake --preset release -DSPILLWAY_TESTS=OFF >/dev/null
quiet=(); [ -t 1 ] || quiet=(-- --quiet)   # On a terminal ninja shows how far it is.
printf 'building, some minutes on a small machine\n' >&2
cmake --build --preset release "${quiet[@]}"
exec build/release/sim/spillway run attention --chip v6e -o runs/attention "$@"
