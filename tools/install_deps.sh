#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing on Debian bookworm. Arguments: run (default), test.
set -euo pipefail
packages=(g++ cmake ninja-build pkg-config libsystemc-dev libboost-dev libboost-program-options-dev
          libyaml-cpp-dev libfmt-dev nlohmann-json3-dev libprotobuf-dev protobuf-compiler libdeflate-dev)
if [ "${1:-run}" = test ]; then
  packages+=(mold catch2 librapidcheck-dev libbenchmark-dev python3 slurm-wlm munge parallel valgrind)
fi
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing: ${missing[*]}" >&2
sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
