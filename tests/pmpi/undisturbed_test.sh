#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# undisturbed_test.sh LIBRARY: programs without MPI do not notice the library, which is in every process below
# the one that was started with it. It needs no MPI library, and shows no names but those of MPI.
set -eu
library=$1
run() { env LD_PRELOAD="$library" "$@" 2>&1; }
check() { [ "$2" = "$3" ] || { echo "$1: expected '$2', got '$3'"; exit 1; }; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check sh "fine 3" "$(run sh -c 'echo fine $(expr 1 + 2)')"
check bash "$(bash -c 'ls / | sort')" "$(run bash -c 'ls / | sort')"
printf 'all: one two\none two:\n\t@echo made $@\n' > "$work/makefile"
check make "$(make -C "$work" --no-print-directory)" "$(run make -C "$work" --no-print-directory)"
if [ -x "$(command -v python3)" ]; then
    check python "[0, 1, 4] 7" "$(run python3 -c 'import subprocess, multiprocessing, threading
print([i * i for i in range(3)], int(subprocess.check_output(["sh", "-c", "echo 7"])))')"
fi
check "an exception" 42 "$(run sh -c "exit 42" || echo $?)"

check "libraries needed" "" \
    "$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -Ev '^(libc|libm|ld-linux-.*|libdl|libpthread|librt)\.so' || true)"
check "names shown" "" "$(nm -D --defined-only "$library" | awk '{print $3}' | grep -Ev '^P?MPIX?_' || true)"
# Undefined names of the C library have a version; weak ones may stay undefined.
check "names missing" "" "$(nm -D --undefined-only "$library" | grep -Ev ' w |@' || true)"
