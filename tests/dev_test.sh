#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What ./dev says to who mistypes, and what it does where packages are missing: as root it
# installs them, as anyone else it names them, and when nothing is missing it asks for nothing.
set -euo pipefail

source=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
chmod 755 "$temp"
cp "$source/dev" "$source/CMakePresets.json" "$temp"
mkdir -m 777 "$temp/build"

# A machine with a shell and little else; its apt-get and cmake only report that they were called.
mkdir "$temp/bin"
for tool in bash env dirname readlink grep sed sort tr xargs nproc awk cat mkdir uname echo basename; do
    ln -s "$(type -P "$tool")" "$temp/bin/$tool"
done
printf '#!/bin/sh\necho "called: apt-get $*"\n' >"$temp/bin/apt-get"
printf '#!/bin/sh\necho "called: cmake $*"; exit 1\n' >"$temp/bin/cmake"
printf '#!/bin/sh\nexit 1\n' >"$temp/bin/dpkg-query"
chmod 755 "$temp"/bin/{apt-get,cmake,dpkg-query}

as_nobody=()
((EUID != 0)) || as_nobody=("$(type -P setpriv)" --reuid=65534 --regid=65534 --clear-groups)

failed=0
# expect "what must be printed" "what must not" command...
expect() {
    local must=$1 must_not=$2 output
    shift 2
    output=$(env -i HOME=/ PATH="$temp/bin" "$@" </dev/null 2>&1) || true
    if [[ $output != *"$must"* || (-n $must_not && $output == *"$must_not"*) ]]; then
        printf 'dev_test: %s\nprinted:\n%s\nexpected: %s\nnot: %s\n' "$*" "$output" "$must" "$must_not"
        failed=1
    fi
}

expect "Did you mean ./dev build?" "" "$temp/dev" biuld
expect "there is no preset nix (there are: release debug" "" "$temp/dev" build nix
expect "there is no benchmark nix" "" "$temp/dev" bench nix
expect "./dev test [flags]" "" "$temp/dev" help

expect "apt-get install --no-install-recommends g++ ninja-build" "called" \
    "${as_nobody[@]}" "$temp/dev" build
if ((EUID == 0)); then
    expect "install -y --no-install-recommends g++ ninja-build" "" "$temp/dev" build
    expect "libmpich-dev mpich" "libopenmpi-dev" "$temp/dev" build mpich
fi

rm -rf "$temp/build"
mkdir -m 777 "$temp/build"
printf '#!/bin/sh\necho installed\n' >"$temp/bin/dpkg-query"
for tool in g++ ninja ccache pkg-config mpirun.openmpi; do
    ln -s "$(type -P true)" "$temp/bin/$tool"
done
expect "called: cmake --preset release" "apt-get" \
    "${as_nobody[@]}" "$temp/dev" build

((failed == 0)) && echo "dev_test: all as expected"
exit "$failed"
