#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# commands_test.sh SOURCE BUILD FILE: runs all ```sh blocks of FILE, as they are pasted, in one shell in a folder that looks
# like a clone whose build/release is BUILD. HOME is a new folder. Where the page says "prints `text`", one of them must
# print that. Commands of ./dev are not run here: the CI runs them.
set -euo pipefail

source=$1 build=$2 file=$3
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
mkdir -p "$temp/clone/build" "$temp/home"
ln -s "$build" "$temp/clone/build/release"

{
    echo 'set -e'
    awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$file" | grep -v '^\./dev ' |
        sed -E 's/^([^#]*sinew doctor)( .*)?$/\1 || test $? = 1/'   # 1: something is wrong with this machine
} >"$temp/commands"
commands=$(grep -cv '^set -e$' "$temp/commands" || true)
((commands > 0)) || { echo "commands_test: there are no commands in $file"; exit 1; }

cd "$temp/clone"
HOME=$temp/home bash -v "$temp/commands" 2>&1 | tee "$temp/output" ||
    { echo "commands_test: a command of ${file#"$source/"} failed (the last one above)"; exit 1; }
# What the page says that they print.
# shellcheck disable=SC2016  # backticks of Markdown
while IFS= read -r expected; do
    grep -F -- "$expected" "$temp/output" >/dev/null ||
        { echo "commands_test: no command of ${file#"$source/"} printed: $expected"; exit 1; }
done < <(sed -nE 's/.*prints? `([^`]+)`.*/\1/p' "$file")
echo "commands_test: $commands lines of ${file#"$source/"} were run"
