#!/usr/bin/env bash
# Draws all figures or pictures again by running the commands of docs/figures/README.md or docs/pictures/README.md,
# about three minutes each on one core.
#
#     docs/make.sh figures|pictures [path of the drystone binary]
#
# The result does not depend on the machine's speed or number of cores.
set -euo pipefail

folder=$(dirname "$0")/${1:?figures or pictures}
if [ $# -gt 1 ]; then
    program=("$(realpath "$2")")
else
    program=(cargo run --release -q -p drystone-cli --)
fi
drystone() { "${program[@]}" "$@"; }

cd "$folder"
commands=$(awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' README.md)
eval "$commands"
