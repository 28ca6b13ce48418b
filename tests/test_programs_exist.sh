#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: test_programs_exist.sh CTEST BUILD_FOLDER. Fails if the program of any test does not exist.
set -eu
cd "$2"
missing=$("$1" --show-only --verbose 2>&1 | grep -A 1 'Could not find executable' || true)
[ -z "$missing" ] || {
    printf 'These tests cannot run:\n%s\n' "$missing"
    exit 1
}
