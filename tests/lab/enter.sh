#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# enter.sh STATE HOST COMMAND...: the last step onto a lab host, in its network namespace, in a mount
# and a UTS namespace of our own. Gives it its name, the lab's names, a /dev/shm and a TMPDIR.
set -eu
state=$1 host=$2
shift 2

hostname "$host"
mount --bind "$state/hosts_file" /etc/hosts
case $state in
    /dev/shm/*)
        # The lab itself stays visible there: from one host we start programs on another.
        mkdir -p "$state/$host/shm/${state##*/}"
        mount --bind "$state" "$state/$host/shm/${state##*/}"
        mount --rbind "$state/$host/shm" /dev/shm
        ;;
esac
SINEW_LAB=$(cat "$state/name")
SINEW_LAB_HOST=$host
TMPDIR=$state/$host/tmp
export SINEW_LAB SINEW_LAB_HOST TMPDIR
exec "$@"
