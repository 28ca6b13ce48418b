# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A real Slurm on the hosts of a network lab: munged, slurmctld and a slurmd for each host. The lab
# ends them with all that runs in it; stop_slurm does so before. Needs tests/launchers/hosts/support.sh.

PATH=$PATH:/usr/sbin
slurm_daemons=()

# Skips the test where Slurm is not installed.
need_slurm() {
    local needed
    for needed in munged slurmctld slurmd srun sbatch; do
        command -v $needed >/dev/null || { echo "no $needed: skipped"; exit 77; }
    done
}

# start_slurm HOSTS [line of slurm.conf]...: on h1 to hHOSTS, each with CPUS processors (default:
# those of this machine). Call it after `prepare`, on h1.
start_slurm() {
    local hosts=$1 host
    shift
    slurm=$work/slurm
    mkdir -p "$slurm/key" "$slurm/state"
    chmod 700 "$slurm/key"
    (umask 277 && head -c 1024 /dev/urandom >"$slurm/key/munge")
    munged --force --key-file="$slurm/key/munge" --seed-file="$slurm/key/seed" \
        --socket="$slurm/munge" --pid-file="$slurm/munged.pid" --log-file="$slurm/munged.log"
    export SLURM_CONF=$slurm/slurm.conf
    cat >"$SLURM_CONF" <<END
ClusterName=lab
SlurmctldHost=h1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool-%n
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmix
TmpFS=$slurm/tmp-%n
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=10
NodeName=h[1-$hosts] CPUs=${CPUS:-$(nproc)} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
$(printf '%s\n' "$@")
END
    echo CgroupPlugin=cgroup/v1 >"$slurm/cgroup.conf"   # of which it uses nothing
    slurmctld -D >"$slurm/slurmctld.log" 2>&1 &
    slurm_daemons+=($!)
    for ((host = 1; host <= hosts; host++)); do
        mkdir "$slurm/tmp-h$host"   # all hosts share /tmp
        "$lab" exec --name "$SINEW_LAB" "h$host" -- slurmd -D >"$slurm/slurmd-h$host.log" 2>&1 &
        slurm_daemons+=($!)
    done
    eventually slurm_is_idle ||
        { fail "Slurm does not come up: $(tail -n 5 "$slurm"/*.log)"; finish; }
}

slurm_is_idle() { [[ $(sinfo --noheader --format=%T 2>/dev/null) == idle ]]; }

# No job and no step runs, or waits.
slurm_has_nothing() { [[ -z $(squeue --noheader 2>&1)$(squeue --steps --noheader 2>&1) ]]; }

# Ends the daemons. What is left of them is a failure.
stop_slurm() {
    local pid
    for pid in "${slurm_daemons[@]}" "$(<"$slurm/munged.pid")"; do
        kill "$pid" 2>/dev/null || true
    done
    wait "${slurm_daemons[@]}" 2>/dev/null || true
    eventually no_daemon_runs || fail "daemons go on: $(daemons_of_slurm)"
}

daemons_of_slurm() {
    local pid
    for pid in $(processes_of); do
        case $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") in
            munged\ * | slurmctld\ * | *slurmd\ * | *slurmstepd*) echo "$pid" ;;
        esac
    done
}
no_daemon_runs() { [[ -z $(daemons_of_slurm) ]]; }
