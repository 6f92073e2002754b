#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts the instructions of the commands in instructions.txt and fails where one takes more than its limit: time varies by
# half on shared machines, instructions hardly. Arguments: the program.
set -euo pipefail
program=$1
command -v valgrind >/dev/null || { echo "skipped: no valgrind"; exit 77; }
failed=0
while read -r limit arguments; do
  case $limit in ''|\#*) continue ;; esac
  # shellcheck disable=SC2086
  count=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" $arguments 2>&1 >/dev/null |
          sed -n 's/.*I *refs: *//p' | tr -d ,)
  [ -n "$count" ] || { echo "no count: $program $arguments"; exit 1; }
  verdict=ok
  [ "$count" -le $((limit * 1000000)) ] || verdict=MORE failed=1
  printf '%8.1f M of %4d M  %-4s %s\n' "$(awk "BEGIN {print $count / 1e6}")" "$limit" "$verdict" "$arguments"
done < "$(dirname "$0")/instructions.txt"
exit $failed
