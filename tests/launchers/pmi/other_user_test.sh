#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A job that serves PMIx, and a process of another user on the same host that claims to be one of its
# ranks. libpmix believes, over TCP, which user a client says it is: only the name of the job's
# namespace keeps others out, so nobody else may find or guess it.
#
# usage: other_user_test.sh SINEW INTRUDER [program of Open MPI]     77: skipped, with the reason
set -u -o pipefail
victim=64123 attacker=64124   # nobody's

skip() {
    echo "skipped: $*" >&2
    exit 77
}
fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}
become() { exec setpriv --reuid="$1" --regid="$1" --clear-groups env -i PATH="$PATH" HOME="$work" TMPDIR=/tmp "${@:2}"; }
as() { (become "$@"); }
failures=0 job=

[[ $(id -u) == 0 ]] || skip "only root can run processes of two users"
command -v setpriv >/dev/null || skip "there is no setpriv (Debian: util-linux)"
work=$(mktemp -d /tmp/sinew-other-user.XXXXXX)
# shellcheck disable=SC2317  # by the trap
clean_up() {
    [[ -z $job ]] || { kill -TERM "$job" && wait "$job"; } 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT
chmod 755 "$work"
as $victim true 2>/dev/null || skip "users $victim and $attacker cannot be had here (a user namespace?)"
# The build tree may be closed to other users.
cp "$1" "$work/sinew"
cp "$2" "$work/intruder"
cp "$(readlink -f /bin/sh)" "$work/sh"
as $victim "$work/sinew" run -n 1 --mpi pmix true >"$work/out" 2>&1 || {
    cat "$work/out" >&2
    skip "no job can be served by PMIx here"
}

# start program...: a job of the victim's whose two ranks say "ready" and go on
start() {
    rm -f "$work/over"
    : >"$work/out"   # the job before said "ready", too
    become $victim "$work/sinew" run -n 2 --mpi pmix "$@" >"$work/out" 2>"$work/err" &
    job=$!
    local end=$((SECONDS + 30)) rank
    until [[ $(grep -cE 'ready|inside' "$work/out") == 2 ]]; do
        ((SECONDS < end)) || { cat "$work/err" >&2; fail "the job does not start"; exit 1; }
        sleep 0.1
    done
    # As root: the truth.
    rank=$(pgrep -u $victim -f "^$1 " | head -1)
    truth=$(tr '\0' '\n' <"/proc/$rank/environ" | sed -n 's/^PMIX_NAMESPACE=//p')
    uri=$(tr '\0' '\n' <"/proc/$rank/environ" | sed -n 's/^PMIX_SERVER_URI4=//p')
    [[ -n $truth && -n $uri ]] || { fail "a rank has no PMIX_NAMESPACE"; exit 1; }
}
waiter=("$work/sh" -c "echo ready; while [ ! -e '$work/over' ]; do sleep 0.1; done")
# end [any]: the job's exit code must be 0
end() {
    touch "$work/over"
    local code=0
    wait "$job" || code=$?
    job=
    [[ $code == 0 || -n ${1-} ]] || { cat "$work/err" >&2; fail "the job ended with code $code"; }
}
# look: what any user can read on this host, into $work/seen; the namespace must not be in it
look() {
    as $attacker sh -c 'find /dev/shm /run -mindepth 1 2>/dev/null; ls -A /tmp
        find /tmp -path "*sinew-[0-9]*" 2>/dev/null
        cat /proc/[0-9]*/cmdline /proc/[0-9]*/comm /proc/[0-9]*/environ /proc/net/unix 2>/dev/null |
            tr "\0" "\n"' >"$work/seen" 2>/dev/null
    ! grep -qF -- "${truth#sinew-}" "$work/seen" ||
        fail "the namespace $truth of a job of $1 can be read by every user"
}
# intrude how namespace more...: 0 when the intruder was let in
intrude() {
    as $attacker timeout --kill-after 5 20 "$work/intruder" "$1" "$uri" "$2" 0 $victim "${@:3}" \
        >>"$work/intruder.out" 2>&1
}

# The intruder is one: with the right name, and without the lie about its user.
start "${waiter[@]}"
if intrude client "$truth"; then
    echo "whoever knows the namespace is let in"
else
    echo "this libpmix lets nobody in who is of another user, even with the right namespace"
fi
end any   # one of its ranks, as it believes, has left without PMIx_Finalize

start "${waiter[@]}"
look sh
# All that it could be made of: each word of what is seen that looks like a job's.
mapfile -t words < <(grep -oE "sinew-$victim-[A-Za-z0-9]+" "$work/seen" | sed "s/^sinew-$victim-//" | sort -u)
((${#words[@]})) || echo "no folder of the job's is seen"
for word in "${words[@]}"; do
    for guess in "sinew-$word-0" "sinew-$word" "$word"; do
        ! intrude client "$guess" abort || fail "another user was let in as rank 0 of $guess"
    done
done
! intrude tool none abort || fail "another user was let in as a tool"
kill -0 "$job" 2>/dev/null || fail "the job was ended by another user"
end

# A real MPI library names its own files, too.
if [[ -x ${3-} ]]; then
    cp "$3" "$work/mpi"
    start "$work/mpi" after
    look "Open MPI"
    kill -TERM "$job"   # by itself it does not end
    end any
fi
((failures == 0)) || { cat "$work/intruder.out" >&2; exit 1; }
echo "all right"
