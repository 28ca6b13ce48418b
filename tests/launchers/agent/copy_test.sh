#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# copy_test.sh SINEW STATIC_RANK WORLD_PROGRAM: a copy that `sinew agent --copy-to` makes runs like the original.
# copy_test.sh --alone SINEW STATIC_RANK: it runs where nothing but it is (a root file system with the copy and one
# static program), and a file system that is too small is reported. Root only: else, or without namespaces, it is
# skipped (77). What it mounts is in a mount namespace of its own, which ends with it.
set -euo pipefail

fail() { echo "copy_test: $*"; exit 1; }

if [[ $1 == --alone && ${SINEW_COPY_TEST_INSIDE-} != yes ]]; then
    ((EUID == 0)) || { echo "copy_test: skipped, not root (mounts and chroot are needed)"; exit 77; }
    unshare --mount --pid --fork true 2>/dev/null || { echo "copy_test: skipped, namespaces cannot be made here"; exit 77; }
    SINEW_COPY_TEST_INSIDE=yes exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi

temp=$(mktemp -d)
if [[ $1 != --alone ]]; then
    trap 'rm -rf "$temp"' EXIT
    sinew=$1 rank=$2 world=$3
    copy=$temp/agent
    mkdir "$copy"

    said=$("$sinew" agent --copy-to "$copy")
    [[ $said == "copied sinew to $copy: "*" files, "*" MiB"* ]] || fail "said: $said"
    [[ $("$copy/bin/sinew" --version) == "$("$sinew" --version)" ]] || fail "another version"

    # Its libraries are the copy's, all of them, and its agents are of the copy.
    if loaded=$(LD_TRACE_LOADED_OBJECTS=1 "$copy/bin/sinew" run); then :; fi
    [[ $loaded == *" $copy/lib/libc.so.6 "* || $loaded == *"=> $copy/lib/libc"* ]] || fail "no libc of the copy: $loaded"
    ! grep -F '=>' <<<"$loaded" | grep -vF "=> $copy/lib/" || fail "libraries of the system (above)"

    # Words of any kind arrive, and variables of a loader do not.
    out=$(cd "$temp" && "$copy/bin/sinew" run -n 2 sh -c "printf '<%s>' \"\$@\"; echo" sh '' 'a b' "'*")
    [[ $out == $'<><a b><\'*>\n<><a b><\'*>' ]] || fail "arguments arrived as $out"
    out=$(env -u LD_LIBRARY_PATH "$copy/bin/sinew" run -n 2 "$rank" | sort)
    [[ $out == $'rank 0 of 2\nrank 1 of 2' ]] || fail "ranks printed: $out"
    # The agent is a process of the copy, or there would be no sinew to start it.
    out=$(PATH=$temp/nothing "$copy/bin/sinew" run -n 1 "$rank")
    [[ $out == 'rank 0 of 1' ]] || fail "without PATH: $out"
    "$copy/bin/sinew" run -n 2 "$world" desert 9 || fail "ranks of a World failed"
    if "$copy/bin/sinew" run -n 2 sh -c 'exit 7' 2>"$temp/errors"; then fail "exit code 0"; else code=$?; fi
    ((code == 7)) || fail "exit code $code (must be 7): $(cat "$temp/errors")"

    # Again, over itself, and from a copy: an old library goes, nothing else changes.
    before=$(cd "$copy" && find . -type f -exec sha256sum {} + | sort)
    echo old >"$copy/lib/libold.so.1"
    echo half >"$copy/lib/libc.so.6.part"
    "$sinew" agent --copy-to "$copy" >"$temp/again"
    [[ $(cd "$copy" && find . -type f -exec sha256sum {} + | sort) == "$before" ]] || fail "a second copy differs"
    "$copy/bin/sinew" agent --copy-to "$temp/second" >>"$temp/again"
    [[ $(cd "$temp/second" && find . -type f -exec sha256sum {} + | sort) == "$before" ]] || fail "the copy of a copy differs"
    # It may be moved, and be executed by a link.
    mv "$temp/second" "$temp/moved"
    ln -s "$temp/moved/bin/sinew" "$temp/link"
    "$temp/link" --version >/dev/null || fail "moved, it does not run"

    # Nothing but a copy is written over; nothing is written where nothing may be.
    mkdir "$temp/used"
    echo precious >"$temp/used/file"
    if "$sinew" agent --copy-to "$temp/used" 2>"$temp/errors"; then fail "wrote into a folder with files"; else code=$?; fi
    ((code == 2)) || fail "a folder with files: code $code"
    grep -q "holds file (must be empty" "$temp/errors" || fail "$(cat "$temp/errors")"
    [[ $(ls "$temp/used") == file ]] || fail "left files in a folder that it refused"
    if "$sinew" agent --copy-to /proc/nowhere 2>"$temp/errors"; then fail "wrote into /proc"; fi
    grep -q "/proc/nowhere cannot be made (No such file or directory)" "$temp/errors" || fail "$(cat "$temp/errors")"

    # As in a pod: any user, a folder of somebody else that all may write.
    if ((EUID == 0)); then
        mkdir -m 777 "$temp/shared"
        chmod 755 "$temp"
        mine=(setpriv --reuid 1000 --regid 1000 --clear-groups)
        if "${mine[@]}" test -x "$sinew"; then
            (umask 077 && "${mine[@]}" "$sinew" agent --copy-to "$temp/shared" >>"$temp/again")
            setpriv --reuid 1001 --regid 1001 --clear-groups "$temp/shared/bin/sinew" --version >/dev/null ||
                fail "another user cannot execute the copy"
            if "${mine[@]}" "$sinew" agent --copy-to "$temp/used" 2>"$temp/errors"; then fail "wrote as another user"; fi
        else
            echo "copy_test: other users cannot reach $sinew; the part with other users is left out"
        fi
    fi
    echo "copy_test: $said"
    exit 0
fi

# ---- alone ---------------------------------------------------------------------------------------------------------
sinew=$2 rank=$3
trap 'cd /; umount -R -l "$temp"; rmdir "$temp"' EXIT
mount -t tmpfs -o size=200m,mode=755 copy_test "$temp"
root=$temp/root
mkdir -p "$root"/{agent,proc,dev,tmp} "$temp/small"
chmod 1777 "$root/tmp"
"$sinew" agent --copy-to "$root/agent" >/dev/null
cp "$rank" "$root/rank"
mount -t proc proc "$root/proc"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 444 "$root/dev/urandom" c 1 9
mkdir -m 1777 "$root/dev/shm"

if chroot "$root" /bin/sh -c true 2>/dev/null; then fail "the root file system has a shell"; fi
out=$(chroot "$root" /agent/bin/sinew run -n 2 /rank | sort)
[[ $out == $'rank 0 of 2\nrank 1 of 2' ]] || fail "in a root file system of its own: $out"
out=$(chroot --userspec=1000:1000 "$root" /agent/bin/sinew run -n 2 --fake-nodes 2 /rank | sort)
[[ $out == $'rank 0 of 2\nrank 1 of 2' ]] || fail "as another user, on two nodes: $out"
left=$(find "$root/tmp" "$root/dev/shm" -mindepth 1)
[[ -z $left ]] || fail "left behind: $left"

# Process 1 of a container is asked to end before it can handle that: the request is kept, and it ends.
as_init=(unshare --pid --fork --kill-child=KILL)
code=0
# shellcheck disable=SC2016  # for the shell that is process 1
timeout -s KILL 20 env --block-signal=TERM "${as_init[@]}" sh -c 'kill -TERM $$ && exec "$@"' sh \
    "$root/agent/bin/sinew" run -n 1 sleep 60 || code=$?
((code == 143)) || fail "process 1 that was asked to end as it began: code $code (must be 143)"
mv "$root/agent/lib/ld.so" "$root/agent/lib/away"
printf '#!/bin/sh\nexec grep SigBlk /proc/self/status\n' >"$root/agent/lib/ld.so"
chmod 755 "$root/agent/lib/ld.so"
out=$("${as_init[@]}" "$root/agent/bin/sinew")
[[ $out == *4002 ]] || fail "process 1 starts the loader with blocked signals ${out#*:} (must have SIGINT and SIGTERM)"
out=$("$root/agent/bin/sinew")
[[ $out == *0000 ]] || fail "another process starts the loader with blocked signals ${out#*:}"
mv "$root/agent/lib/away" "$root/agent/lib/ld.so"

# A loader that is missing, and a file system that is too small, are named.
mv "$root/agent/lib/ld.so" "$root/agent/lib/away"
if out=$(chroot "$root" /agent/bin/sinew --version 2>&1); then fail "runs without a loader"; fi
[[ $out == "sinew: /agent/lib/ld.so cannot be executed (No such file or directory). Copy it again: sinew agent --copy-to /agent" ]] ||
    fail "without a loader: $out"
mount -t tmpfs -o size=1m copy_test "$temp/small"
if "$sinew" agent --copy-to "$temp/small" 2>"$temp/errors"; then fail "copied into 1 MiB"; fi
grep -qE "cannot be copied \(No space left on device\). The copy takes [0-9]+ MiB; [01] MiB is left in $temp/small: make room there" \
    "$temp/errors" || fail "too small: $(cat "$temp/errors")"
[[ -z $(find "$temp/small" -name '*.part') ]] || fail "left a part of a file"
echo "copy_test: it runs with nothing but its own files"
