#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The dashboard in headless Chromium, driven by playwright-core. Skipped (77), with the reason, where one of them is
# missing; `./dev test` installs both. With SINEW_REQUIRE_BROWSER=1 that is a failure. browser_test.sh SINEW PROGRAM BUILD_FOLDER
# WITH_SERVICE (yes: this sinew has SQLite, and so sinew serve)
# With SINEW_DASHBOARD_SCREENSHOTS=FOLDER it takes half a minute longer, and leaves pictures of the page there.
set -euo pipefail
sinew=$1 program=$2 build=$3 with_service=$4
skip() {
    [[ -z ${SINEW_REQUIRE_BROWSER-} ]] || { echo "failed, as SINEW_REQUIRE_BROWSER is set: $*"; exit 1; }
    echo "skipped: $*"
    exit 77
}

node=$(command -v node || command -v nodejs) || skip "there is no node here (Debian: nodejs)"
SINEW_TEST_CHROMIUM=$(command -v chromium || command -v chromium-browser) || skip "there is no chromium here (Debian: chromium)"
export SINEW_TEST_CHROMIUM SINEW_TEST_NODE_MODULES=$build/browser/node_modules
[[ -d $SINEW_TEST_NODE_MODULES/playwright-core ]] ||
    skip "there is no playwright-core in $build/browser (./dev test installs it by npm)"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SINEW_TMPDIR=$folder/run HOME=$folder TMPDIR=$folder
mkdir -m 700 "$SINEW_TMPDIR"
"$node" "$(dirname "$0")/browser_test.mjs" "$sinew" "$program" ${SINEW_DASHBOARD_SCREENSHOTS:+"$SINEW_DASHBOARD_SCREENSHOTS"}
if [[ $with_service == yes ]]; then
    "$sinew" serve --new-key "$folder/key"
    SINEW_GPUS=2 SINEW_NVML_LIBRARY=none SINEW_LEASE_DIR=$folder/leases "$node" "$(dirname "$0")/service_browser_test.mjs" \
        "$sinew" "$folder/key" "$folder/state" ${SINEW_DASHBOARD_SCREENSHOTS:+"$SINEW_DASHBOARD_SCREENSHOTS"}
fi
# The folder of a program that was ended by a signal is removed by the next job.
"$sinew" run -n 1 true
left=$(find "$SINEW_TMPDIR" -mindepth 1 -maxdepth 1)
[[ -z $left ]] || { echo "left behind: $left"; exit 1; }
