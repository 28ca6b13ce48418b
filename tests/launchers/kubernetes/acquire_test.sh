#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# acquire_test.sh SOURCE SINEW POOL_PROGRAM [long]: a program in a pod acquires further pods, with the rights of
# k8s/manifests/pods-role.yaml and no others. Skipped (77) without root, python3, kubectl or jq.
set -euo pipefail
test=acquire_test source=$1 sinew=$2 pool_program=$3 kind=${4:-}
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$(readlink -f -- "$0")")/support.sh"
cluster_start --nodes 4 --gpus 0 --job-backoff 0.2 --rbac-user alice
cp "$pool_program" "$work/bin/pool_program"
kubectl apply -f "$source/k8s/manifests/pods-role.yaml" >/dev/null || fail "pods-role.yaml is refused"
as_alice
flags+=(--service-account sinew-pods -n 1)

# Pods of nodes that run: their owner is the pod that asked for them.
worker_pods() {
    admin get pods -o json | jq '[.items[] | select(.metadata.ownerReferences[0].kind == "Pod" and
        .metadata.deletionTimestamp == null and .status.phase == "Running")]'
}
said() { grep -Eq "$1" "$work/out"; }

# use MODE NODES CPUS PATTERN: of the output.
use() {
    job --name "it-$1" pool_program "$1" "$2" "$3"
    [ "$code" -eq 0 ] || fail "$1: exit code $code"
    expect "$work/out" "$4" "$1"
    nothing_left
    note "$1: $(grep -E "$4" "$work/out" | head -n 1)"
}

# map NAME: results are exact although a worker's pod is deleted every second.
map() {
    local deleted=0 pod
    job_begin --name "$1" pool_program map 3 1
    eventually said '^begins' || fail "$1: the program does not begin"
    while kill -0 "$timeout_pid" 2>/dev/null; do
        pod=$(worker_pods | jq -r '.[].metadata.name' | shuf -n 1)
        if [ -n "$pod" ] && admin delete pod "$pod" --now --wait=false >/dev/null; then
            deleted=$((deleted + 1))
            [ "$1" != storm ] || fake_k8s_ctl cut-watches --compact
        fi
        sleep 1
    done
    job_end
    [ "$code" -eq 0 ] || fail "$1: exit code $code"
    expect "$work/out" '^checksum 333328333350000$' "$1"
    [ "$deleted" -ge 5 ] || fail "only $deleted pods were deleted"
    nothing_left
    note "$1 of 100000 tasks while $deleted pods were deleted: exact; $(tail -n 1 "$work/out")"
}

if [ "$kind" = long ]; then
    # The API server fails every fifth request and cuts watches.
    fake_k8s_ctl fault 500 --user system:serviceaccount:ml:sinew-pods --probability 0.2
    map storm
    fake_k8s_ctl clear

    # Without a right, or without any, the message names what is missing.
    refused() {     # PATTERN WHAT
        [ "$code" -eq 9 ] || fail "$2: exit code $code"
        expect "$work/out" "$1" "$2"
        nothing_left
        note "$2: refused"
    }
    for right in "get pods" "list pods" "create pods" "create secrets"; do
        fake_k8s_ctl drop-right system:serviceaccount:ml:sinew-pods --verb "${right% *}" --resource "${right#* }"
        job --name denied pool_program start 1 1
        refused "forbidden: $right in namespace ml .*-f k8s/manifests/pods-role.yaml" "without the right to $right"
        fake_k8s_ctl clear
    done
    job --name nobody --service-account default pool_program start 1 1
    refused 'forbidden: get pods in namespace ml .*serviceaccount:ml:default' "with another account"

    # 64 workers as 4 pods with 16 and as 64 pods with one: the time, and what the program asks the API server.
    for shape in "4 16" "64 1"; do
        read -r nodes cpus <<<"$shape"
        for turn in 1 2 3; do
            fake_k8s_ctl stats --reset >/dev/null
            use start "$nodes" "$cpus" '^nodes have joined'
            calls=$(fake_k8s_ctl stats | jq -c '[.calls[] | select(.user | contains("sinew-pods")) | {key: "\(.verb) \(.resource)", value: .count}] |
                from_entries | . + {all: ([.[]] | add)}')
            note "$nodes pods with $cpus workers, turn $turn: $calls"
        done
        # A create and a delete for each pod, and a few for all.
        [ "$(jq .all <<<"$calls")" -le $((2 * nodes + 10)) ] || fail "too many calls: $calls"
    done
    exit 0
fi

map map
use manager 1 1 '^manager in nodes-'
use ring 2 2 '^ring of 4 members in 2 pods'
use never 2 1 '^error: .*Unschedulable: .* Insufficient nvidia.com/gpu'

# Work begins with the first pod, and the pool becomes larger and smaller.
fake_k8s_ctl delay nodes- 0 2
use resize 3 1 '^squares by [12] of 3 nodes'
fake_k8s_ctl clear
for workers in 3 1 2; do expect "$work/out" "^workers $workers" resize; done

# Workers are like the pod that asked: image, volume, variables; but without its token. They vanish with it.
admin apply -f "$source/examples/kubernetes/claim.yaml" >/dev/null
job --name mark --volume data sh -c 'echo from another job >/persistent/mark'
[ "$code" -eq 0 ] || fail "the volume cannot be written"
printf 'spec: {containers: [{name: sinew, env: [%s, %s]}]}\n' '{name: SINEW_TEST_VARIABLE, value: as given}' \
    "{name: PATH, value: \"$work/bin:/usr/bin:/bin\"}" >"$work/like.yaml"
job_begin --name same --pod-template "$work/like.yaml" --image other:1 --volume data pool_program same 2 1
eventually said '^waiting' || fail "the workers do not come"
[ "$(grep -Ec '^worker nodes-.* as given volume$' "$work/out")" -eq 2 ] || fail "the workers are not like the pod that asked"
worker_pods >"$work/workers"
[ "$(jq -r '.[].spec.containers[0].image' "$work/workers" | sort -u)" = other:1 ] || fail "the workers have another image"
[ "$(jq 'length' "$work/workers")" -eq 2 ] || fail "there are not 2 workers"
[ "$(jq '[.[].spec | select(.automountServiceAccountToken)] | length' "$work/workers")" -eq 0 ] || fail "workers have a token"
admin delete pod -l app.kubernetes.io/instance=same --wait=false >/dev/null
job_end
[ "$code" -ne 0 ] || fail "the job whose pod was deleted has ended with 0"
nothing_left
note "the workers are like the pod that asked for them, and vanish with it"

# The same when that pod has no time to say so.
job_begin --name killed --volume data pool_program same 2 1
eventually said '^waiting' || fail "the workers do not come"
fake_k8s_ctl kill "$(admin get pods -l app.kubernetes.io/instance=killed -o jsonpath='{.items[0].metadata.name}')"
job_end
[ "$code" -ne 0 ] || fail "the job whose pod was killed has ended with 0"
nothing_left
note "the workers vanish with a pod that was killed"
