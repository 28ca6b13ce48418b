#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# security_test.sh SOURCE SINEW: while a job runs, a foreign pod sends its root bytes that mean nothing, says nothing, and repeats
# what the job's agents have sent; another one has a wrong key. They are refused, and the job is unharmed. The key is in no
# argument, variable, log or object but the Secret. Skipped (77) without root.
set -uo pipefail
test=security_test source=$1 sinew=$2
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$0")/support.sh"

cluster_start --nodes 2
cp "$here/tap.py" "$work/bin/tap.py"
mkdir -m 777 "$work/bin/tap"
pod() {    # NAME, and its spec on standard input
    kubectl apply -f - >/dev/null <<<"apiVersion: v1
kind: Pod
metadata: {name: $1}
spec: $(cat)" || fail "no pod $1"
}
pod tap <<<"{restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: tap, image: i, command: [/usr/bin/env, python3, $work/bin/tap.py, $work/bin/tap/target, $work/bin/tap/state],
    env: [{name: PATH, value: \"$PATH\"}]}]}"
state() { grep -q "$1" "$work/bin/tap/state" 2>/dev/null; }
eventually state listens || fail "the tap does not listen: $(kubectl logs tap)"
tap=$(kubectl get pod tap -o jsonpath='{.status.podIP}')
sed -i "s|env: \[|env: [{name: SINEW_ROOT, value: \"$tap:7077\"}, |" "$work/template.yaml"

job_begin --name victim -n 4 program until "$work/bin/tap/stop"
eventually admin get service victim >/dev/null 2>&1 || fail "no Service"
echo "$(admin get service victim -o jsonpath='{.spec.clusterIP}'):7077" >"$work/bin/tap/target"
ticks() { [ "$(grep -c 'tick 0$' "$work/out")" -eq 4 ]; }
eventually ticks || fail "the ranks do not run"
echo "$(cat "$work/bin/tap/target") attack" >"$work/bin/tap/target"

# The job's own key, wrong in one digit.
config=$(admin get secret victim -o jsonpath='{.data.config}' | base64 -d)
(umask 077; jq -r .secret <<<"$config" >"$work/key")
jq -c '.secret |= (.[0:63] + (if .[63:] == "0" then "1" else "0" end)) | .root_patience_ms = 3000' <<<"$config" >"$work/wrong"
kubectl create secret generic wrong --from-file=config="$work/wrong" >/dev/null || fail "no Secret"
pod wrong <<<"{restartPolicy: Never, terminationGracePeriodSeconds: 0, volumes: [{name: job, secret: {secretName: wrong, defaultMode: 292}}],
    containers: [{name: c, image: i, command: [$work/bin/sinew, agent, --config, /run/sinew/job/config], volumeMounts: [{name: job, mountPath: /run/sinew/job}],
    env: [{name: JOB_COMPLETION_INDEX, value: '1'}, {name: SINEW_POD_NAME, value: victim-1-wrong}, {name: SINEW_ROOT, value: '$(cut -d ' ' -f 1 "$work/bin/tap/target")'}]}]}"

# While it runs: who has the key?
keyless() { ! grep -qFf "$work/key" "$@" 2>/dev/null; }
for file in /proc/[0-9]*/cmdline /proc/[0-9]*/environ; do keyless "$file" || fail "the key is in $file: $(tr '\0' ' ' <"$file" | cut -c 1-200)"; done
admin get jobs,pods,services,events,configmaps -o yaml >"$work/objects"
keyless "$work/objects" || fail "the key is in an object that is no Secret"
admin get secret victim -o yaml >"$work/secret"
grep -q "$(base64 -w 0 <<<"$config" | cut -c 1-40)" "$work/secret" || fail "the Secret does not have the key, so that nothing above was looked for"
first=$(admin get pods -l app.kubernetes.io/instance=victim,batch.kubernetes.io/job-completion-index=0 -o name)
[ "$(kubectl exec "${first#pod/}" -- /usr/bin/stat -L -c '%u %a' /run/sinew/job/config)" = "0 444" ] || fail "the mode of the key's file"
kubectl exec "${first#pod/}" -- /bin/sh -c 'echo x >/run/sinew/job/config' 2>/dev/null && fail "the key's file can be written"
# Ranks get neither the key nor where it is.
for pid in $(pgrep -f "$work/bin/program until"); do
    has=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep '^SINEW_ROOT=')
    [ -z "$has" ] || fail "a rank knows the root's address: $has; $(tr '\0' ' ' <"/proc/$pid/cmdline"): $(ps -o pid,ppid,args -p "$pid")"
done

eventually state "done" || fail "the attacks do not end: $(cat "$work/bin/tap/state")"
said=$(cat "$work/bin/tap/state")
[[ $said =~ ^done:\ ([0-9]+)\ recorded,\ ([0-9]+)\ of\ ([0-9]+)\ ended$ ]] || fail "the tap says $said"
[ "${BASH_REMATCH[1]}" -ge 3 ] || fail "the agents' hellos were not recorded: $said"
[ "${BASH_REMATCH[2]}" -eq "${BASH_REMATCH[3]}" ] || fail "the root keeps connections of strangers: $said"
touch "$work/bin/tap/stop"
job_end
[ "$code" -eq 7 ] || fail "the attacked job's code, 7, became $code"
for rank in 0 1 2 3; do
    last=$(sed -n "s/^rank $rank ends after //p" "$work/out")
    [ -n "$last" ] && cmp <(grep "^rank $rank tick" "$work/out") <(seq -f "rank $rank tick %.0f" 0 $((last - 1))) || fail "the attacked job's rank $rank"
done
over() { [ "$(kubectl get pod wrong -o jsonpath='{.status.phase}')" = Failed ]; }
eventually over || fail "the pod with a wrong key has not failed: $(kubectl logs wrong)"
kubectl logs wrong >"$work/wrong.log" 2>&1
for file in "$work/out" "$work/err" "$work/wrong.log"; do keyless "$file" || fail "the key is in the output"; done
note "$said; a wrong key: $(head -n 1 "$work/wrong.log" | cut -c 1-150)"
kubectl delete pod tap wrong --wait=true >/dev/null
kubectl delete secret wrong >/dev/null
nothing_left
