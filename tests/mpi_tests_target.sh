#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: mpi_tests_target.sh CTEST BUILD_FOLDER. Fails if target mpi_tests, built alone, does not make a file that a
# test with label mpi_tests is given, as its program, an argument or in its environment. Needs Ninja's files and jq.
set -euo pipefail
cd "$2"
if [[ ! -f build.ninja ]] || ! command -v ninja >/dev/null || ! command -v jq >/dev/null; then
    echo "SKIP: needs a build by Ninja, and jq"
    exit 77
fi
tests=$("$1" --show-only=json-v1 -L '^mpi_tests$')
files=$(jq -r --arg folder "$PWD/" '.tests[] | (.command // [])[], (.properties[] | select(.name == "ENVIRONMENT").value[])
    | sub("^[A-Za-z_0-9]+="; "") | select(startswith($folder)) | .[($folder | length):]' <<<"$tests" | sort -u)
made=$(ninja -t commands mpi_tests | grep -oE -- '-o [^ ]+' | cut -c 4- | sed "s|^$PWD/||" | sort -u)
missing=""
for file in $files; do
    [[ ! -d $file ]] || continue
    grep -qxF -- "$file" <<<"$made" || missing+=" $file"
done
[[ -n $files && -n $made ]] || { echo "no files were found"; exit 1; }
[[ -z $missing ]] || {
    echo "add_dependencies(mpi_tests ...) lacks what makes these files:$missing"
    exit 1
}
echo "$(wc -w <<<"$files") files, all made by mpi_tests"
