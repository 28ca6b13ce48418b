# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# To be sourced by the tests of jobs on the fake cluster, after `test`, `source` and `sinew` are set:
#
#   cluster_start --nodes 4 ...     a cluster with the namespace ml; $work/bin is in the PATH of its pods
#   job -n 8 --nnodes 4 PROGRAM     `sinew run` there, within 4 minutes: sets code, and writes $work/out and $work/err
#   nothing_left                    fails unless all that jobs create is gone
#   note TEXT                       says what has passed, and when
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/fake_k8s.sh
. "$here/../../support/fake_k8s.sh"
# shellcheck source=tests/support/wait.sh
. "$here/../../support/wait.sh"

for tool in kubectl jq; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
unset "${!SINEW_@}" || true

note() { printf '%s: %5.1f s: %s\n' "$test" "$(awk "BEGIN { print $(date +%s.%N) - $began }")" "$1"; }
began=$(date +%s.%N)

fail() {
    printf '%s: FAILED: %s\n' "$test" "$1"
    for file in out err; do
        [ ! -s "$work/$file" ] || { echo "--- standard $file (the last 20 lines):"; tail -n 20 "$work/$file" | cut -c 1-400; }
    done
    exit 1
}

# expect FILE PATTERN WHAT: the file has a line that matches.
expect() { grep -Eq -- "$2" "$1" || fail "$3: no line matches $2"; }

cluster_finish() {
    local code=$?
    [ -z "${sinew_pid:-}" ] || { kill -9 "$sinew_pid"; wait "$timeout_pid"; } 2>/dev/null || true
    [ -z "${cutter:-}" ] || kill "$cutter" 2>/dev/null || true
    rm -rf -- "$work"
    (exit "$code")
    fake_k8s_stop
}

cluster_start() {
    # /tmp is each pod's own, and pods run as another user: the programs are in a folder that both can see.
    work=$(mktemp -d /var/tmp/sinew-kubernetes-XXXXXX)
    trap 'rm -rf -- "$work"' EXIT
    chmod 755 "$work"
    mkdir "$work/bin"
    cp "$sinew" "$work/bin/sinew"
    cp "$here/program.sh" "$work/bin/program"
    chmod 755 "$work/bin/program"
    printf 'spec: {containers: [{name: sinew, env: [{name: PATH, value: "%s/bin:/usr/bin:/bin"}]}]}\n' "$work" >"$work/template.yaml"
    fake_k8s_start --namespace ml --bind "$work/bin" "$@"
    trap cluster_finish EXIT
    flags=(--backend kubernetes --image image --cpu 100m --grace 2s --pod-template "$work/template.yaml")
}

# The kubeconfig of a user who has exactly the rights of k8s/manifests.
as_alice() {
    kubectl apply -f "$source/k8s/manifests/role.yaml" -f "$source/k8s/manifests/role-binding.yaml" >/dev/null ||
        fail "the manifests are refused"
    KUBECONFIG=$(fake_k8s_user alice)
}

admin() { kubectl --kubeconfig "$(fake_k8s_user admin)" -n ml "$@"; }

job() {
    code=0
    timeout -k 5 240 "$sinew" run "${flags[@]}" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
}

# The same in the background: sets sinew_pid, which job_end waits for.
job_begin() {
    timeout -k 5 240 "$sinew" run "${flags[@]}" "$@" >"$work/out" 2>"$work/err" </dev/null &
    timeout_pid=$!
    until sinew_pid=$(pgrep -P "$timeout_pid" sinew); do kill -0 "$timeout_pid" 2>/dev/null || break; sleep 0.01; done
}
job_end() {
    code=0
    wait "$timeout_pid" 2>/dev/null || code=$?
    sinew_pid=""
}

objects() { admin get jobs,pods,services,secrets,networkpolicies -l app.kubernetes.io/managed-by=sinew -o name; }
no_objects() { [ -z "$(objects)" ]; }
# Processes of the pods: they run what is in our folder.
processes() {
    local exe
    for exe in /proc/[0-9]*/exe; do
        case $(readlink "$exe" 2>/dev/null) in "$work"/bin/*) echo "${exe//[^0-9]/}" ;; esac
    done
}
# Those of the cluster itself have one, which is there before the first job.
no_processes() { [ -z "$(processes)" ]; }
nothing_left() {
    eventually no_objects || fail "left behind: $(objects | tr '\n' ' ')"
    eventually no_processes || fail "processes are left: $(ps -o pid,args -p "$(processes | paste -sd,)")"
    local left
    left=$(ps -eo args | grep -F "$work/bin/" | grep -Fv -e 'grep -F' -e fake_k8s_server || true)
    [ -z "$left" ] || fail "processes are left: $left"
}
