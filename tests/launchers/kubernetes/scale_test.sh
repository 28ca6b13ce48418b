#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# scale_test.sh SOURCE SINEW [PODS]: 200 pods: the user's calls of the API are few for each pod, and the client's own work is
# small. The pods' own start is that of the fake cluster. Skipped (77) without root.
set -uo pipefail
test=scale_test source=$1 sinew=$2 pods=${3:-200}
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$0")/support.sh"

cluster_start --light --nodes 4 --cpu 1000 --rbac-user alice
as_alice
flags+=(--cpu 10m)
fake_k8s_ctl stats --reset >/dev/null
TIMEFORMAT='%U %S %R'
export job_seconds=240
{ time job -n "$pods" --timing program hello; } 2>"$work/time"
[ "$code" -eq 0 ] && [ "$(grep -c '^rank' "$work/out")" -eq "$pods" ] || fail "code $code, $(wc -l <"$work/out") lines"
calls=$(fake_k8s_ctl stats | jq '[.calls[] | select(.user == "alice")] | (map(.count) | add)')
fake_k8s_ctl stats | jq -r '.calls[] | select(.user == "alice") | "  \(.verb) \(.resource): \(.count)"'
read -r user system real <"$work/time"
note "$pods pods: $calls calls by the user, $(bc -l <<<"scale=3; $calls/$pods") for each pod; the client's CPU time $user + $system s of $real s"
grep -E 'created|joined' "$work/err" | tail -n 3
[ "$calls" -le $((3 * pods)) ] || fail "more than 3 calls for each pod"
[ "$(bc -l <<<"$user + $system <= 2")" -eq 1 ] || fail "the client needs more than 2 s of CPU time"
nothing_left 60
