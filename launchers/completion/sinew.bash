# SPDX-License-Identifier: Apache-2.0
# Completion of the sinew command for bash: source it, or install it as
# share/bash-completion/completions/sinew. The flags are those of
# launchers/command_line/flags.cpp; a test compares.

_sinew_switches="
    --accelerate --dry-run --do-not-launch --timing -q --quiet -v -vv --verbose --allow-run-as-root
    --oversubscribe -oversubscribe --nooversubscribe --report-map --display-map
    --display-allocation --report-bindings -report-bindings --tag-output -tag-output -l
    -prepend-rank --dashboard --timestamp-output -timestamp-output --no-kill -disable-auto-cleanup
    --enable-recovery -h --help -V --version
    --network-policy -d --detach -a --attach --exclusive --native --keep
"
_sinew_with_value="
    --name --gpu --log-buffer -n -np -c --n --np -N -npernode --npernode -ppn --ppn --nnodes --nodes -x --x -genvlist
    --env-file --wdir -wdir --wd -wd --mpi --hostfile -hostfile --machinefile -machinefile
    -f -H --host -host -hosts --hosts --backend --launch-agent --fake-nodes --tree-fanout
    --root-address --map-by -map-by --rank-order --bind-to -bind-to --display
    --output-filename -output-filename --output --stdin -stdin --timeout -timeout --time-limit
    --start-timeout --grace --max-restarts
    --image --image-pull-policy --image-pull-secret --agent-image --namespace --context
    --kubeconfig --cpu --cpus --memory --shm --volume --service-account --node-selector
    --toleration --pod-template --label --annotation --gang --discovery --ttl
    --mount --network --user --gpus
    --at --key --registry --services --priority
    --partition --account --qos --time --gres --constraint --slurm-arg
"
_sinew_with_two="
    -env -genv --mca -mca --gmca --omca --pmixmca
"

# Words the flag may be followed by, or how to find them: in `COMPREPLY`.
_sinew_value() {
    local flag=$1 current=$2 words=
    case ${flag#-} in
        -hostfile | hostfile | -machinefile | machinefile | f | -env-file | -pod-template | -kubeconfig | -key | -services)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return ;;
        -mount)
            compopt -o filenames -o nospace 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return ;;
        -wdir | wdir | -wd | wd | -output-filename | output-filename)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -d -- "$current")
            return ;;
        x | -x) mapfile -t COMPREPLY < <(compgen -v -- "$current"); return ;;
        -map-by | map-by) words="slot node core socket" ;;
        -bind-to | bind-to) words="auto core socket package none" ;;
        -rank-order) words="topology index hostfile" ;;
        -mpi) words="auto pmix pmi1 none" ;;
        -backend) words="auto local ssh docker slurm kubernetes service" ;;
        -gang) words="none auto volcano coscheduling kueue:" ;;
        -discovery) words="vip dns api" ;;
        -network) words="bridge host" ;;
        -gpus) words="all" ;;
        -image-pull-policy) words="Always IfNotPresent Never" ;;
        -output) words="tag timestamp json plain dir=" ;;
        -display) words="map bind" ;;
        -stdin | stdin) words="0 all none" ;;
        h | -help) words="run hosts mapping output failures kubernetes docker slurm service environment examples" ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

# Where in `sinew run ...` the words before this one lead: "flag", the flag whose value is next
# ("value --timeout"), "program", or "argument" of a program.
_sinew_state() {
    local word state=flag skip=0 last=
    for word in "$@"; do
        if ((skip > 0)); then
            skip=$((skip - 1))
            ((skip > 0)) || state=flag
        elif [[ $word == : ]]; then
            state=flag
        elif [[ $state != flag ]]; then
            state=argument
        elif [[ $word == -- ]]; then
            state=program
        elif [[ $word == -* ]]; then
            last=$word
            if [[ " ${_sinew_with_value//$'\n'/ } " == *" $word "* ]]; then
                skip=1
            elif [[ " ${_sinew_with_two//$'\n'/ } " == *" $word "* ]]; then
                skip=2
            fi
            ((skip == 0)) || state="value $last"
        else
            state=argument
        fi
    done
    printf '%s\n' "$state"
}

# The names of the jobs that sinew ps lists.
_sinew_jobs() {
    timeout 2 sinew ps "$@" 2>/dev/null | { read -r; while read -r name _; do echo "$name"; done; }
}

# The flags of a verb, and the names of the jobs that it may be for.
_sinew_verb() {
    local command=$1 current=$2 cluster="--help --namespace --context --kubeconfig"
    local words="$cluster --backend --at --key --registry --services"
    case $command in
        ps) words+=" --json" ;;
        logs) words+=" --follow --ranks --tail --tag --no-tag --timestamps --json" ;;
        attach) words+=" --ranks --tail --tag --no-tag --timestamps --json" ;;
        stop) words+=" --now --grace --all" ;;
        scale) words=$cluster ;;
        events) words="$cluster --follow --warnings" ;;
        cp) words="$cluster --image" ;;
        forward) words+=" --rank --address --json" ;;
        acquire) words="--help --output-fd" ;;
        serve) words="--help --address --key --new-key --state --backfill --max-running --client-timeout --retention --dashboard --registry --name --alias --announce" ;;
        registry) words="--help --address --key --expiry --list" ;;
    esac
    if [[ $command == cp && $current != -* ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
    elif [[ $command == scale || $command == events || $command == forward ]]; then
        [[ $current == -* ]] || words=$(_sinew_jobs --backend kubernetes)
    elif [[ $command != ps && $command != acquire && $command != serve && $command != registry && $current != -* ]]; then
        words=$(_sinew_jobs)
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

_sinew() {
    COMPREPLY=()
    # Bash has cut the words at ':' and '=' (COMP_WORDBREAKS), which host:4 and --flag=value hold.
    local -a words
    local current=
    read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
    if [[ ${COMP_LINE:0:COMP_POINT} != *[[:space:]] ]]; then
        current=${words[-1]}
        unset 'words[-1]'
    fi
    local command=${words[1]-} state
    if ((${#words[@]} <= 1)); then
        mapfile -t COMPREPLY < <(compgen -W "run ps logs attach stop scale events cp forward acquire serve registry info doctor help" -- "$current")
        return
    fi
    case $command in
        help) _sinew_value --help "$current"; return ;;
        run) ;;
        ps | logs | attach | stop | scale | events | cp | forward | acquire | serve | registry) _sinew_verb "$command" "$current"; return ;;
        *) return ;;
    esac
    state=$(_sinew_state "${words[@]:2}")
    if [[ $state == flag && $current == -*=* ]]; then
        _sinew_value "${current%%=*}" "${current#*=}"
    elif [[ $state == flag && $current == -* ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "$_sinew_switches $_sinew_with_value $_sinew_with_two" -- "$current")
    elif [[ $state == value* ]]; then
        _sinew_value "${state#value }" "$current"
    elif [[ $state == argument ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    elif [[ ${words[-1]} == --help || ${words[-1]} == -h ]]; then
        _sinew_value --help "$current"
    else
        mapfile -t COMPREPLY < <(compgen -c -- "$current"; compgen -f -- "$current")
    fi
}

complete -F _sinew sinew
