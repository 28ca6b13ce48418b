#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# scale_test.sh SOURCE SINEW [PODS [FLAG...]]: 200 pods, with these flags of sinew run: the calls of the API are few for each
# pod, the client's own work is small, and an agent reaches a root that is up by its first connection. Shows where the time went:
# the pods' own start is the fake cluster's, and what they do after it shares this machine, where 200 nodes would share it
# (libpmix, which a script may need, takes most of the start of ranks: see --mpi none). Skipped (77) without root.
set -uo pipefail
test=scale_test source=$1 sinew=$2 pods=${3:-200}
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$0")/support.sh"

# The log of the first pod, until it ends: it goes with the job.
follow_root() {
    local first
    until first=$(admin get pods -l batch.kubernetes.io/job-completion-index=0 -o name) && [ -n "$first" ] &&
        admin logs -f "$first" >"$work/root_log" 2>/dev/null; do
        kill -0 "$timeout_pid" 2>/dev/null || return
        sleep 0.2
    done
}

# table RUNS JOINED TIMES CLIENT_CPU CLIENT_END: text, from what the cluster and the root have written down, and the root's own times.
table() {
    jq -rn --slurpfile runs "$1" --slurpfile joined "$2" --argjson root "$3" --arg client "$4" --argjson client_end "$5" '
        def ms: . * 1000 | round | "\(.) ms";
        def spread: sort | "\(.[length / 2 | floor] | ms) (median), \(.[-1] | ms) (most)";
        ($runs[0].runs | map(select(.pod) + {node: (.pod | capture("-(?<n>[0-9]+)-[a-z0-9]+$").n | tonumber)})) as $runs_of |
        ($runs_of | map({key: "\(.node)", value: .}) | from_entries) as $run |
        ($joined | map({run: $run["\(.joined)"], began: (.began_ms / 1000), accepted: (.accepted_ms / 1000),
            at: (.joined_ms / 1000), dials, node: .joined})) as $agents |
        ($runs_of | map(.began) | max) as $last_run | ($agents | map(.at) | max) as $all |
        ($agents | map(select(.node != 0).at) | min) as $reachable |
        ($runs_of | map(.ended) | max) as $last_end | ($run["0"].ended) as $root_end |
        "  pods start: the last process ran \($last_run - ($runs_of | map(.began) | min) | ms) after the first",
        "  all joined: \($all - $last_run | ms) after that",
        "    from a process to its agent: \($agents | map(.began - .run.began) | spread)",
        "    from an agent to its hello: \($agents | map(.accepted - .began) | spread)",
        "    from a hello to its place: \($agents | map(.at - .accepted) | spread)",
        "  all ranks started: \($root.started / 1000 | ms) after that",
        "  all agents ended: \($root.cleaned / 1000 | ms) after the last rank",
        "  the last process ended: \($last_end - $root_end | ms) after the root",
        "  the client had the end, and all was removed: \($client_end - $last_end | ms) after that (kubelets, garbage collector)",
        "  CPU: \($run["0"].cpu - $run["0"].preparation | ms) root and its agent, " +
            "\($runs_of | map(select(.node != 0) | .cpu - .preparation) | add | ms) other agents and ranks, " +
            "\($runs_of | map(.preparation) | add | ms) making containers, " +
            "\($runs[0].server_cpu | ms) API server and kubelets, \($runs[0].runtime_cpu | ms) runtime, \($client | tonumber | ms) client",
        "  connections tried: \($agents | map(.dials) | add) (most of one agent: \($agents | map(.dials) | max))",
        "late \($agents | map(select(.run.began > $reachable)) | length) \($agents | map(select(.run.began > $reachable).dials) | max)"'
}

cluster_start --light --nodes 4 --cpu 1000 --rbac-user alice
as_alice
flags+=(--cpu 10m "${@:4}")
fake_k8s_ctl stats --reset >/dev/null
TIMEFORMAT='%U %S %R'
{ time { job_begin -n "$pods" --timing program hello && { follow_root & } && follower=$! && job_end; }; } 2>"$work/time"
client_end=$(date +%s.%N)
wait "$follower"
[ "$code" -eq 0 ] && [ "$(grep -c '^rank' "$work/out")" -eq "$pods" ] || fail "code $code, $(wc -l <"$work/out") lines"
fake_k8s_ctl stats >"$work/calls"
fake_k8s_ctl runs >"$work/runs"
calls=$(jq '[.calls[] | select(.user == "alice").count] | add' "$work/calls")
jq -r '.calls[] | select(.user == "alice") | "  \(.verb) \(.resource): \(.count)"' "$work/calls"
read -r user system real <"$work/time"
note "$pods pods: $calls calls by the user, $(bc -l <<<"scale=3; $calls/$pods") for each pod; the client's CPU time $user + $system s of $real s"
grep -E '^sinew: (created|ready)' "$work/err"
grep -o '^{"joined":.*}' "$work/root_log" >"$work/joined"
[ "$(jq -s 'map(.joined) | unique | length' "$work/joined")" -eq "$pods" ] || fail "the root's log has $(wc -l <"$work/joined") agents that joined"
# "ranks started 7129.1 ms (+2043.4), ranks ended ..., cleaned up 7505.5 ms (+374.7)"
after() { sed -nE "s/^sinew: ready.* $1 [0-9.]+ ms \(\+([0-9.]+)\).*/\1/p" "$work/err"; }
table "$work/runs" "$work/joined" "{\"started\": $(after 'ranks started'), \"cleaned\": $(after 'cleaned up')}" \
    "$(bc -l <<<"$user + $system")" "$client_end" >"$work/table" || fail "the times are not complete"
grep -v '^late' "$work/table"
read -r _ late dials < <(grep '^late' "$work/table")
note "$late pods ran after the root could be reached: at most $dials connections tried by one"
[ "$calls" -le $((40 + pods / 4)) ] || fail "$calls calls of the API by the user"
others=$(jq -r '[.calls[] | select(.user != "alice" and .user != "admin").user] | unique | join(" ")' "$work/calls")
[ -z "$others" ] || fail "calls of the API by others: $others"
[ "$late" -eq 0 ] || [ "$dials" -eq 1 ] || fail "an agent needed $dials connections to a root that could be reached"
[ "$(bc -l <<<"$user + $system <= 2")" -eq 1 ] || fail "the client needs more than 2 s of CPU time"
nothing_left
