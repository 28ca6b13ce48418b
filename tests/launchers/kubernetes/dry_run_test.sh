#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# dry_run_test.sh SOURCE SINEW: what `sinew run --dry-run=yaml` prints is taken by kubectl unchanged, and runs; kubectl removes
# it. Skipped (77) without root.
set -uo pipefail
test=dry_run_test source=$1 sinew=$2
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$0")/support.sh"

cluster_start --nodes 2
kubectl label namespace ml pod-security.kubernetes.io/enforce=restricted pod-security.kubernetes.io/warn=restricted >/dev/null || fail "no label"
job --name dry -n 4 --nnodes 2 --network-policy --dry-run=yaml program hello
[ "$code" -eq 0 ] && [ ! -s "$work/err" ] || fail "--dry-run=yaml: code $code"
cp "$work/out" "$work/dry.yaml"
no_objects || fail "a dry run has made something"
kubectl apply -f "$work/dry.yaml" >"$work/out" 2>"$work/err" || fail "kubectl apply: code $?"
[ "$(wc -l <"$work/out")" -eq 5 ] && [ ! -s "$work/err" ] || fail "kubectl apply: not five objects, or a warning"
kubectl wait --for=condition=complete job/dry --timeout=20s >/dev/null || fail "the job does not complete: $(kubectl get pods)"
kubectl logs -l batch.kubernetes.io/job-completion-index=0 --tail=-1 >"$work/out" 2>"$work/err" || fail "kubectl logs: code $?"
for rank in 0 1 2 3; do
    jq -R 'fromjson? | select(.stream == "stdout") | .text' "$work/out" | grep -q "\"rank $rank of 4 on dry-[01]\"" || fail "kubectl logs: not the output of rank $rank"
done
jq -r '.exit_code' <<<"$(kubectl get pods -l batch.kubernetes.io/job-completion-index=0 -o jsonpath='{.items[0].status.containerStatuses[0].state.terminated.message}')" |
    grep -qx 0 || fail "the termination message"
code=0
timeout 20 "$sinew" logs dry --backend kubernetes >"$work/out" 2>"$work/err" || code=$?
[ "$code" -eq 0 ] && [ "$(grep -c '^rank [0-3] of 4' "$work/out")" -eq 4 ] || fail "sinew logs: code $code"
kubectl delete -f "$work/dry.yaml" --wait=false >/dev/null || fail "kubectl delete: code $?"
nothing_left
note "kubectl apply, logs and delete, in a namespace that enforces the level restricted"
