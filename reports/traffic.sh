#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes reports/traffic.md: HBM traffic of the planner against the compiler's own DMAs.
# usage: reports/traffic.sh [BUILD_DIR]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
binary=$(find "$build" -name unit_plan -type f | head -n 1)
if [ -z "$binary" ]; then
  echo "unit_plan is not in $build: build it first (cmake --build $build --target unit_plan)" >&2
  exit 1
fi
SPILLWAY_TRAFFIC_REPORT=reports/traffic.md "$binary" "[.traffic-report]" >/dev/null
grep '^## ' reports/traffic.md
