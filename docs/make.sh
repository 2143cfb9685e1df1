#!/usr/bin/env bash
# Makes figures, pictures or the figures in a table again.
#
#     docs/make.sh figures|pictures [path of the drystone binary]
#     docs/make.sh TABLE
#
# The first runs the commands of docs/figures/README.md or docs/pictures/README.md, three to five minutes each on one core. The
# second runs the commands that docs/quoted.toml has for a table and puts today's figures into the documents; without a name
# it lists the tables. The result does not depend on the machine's speed or number of cores, but for figures that are
# `measured`.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
what=${1:-}
if [ "$what" != figures ] && [ "$what" != pictures ]; then
    if [ -z "$what" ]; then
        echo "figures"
        echo "pictures"
        sed -n 's/^table = "\(.*\)"/\1/p' "$here/quoted.toml" | sort -u
        exit 0
    fi
    cd "$here/.."
    DRYSTONE_TABLE=$what exec cargo test -q -p drystone-cli --test command -- --ignored --nocapture write_quoted_figures
fi

folder=$here/$what
if [ $# -gt 1 ]; then
    program=("$(realpath "$2")")
else
    program=(cargo run --release -q -p drystone-cli --)
fi
drystone() { "${program[@]}" "$@"; }

cd "$folder"
commands=$(awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' README.md)
eval "$commands"
