#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# watch.sh STATE, with a pipe as input whose other end only the lab's maker holds: ends the lab when
# the pipe closes, for then the maker is gone, even if by SIGKILL. The word "keep" calls it off.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/lab/state.sh
. "$here/state.sh"
# shellcheck source=tests/lab/network.sh
. "$here/network.sh"

echo $$ >"$1/watchdog"
word=""
read -r word || true
[[ $word == keep ]] || end_lab "$1"
