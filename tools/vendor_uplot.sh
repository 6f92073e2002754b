#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Refreshes third_party/uplot from the npm package: tools/vendor_uplot.sh [VERSION]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
target=$root/third_party/uplot
version=${1:-$(cat "$target/VERSION")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "uplot@$version" >/dev/null && tar xzf "uplot-$version.tgz")
cp "$work/package/dist/uPlot.iife.min.js" "$work/package/dist/uPlot.min.css" "$work/package/LICENSE" "$target/"
echo "$version" > "$target/VERSION"
cd "$target"
if [ $# -eq 0 ]; then
  sha256sum --check SHA256SUMS
else
  sha256sum uPlot.iife.min.js uPlot.min.css LICENSE > SHA256SUMS
fi
