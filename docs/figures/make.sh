#!/usr/bin/env bash
# Draws every figure again by running the commands of README.md, about three minutes on one core.
#
#     docs/figures/make.sh [path of the drystone binary]
#
# The result does not depend on the machine's speed or number of cores.
set -euo pipefail

if [ $# -gt 0 ]; then
    program=("$(realpath "$1")")
else
    program=(cargo run --release -q -p drystone-cli --)
fi
drystone() { "${program[@]}" "$@"; }

cd "$(dirname "$0")"
commands=$(awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' README.md)
eval "$commands"
