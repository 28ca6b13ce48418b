#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# start_test.sh SOURCE SINEW: pods that cannot start: each reason is printed, sinew run gives up after --start-timeout with 125,
# and nothing is left; one that is solved in time lets the job go on. Skipped (77) without root.
set -uo pipefail
test=start_test source=$1 sinew=$2
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$0")/support.sh"

cluster_start --nodes 2 --gpus 2 --backoff 0.3 --job-backoff 0.3
gives_up() {    # WHAT PATTERN OF THE REASON
    [ "$code" -eq 125 ] || fail "$1: code $code"
    expect "$work/err" "^sinew: .*$2" "$1: the reason at once"
    expect "$work/err" "--start-timeout\).*$2" "$1: the reason at the end"
    [ ! -s "$work/out" ] || fail "$1: something on standard output"
    nothing_left
    note "$1"
}

fake_k8s_ctl pull-fail registry.example/absent
job -n 2 --start-timeout 3s --image registry.example/absent:1 program hello
fake_k8s_ctl clear
gives_up "an image that cannot be pulled" '(ErrImagePull|ImagePullBackOff): .*registry.example/absent:1'

job -n 2 --start-timeout 1s --gpu 99 program hello
gives_up "more GPUs than a node has" 'Unschedulable: .*Insufficient nvidia.com/gpu'

job -n 2 --start-timeout 1s --node-selector disk=none program hello
gives_up "a label that no node has" 'Unschedulable: .*'

job -n 2 --start-timeout 1s --volume absent program hello
gives_up "a claim that does not exist" 'persistentvolumeclaim "absent" not found'

kubectl create quota small --hard=pods=0 >/dev/null || fail "no quota"
job -n 2 --start-timeout 3s program hello
kubectl delete quota small >/dev/null
gives_up "a quota of pods" 'exceeded quota'

# One pod of two: the root runs, and says who is missing.
fake_k8s_ctl delay half-1 30 30
job -n 2 --name half --start-timeout 3s program hello
fake_k8s_ctl clear
[ "$code" -eq 125 ] || fail "one pod of two: code $code"
expect "$work/err" 'half-1' "one pod of two: its name"
nothing_left
note "one pod of two"

# The reason passes while sinew run waits.
fake_k8s_ctl unschedulable later
job_begin -n 2 --name later program hello
eventually grep -q Unschedulable "$work/err" || fail "no reason is shown"
fake_k8s_ctl clear
job_end
[ "$code" -eq 0 ] && [ "$(grep -c '^rank' "$work/out")" -eq 2 ] || fail "a reason that passes: code $code"
nothing_left
note "a reason that passes"

job_begin -n 1 --name once program forever
eventually grep -q runs "$work/out" || fail "the first does not run"
code=0
timeout 20 "$sinew" run "${flags[@]}" --name once -n 1 program hello >"$work/out2" 2>"$work/err2" || code=$?
[ "$code" -eq 125 ] && grep -q 'one of this name exists already' "$work/err2" || fail "a name that is taken: code $code, $(cat "$work/err2")"
[ "$(admin get secret once -o name)" = secret/once ] || fail "the other job's Secret has gone"
kill -INT "$sinew_pid"
job_end
[ "$code" -eq 130 ] || fail "the first of its name was harmed: code $code"
nothing_left
note "a name that is taken, again"
