#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kubernetes_test.sh SOURCE SINEW POOL_PI SGD_DIGITS: the scripts of examples/kubernetes do on a cluster what they say, for a
# user with the rights of k8s/manifests alone, and leave nothing there. The cluster is tests/support/fake_k8s_server, whose
# pods are processes in namespaces. Skipped (77) without root, python3 or kubectl.
set -euo pipefail
source=$1 sinew=$2 pool_pi=$3 sgd_digits=$4

skip() { echo "kubernetes_test: skipped, $1"; exit 77; }
((EUID == 0)) || skip "not root (the pods are namespaces)"
command -v python3 >/dev/null || skip "there is no python3 for the cluster"
command -v kubectl >/dev/null || skip "there is no kubectl to look at the cluster"

# /tmp is each pod's own, and pods run as another user: the programs are in a folder that both can see.
work=$(mktemp -d /var/tmp/sinew-examples-XXXXXX)
chmod 755 "$work"
cluster=""
finish() {
    if [[ -n $cluster ]]; then
        kill "$cluster" 2>/dev/null || true
        wait "$cluster" 2>/dev/null || true
    fi
    python3 "$source/tests/support/fake_k8s_server" cleanup --dir "$work/cluster" >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap finish EXIT
fail() {
    printf 'kubernetes_test: %s\n' "$1"
    tail -n 20 "$work/cluster.log"
    exit 1
}

mkdir "$work/bin"
cp "$sinew" "$work/bin/sinew"
cp "$pool_pi" "$work/bin/pool_pi"
cp "$sgd_digits" "$work/bin/sgd_digits"
printf '#!/bin/sh\necho "GPU 0: of a test"\n' >"$work/bin/nvidia-smi"
chmod 755 "$work"/bin/*
cat >"$work/template.yaml" <<EOF
spec:
  containers:
    - name: sinew
      env: [{name: PATH, value: "$work/bin:/usr/bin:/bin"}]
EOF

: >"$work/cluster.log"
python3 "$source/tests/support/fake_k8s_server" start --dir "$work/cluster" --nodes 4 --zones 2 --gpus 1 --namespace ml \
    --rbac-user alice --bind "$work/bin" >>"$work/cluster.log" 2>&1 &
cluster=$!
for ((i = 0; i < 200; ++i)); do
    grep '^ready ' "$work/cluster.log" >/dev/null && break
    kill -0 "$cluster" 2>/dev/null || skip "no cluster can be made here: $(tail -n 1 "$work/cluster.log")"
    sleep 0.1
done
admin() { kubectl --kubeconfig "$work/cluster/users/admin.conf" -n ml "$@"; }
admin apply -f "$source/k8s/manifests/role.yaml" -f "$source/k8s/manifests/role-binding.yaml" \
    -f "$source/examples/kubernetes/claim.yaml" >"$work/applied" || fail "the manifests are refused"

export SINEW=$sinew KUBECONFIG=$work/cluster/users/alice.conf
flags=(--namespace ml --cpu 100m --pod-template "$work/template.yaml")
example() {
    local script=$source/examples/kubernetes/$1.sh
    shift
    output=$(timeout 60 "$script" "$@" 2>"$work/errors") || fail "$script failed ($?): $output $(cat "$work/errors")"
}

example pi image "${flags[@]}"
[[ $output == *"pi is about 3.1"*"1000000 tasks done by 8 workers"* ]] || fail "pi: $output"
example gpu_check image "${flags[@]}"
[[ $output == "GPU 0: of a test" ]] || fail "gpu_check: $output"
"$sinew" run --backend kubernetes --image image -n 1 --gpu 1 --dry-run=yaml nvidia-smi | grep -E 'nvidia.com/gpu: "?1"?$' >/dev/null ||
    fail "gpu_check asks for no GPU"
example volume image data "${flags[@]}"
[[ $output == "the second job has read what the first has written: written by process "* ]] || fail "volume: $output"
example ring_sgd image "${flags[@]}"
accuracy=$(sed -nE 's/^\{.*"test_accuracy":([0-9.]+).*/\1/p' <<<"$output")
awk -v got="${accuracy:-0}" 'BEGIN { exit !(got > 0.95) }' || fail "ring_sgd: accuracy ${accuracy:-none}: $output"

for ((i = 0; i < 50; ++i)); do
    left=$(admin get jobs,pods,services,secrets -l app.kubernetes.io/managed-by=sinew -o name)
    [[ -n $left ]] || break
    sleep 0.2
done
[[ -z $left ]] || fail "left behind: $left"
echo "kubernetes_test: pi, gpu_check, volume, ring_sgd (accuracy $accuracy)"
