#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ssh_failures_test.sh SINEW PROBE...: hosts that ssh does not reach, each with its reason and
# remedy.
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/support.sh"
# shellcheck source=tests/launchers/hosts/sshd.sh
. "$here/sshd.sh"
on_a_lab 4 "$0" "$@"
prepare "$1"
mkdir -p only_here
start_sshds
PATH=$keys/bin:$PATH

# refused what words...: of `sinew run` on h2, which is well, and that one, which is not.
refused() {
    run -H "h2:2,$1" sleep "$nap"
    expect "$1" 125 "[$1] " "the agent for $1 (ssh to $1)" "${@:2}"
    ! says out anything && leaves_nothing "$1"
}

# As with any host, also by a template.
refused_by_template() {
    run --launch-agent "'$ssh' -o BatchMode=yes -F '$keys/config' {host}" -H h2,denied true
    expect "denied, by a template" 125 "the agent for denied (launch-agent to denied)" "ssh-copy-id"
    leaves_nothing "denied, by a template"
}

# h4 has a sinew neither where it is here nor in PATH.
not_installed() {
    run -H h2,h4 true
    expect "no sinew on h4" 125 "[h4] " "ended with code 127" "Install sinew on that host"
    leaves_nothing "no sinew on h4"
}

# Of hosts at once that do not answer, one ends the job.
link_is_cut() {
    start -H h2:2,h3:1 sleep "$nap"
    eventually there_are 3 || fail "ranks do not start: $(<err)"
    "$lab" cut h2
    wait_for_run
    expect "h2 cut off" 125 "h2: lost" "no sign of life"
    eventually there_are 0 || fail "ranks remain: $(sleepers)"
    [[ -z $(agents_of h2) ]] || fail "agents remain on h2: $(agents_of h2)"
    "$lab" mend h2   # now its sshd learns that the other side is gone
    leaves_nothing "h2 cut off"
}

refused denied "Permission denied" "ssh-copy-id"
refused stranger "Host key verification failed" "known_hosts"
refused nowhere "Could not resolve hostname nowhere" "The name does not resolve"
refused 10.77.0.1 "Connection refused" "No sshd listens there"
refused_by_template
not_installed
link_is_cut
finish
