#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# symbols_test.sh LIBRARY LIST HEADER: what libsinew_c.so shows equals LIST (name@version, one a line), and is what
# HEADER declares. A function that vanishes or changes its version breaks programs that exist; a new one is added
# to exports.map and to LIST.
set -euo pipefail
library=$1 list=$2 header=$3
command -v nm >/dev/null || { echo "SKIP: no nm (binutils)"; exit 77; }

fail() { echo "symbols_test: $1" >&2; exit 1; }

shown=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" {print $3}' | sed 's/@@/@/' | LC_ALL=C sort)
diff <(LC_ALL=C sort "$list") <(echo "$shown") || fail "$library (>) shows other symbols than $list (<)"

declared=$(gcc -E -P -I "$(dirname "$header")/.." "$header" | tr -d '\n' | grep -oE '\bsinew_[a-z_]+ *\(' | tr -d '( ' | LC_ALL=C sort -u)
diff <(echo "$declared") <(cut -d@ -f1 <<<"$shown") || fail "the header (<) declares other functions than the library (>) shows"

soname=$(objdump -p "$library" | awk '$1 == "SONAME" {print $2}')
[[ $soname == libsinew_c.so.1 ]] || fail "the soname is $soname, not libsinew_c.so.1"
echo "$(wc -l <<<"$shown") symbols"
