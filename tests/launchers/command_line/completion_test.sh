#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# completion_test.sh SCRIPT: what the completion offers, without a terminal.
set -u

script=$(readlink -f "$1")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder" || exit 1
mkdir dir
touch hosts job.env
# shellcheck disable=SC1090
source "$script"

failures=0
# offers "typed line" words...: all of them must be among the offers; -word must not be.
offers() {
    COMP_LINE=$1 COMP_POINT=${#1}
    shift
    COMPREPLY=()
    _sinew
    local word got=" ${COMPREPLY[*]} "
    for word in "$@"; do
        if [[ $word == not:* ]]; then
            [[ $got != *" ${word#not:} "* ]] && continue
        elif [[ $got == *" $word "* ]]; then
            continue
        fi
        printf '%s: %s? offered: %s\n' "$COMP_LINE" "$word" "$got" >&2
        failures=$((failures + 1))
    done
}

offers "sinew " run ps logs attach stop scale events cp forward acquire serve registry info doctor help
offers "sinew logs --t" --tail --tag --timestamps not:--now
offers "sinew stop --n" --now --namespace not:--json
offers "sinew forward --" --rank --address --json --backend --namespace not:--follow
offers "sinew events --" --follow --warnings --kubeconfig not:--backend
offers "sinew scale --" --namespace not:--backend
offers "sinew cp --" --image --context not:--backend
offers "sinew cp ho" hosts
offers "sinew acquire --" --output-fd not:--backend
offers "sinew serve --" --new-key --backfill --state not:--tail
offers "sinew registry --" --expiry --list not:--state
offers "sinew ps --" --at --json
offers "sinew run --time-" --time-limit
# Jobs are those that sinew ps lists.
mkdir bin
printf '#!/bin/sh\necho NAME STATE\necho train-x7k2p running\necho eval running\n' >bin/sinew
chmod +x bin/sinew
PATH=$folder/bin:$PATH offers "sinew attach t" train-x7k2p not:eval not:NAME
PATH=$folder/bin:$PATH offers "sinew forward e" eval not:train-x7k2p
offers "sinew r" run not:info
offers "sinew help h" hosts not:run
offers "sinew run --h" --hostfile --host --help
offers "sinew run --tag" --tag-output not:--timeout
offers "sinew run --hostfile h" hosts not:job.env
offers "sinew run --hostfile=h" hosts
offers "sinew run --env-file j" job.env
offers "sinew run --wdir d" dir not:hosts
offers "sinew run --bind-to " core socket package none
offers "sinew run --bind-to=c" core
offers "sinew run --rank-order t" topology
offers "sinew run -n 4 --out" --output --output-filename
offers "sinew run --help ma" mapping
offers "sinew run -n 4 bas" bash
offers "sinew run -H node1:4,node2 ba" bash        # ':' and ',' are part of the word
offers "sinew run --mca btl self ba" bash
offers "sinew run -n 4 bash h" hosts not:--hostfile  # an argument of the program
offers "sinew run -n 4 bash --h" not:--hostfile
offers "sinew run -n 1 a : --t" --tag-output         # the flags of the next program
offers "sinew run -n 4 -- ba" bash
exit $((failures > 0))
