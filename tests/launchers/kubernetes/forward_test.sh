#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# forward_test.sh SOURCE SINEW: sinew forward to a port of one rank, by a user with the rights of k8s/manifests: many connections at
# once, lost connections, and its ends. Skipped (77) without root, kubectl, jq or /usr/bin/python3.
set -uo pipefail
test=forward_test source=$1 sinew=$2
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$0")/support.sh"

cluster_start --nodes 2 --rbac-user alice
cp "$here/echo.py" "$work/bin/echo.py"
as_alice
[ -x /usr/bin/python3 ] || { echo "skipped: /usr/bin/python3, which pods can execute, is not installed"; exit 77; }
python=/usr/bin/python3

# What fails before anything is forwarded: refused CODE PATTERN ARGUMENTS...
refused() {
    local want=$1 pattern=$2
    shift 2
    code=0
    timeout 20 "$sinew" forward "$@" >"$work/refused" 2>"$work/refused.err" </dev/null || code=$?
    [ "$code" -eq "$want" ] && grep -Eq -- "$pattern" "$work/refused.err" || fail "forward $*: code $code, $(cat "$work/refused.err")"
    [ ! -s "$work/refused" ] || fail "forward $*: says that it forwards"
}
# forward ARGUMENTS...: in the background; sets sinew_pid and port, when it listens.
forward() {
    rm -f "$work/out" "$work/err"   # of the one before
    timeout -k 5 60 "$sinew" forward "$@" --json >"$work/out" 2>"$work/err" </dev/null &
    timeout_pid=$!
    eventually test -s "$work/out" || fail "forward $* does not listen"
    sinew_pid=$(pgrep -P "$timeout_pid" sinew)
    port=$(jq .port "$work/out")
    pod=$(jq -r .pod "$work/out")
}
kubectls() { pgrep -f "port-forward.* pod/$pod "; }
no_kubectl() { ! kubectls >/dev/null; }
ask() { timeout 30 "$python" "$here/echo.py" ask "$@" 2>"$work/asked"; }

job -d -n 3 --name serving "$python" "$work/bin/echo.py" serve 7070
[ "$code" -eq 0 ] || fail "-d: code $code"
refused 1 'no job absent runs on kubernetes' absent 7070
refused 2 'port 0 \(must be' serving 0
refused 2 'port 1:2:3 \(must be' serving 1:2:3
refused 2 'port 70000:80 \(must be' serving 70000:80
refused 2 'a job and a port are expected' serving
refused 2 '--rank -1 \(must be a rank' serving 7070 --rank=-1
refused 2 '--address example.org \(must be an IP address' serving 7070 --address example.org
served() { [ "$(timeout 10 "$sinew" logs serving --backend kubernetes 2>/dev/null | grep -c serves)" -eq 3 ]; }
eventually served || fail "the ranks do not serve"
refused 2 'rank 3 of job serving is out of range \(0 to 2\)' serving 7070 -r 3

# Twenty connections at once, 1 MiB each way; then the other ranks.
forward serv :7070 -r 1
ask "$port" 1 20 1048576 || fail "20 connections: $(cat "$work/asked")"
[ "$(jq -rc '[.job, .rank, .address, .remote_port]' "$work/out")" = '["serving",1,"127.0.0.1",7070]' ] || fail "--json: $(cat "$work/out")"
[ "$(jq -r '.pod' "$work/out" | sed 's/-[a-z0-9]*$//')" != serving ] || fail "--json: the pod"
ss -Htln "sport = :$port" | grep -Eq "^LISTEN +[0-9]+ +[0-9]+ +127\.0\.0\.1:$port " && [ "$(ss -Htln "sport = :$port" | wc -l)" -eq 1 ] ||
    fail "it listens elsewhere: $(ss -Htln "sport = :$port")"
! tr '\0' '\n' 2>/dev/null <"/proc/$(kubectls | head -n 1)/cmdline" | grep -qi token || fail "kubectl's arguments have a token"
note "20 connections"
# The port is taken now; a cut connection is followed by others.
refused 125 "port $port of 127.0.0.1 on this host is taken" serving "$port:7070"
fake_k8s_ctl cut-watches >/dev/null
again() { ask "$port" 1 1 1000; }
eventually again || fail "after cut connections: $(cat "$work/asked")"
kill -INT "$sinew_pid"
job_end
[ "$code" -eq 130 ] || fail "after Ctrl-C: code $code"
eventually no_kubectl || fail "after Ctrl-C: kubectl is left"
! again || fail "after Ctrl-C: the port is open"
note "cut connections, Ctrl-C"

# A port that nobody listens on yet is no end; that of another rank is another pod's.
forward serving :7071
ask "$port" 0 1 10 && fail "nobody listens, but somebody answers"
eventually grep -q 'nothing listens on port 7071 of the pod of rank 0, serving-0-.* (connection refused)' "$work/err" || fail "the refused connection"
admin exec "$pod" -- env SINEW_RANK=0 timeout 30 "$python" "$work/bin/echo.py" serve 7071 >"$work/served" 2>&1 &
server=$!
reached() { ask "$port" 0 1 100000; }
eventually reached || fail "a server that came later: $(cat "$work/asked")"
kill -9 "$sinew_pid"
job_end
eventually no_kubectl || fail "after kill -9: kubectl is left"
kill "$server"
wait "$server" 2>/dev/null
note "a server that comes later; kill -9"

# Rights: a WebSocket is opened by GET, and without that right by POST.
fake_k8s_ctl drop-right alice --verb get --resource pods/portforward
forward serving :7070 -r 2
ask "$port" 2 2 100000 || fail "by POST: $(cat "$work/asked")"
fake_k8s_ctl drop-right alice --verb create --resource pods/portforward
refused 125 'forbidden: create pods/portforward in namespace ml .*k8s/manifests/role.yaml' serving :7070
fake_k8s_ctl clear
fake_k8s_ctl drop-right alice --verb get --resource pods
refused 125 'forbidden: get pods in namespace ml .*k8s/manifests/role.yaml' serving :7070
fake_k8s_ctl clear
note "rights"

# The pod of that forward goes: an end, with its reason.
admin delete pod "$pod" --wait=false >/dev/null || fail "the pod cannot be deleted"
job_end
[ "$code" -eq 125 ] || fail "the pod has gone: code $code"
expect "$work/err" "the pod of rank 2, $pod, (has ended|was deleted)" "the pod has gone"
eventually no_kubectl || fail "the pod has gone: kubectl is left"
timeout 30 "$sinew" stop serving --now --backend kubernetes >/dev/null || fail "stop: code $?"
nothing_left
note "the pod goes"

# Jobs elsewhere are told how they are reached.
timeout 30 "$sinew" run -n 1 --name here sleep 25 >"$work/local" 2>&1 &
timeout_pid=$!
sinew_pid=
listed() { timeout 10 "$sinew" ps 2>/dev/null | grep -q '^here '; }
eventually listed || fail "sinew run on this host"
refused 2 'job here runs on this host, and nothing needs to be forwarded: connect to 127.0.0.1:7070' here 7070
timeout 10 "$sinew" stop here --now >/dev/null || fail "stop on this host"
job_end
note "a job on this host"
