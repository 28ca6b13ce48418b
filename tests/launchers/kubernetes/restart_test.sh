#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# restart_test.sh SOURCE SINEW SGD_DIGITS [long]: jobs lose their pods in the ways in which clusters take them, and begin
# again, or end with the cause. Skipped (77) without root, python3, kubectl or jq.
set -euo pipefail
test=restart_test source=$1 sinew=$2 sgd_digits=$3 kind=${4:-}
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$(readlink -f -- "$0")")/support.sh"
cluster_start --nodes 4 --gpus 0 --job-backoff 0.2 --node-grace 0.1
install -m 755 "$here/restarts.sh" "$work/bin/restarts"

# Of the pods of index $2 of job $1 the one that is not about to go.
pod_of() {
    kubectl get pods -l "app.kubernetes.io/instance=$1,batch.kubernetes.io/job-completion-index=$2" -o json |
        jq -r '[.items[] | select(.metadata.deletionTimestamp == null and .status.phase == "Running")][0].metadata.name // empty'
}
# ranks COUNT RESTART: so many ranks have said that they run after this restart.
ranks() { [ "$(grep -c "of $1, restart $2\$" "$work/out")" -eq "$1" ]; }
started() { eventually ranks "$1" "$2" || fail "the ranks do not run (restart $2)"; }
deleted() { [ -n "$(kubectl get pod "$1" -o jsonpath='{.metadata.deletionTimestamp}')" ]; }
ends_with() { [ "$code" -eq "$1" ] || fail "$2: exit code $code (must be $1)"; }

# The pod of index $2 of job $1, taken in the way $3. A node that is down keeps its pods until it is back.
take_pod() {
    local pod node
    pod=$(pod_of "$1" "$2")
    [ -n "$pod" ] || fail "$1 has no pod of index $2"
    case $3 in
        delete) kubectl delete pod "$pod" --wait=false >/dev/null ;;
        node-down)
            node=$(kubectl get pod "$pod" -o jsonpath='{.spec.nodeName}')
            fake_k8s_ctl node-down "$node" --evict-after 0.2
            eventually grep -q "lost: " "$work/err" || fail "nobody has noticed that $node is down"
            eventually deleted "$pod" || fail "the cluster has not given up $pod"
            fake_k8s_ctl node-up "$node"
            ;;
        *) fake_k8s_ctl "$3" "$pod" ;;
    esac
}

# A pod of index INDEX is taken, HOW, and the client says CAUSE: the job begins again.
survives() {
    local how=$1 index=$2 name=$1-$2
    job_begin --name "$name" -n 4 --max-restarts 2 restarts 1
    started 4 0
    take_pod "$name" "$index" "$how"
    job_end
    ends_with 0 "$how of index $index"
    ranks 4 1 || fail "$how of index $index: not all ranks have run again"
    expect "$work/err" "$3" "$how of index $index"
    ! grep -q "[1-9] of 2 of the budget" "$work/err" || fail "$how of index $index: it counts"
    nothing_left
    note "$how of the pod of index $index: the job has begun again"
}

# A job of two ranks that are killed for memory in the pod of index INDEX.
is_killed() {
    job_begin --name "oom-$1" -n 2 restarts 1
    started 2 0
    take_pod "oom-$1" "$1" oom
    job_end
    [ "$code" -ne 0 ] || fail "OOMKilled: exit code 0"
    expect "$work/err" "oom-$1-$1: OOMKilled \\(container sinew, exit code 137\\)" "OOMKilled"
    nothing_left
    note "OOMKilled in the pod of index $1: named"
}

if [ "$kind" = long ]; then
    survives preempt 3 'preempt-3-3: PreemptionByScheduler'
    survives preempt 0 'preempt-0-0: PreemptionByScheduler'
    survives pressure 0 'pressure-0-0: TerminationByKubelet: The node was low on resource: memory'
    survives node-down 3 'node-down-3-3: lost: '
    is_killed 0
    exit 0
fi
survives delete 2 'delete-2-2: lost: its agent was asked to end \(SIGTERM\)'
survives delete 0 'this root ends, and the agents wait for another'
survives evict 1 'evict-1-1: EvictionByEvictionAPI'
survives node-down 2 'node-down-2-2: lost: '

# Disruptions do not use up the budget.
job_begin --name thrice -n 4 --max-restarts 1 restarts 3
for step in "0 2 delete" "1 1 evict" "2 3 preempt"; do
    read -r restart index how <<<"$step"
    started 4 "$restart"
    take_pod thrice "$index" "$how"
done
job_end
ends_with 0 "three disruptions"
note "three disruptions with --max-restarts 1: finished"

# Failures of a rank do.
job --name scarce -n 4 --nnodes 2 --max-restarts 1 restarts 2 1 7
ends_with 7 "two failures, --max-restarts 1"
expect "$work/err" 'rank 1 on scarce-0 \(pid [0-9]+\): exited with code 7' "the cause"
expect "$work/out" '^rank 1 of 4, restart 1$' "the restart"
nothing_left
note "failures of a rank use up --max-restarts"

# Without --max-restarts the loss of a pod ends the job.
job_begin --name once-2 -n 4 restarts 1
started 4 0
take_pod once-2 2 delete
job_end
ends_with 125 "a pod that was deleted"
expect "$work/err" 'once-2-2: lost: its agent was asked to end \(SIGTERM\)' "the cause"
job_begin --name once-0 -n 4 restarts 1
started 4 0
take_pod once-0 0 delete
job_end
ends_with 143 "the first pod was deleted"
expect "$work/err" 'once-0-0: told to end by signal 15' "the cause"
nothing_left
note "without --max-restarts: the cause is named, and the exit code is not 0"
is_killed 1

# A detached job leaves its end in the termination message.
job --name told -d -n 2 program fail 1 3
ends_with 0 "a detached job"
message() {
    kubectl get pods -l app.kubernetes.io/instance=told,batch.kubernetes.io/job-completion-index=0 \
        -o jsonpath='{.items[0].status.containerStatuses[0].state.terminated.message}' >"$work/out"
    [ -s "$work/out" ]
}
eventually message || fail "there is no termination message"
expect "$work/out" '^\{"exit_code":3,"cause":"rank 1 on told-1 \(pid [0-9]+\): exited with code 3' "the message"
"$sinew" stop told --backend kubernetes >/dev/null 2>&1
nothing_left
note "the exit code and the cause are in the termination message"

# Fewer pods, and more again.
job_begin --name wide -n 4 -N 1 --max-restarts 1 restarts 2
started 4 0
"$sinew" scale wide 2 >/dev/null
started 2 1
"$sinew" scale wide 4 >/dev/null
job_end
ends_with 0 "scale"
ranks 4 2 || fail "not all ranks have run on 4 pods again"
! grep -q "[1-9] of 1 of the budget" "$work/err" || fail "scale counts"
nothing_left
note "scale to 2 and to 4: the job has gone on"

# A member of a ring, where the examples have been built.
if [ -x "$sgd_digits" ]; then
    cp "$sgd_digits" "$work/bin/sgd_digits"
    job_begin --name ring -n 3 --max-restarts 1 sgd_digits --algorithm ring --epochs 12
    eventually grep -q '^epoch  2/12' "$work/out" || fail "the training does not begin"
    take_pod ring 1 delete
    job_end
    ends_with 0 "a ring that lost a member"
    expect "$work/err" 'ring-1: lost: its agent was asked to end \(SIGTERM\)' "a ring that lost a member"
    [ "$(grep -c '^steps .* allreduce ring' "$work/out")" -eq 2 ] || fail "the training has not begun twice"
    expect "$work/out" '^epoch 12/12 .* test accuracy 9[5-9]' "the accuracy"
    expect "$work/out" '^weights 0x[0-9a-f]+ on every rank' "the weights"
    nothing_left
    note "a member of a ring was deleted: the training has finished, $(grep -o 'accuracy .*' "$work/out" | tail -n 1)"
fi
