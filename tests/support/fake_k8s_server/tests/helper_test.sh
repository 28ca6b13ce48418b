#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# The bash helper starts a server, sets KUBECONFIG, and leaves nothing: no process, no folder, no device.
set -u
here=$(dirname -- "$(readlink -f -- "$0")")
command -v kubectl >/dev/null || { echo "skipped: kubectl is not installed"; exit 77; }

links_before=$(ip -o link | wc -l)
said=$(
    . "$here/../../fake_k8s.sh"
    fake_k8s_start --nodes 3 --rbac-user alice
    echo "dir=$FAKE_K8S_DIR pid=$fake_k8s_pid nodes=$(kubectl get nodes -o name | wc -l)"
    kubectl create job endless --image=any -- sleep 1000 >/dev/null
    kubectl wait --for=jsonpath='{.status.ready}'=1 job/endless --timeout=10s >/dev/null || exit 5
    KUBECONFIG=$(fake_k8s_user alice) kubectl get pods 2>/dev/null && exit 6
    fake_k8s_ctl stats | grep -q '"user": "alice"' || exit 7
    fake_k8s_ctl fault 500 --verb list --resource pods --count 1 || exit 8
    kubectl get pods 2>&1 | grep -q injected || exit 9
    exit 3
)
code=$?
[ "$code" -eq 77 ] && { echo "$said"; exit 77; }
fail() { echo "FAILED: $1 ($said)"; exit 1; }
[ "$code" -eq 3 ] || fail "the script's exit code 3 became $code"
case $said in *nodes=3) ;; *) fail "kubectl saw other nodes" ;; esac
dir=${said#dir=}; dir=${dir%% *}
pid=${said#*pid=}; pid=${pid%% *}
[ ! -e "$dir" ] || fail "$dir is left"
! kill -0 "$pid" 2>/dev/null || fail "process $pid is left"
! grep -q "$dir" /proc/mounts || fail "a mount is left"
[ "$(ip -o link | wc -l)" -eq "$links_before" ] || fail "a network device is left"
