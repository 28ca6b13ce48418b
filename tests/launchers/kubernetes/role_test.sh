#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# role_test.sh SOURCE SINEW: a user with exactly the rights of k8s/manifests/role.yaml runs jobs. Without one of them the message
# names it and where to get it, and nothing is left that the user may remove. Skipped (77) without root.
set -uo pipefail
test=role_test source=$1 sinew=$2
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$0")/support.sh"

cluster_start --nodes 2 --rbac-user alice
as_alice
# The administrator removes what the user may not.
remove_rest() {
    fake_k8s_ctl clear
    admin delete jobs,services,secrets -l app.kubernetes.io/managed-by=sinew --wait=false >/dev/null 2>&1
    nothing_left
}

job -n 4 --nnodes 2 program fail 1 6
[ "$code" -eq 6 ] || fail "with all rights: code $code"
nothing_left
note "with the Role alone"

# Each right that `sinew run` uses.
while read -r verb resource outcome; do
    for each in ${resource//,/ }; do fake_k8s_ctl drop-right alice --verb "$verb" --resource "$each"; done
    job -n 2 program hello
    where="without $verb $resource"
    case $outcome in
    fails)
        [ "$code" -eq 125 ] || fail "$where: code $code"
        resource_text=${resource/pods\/log/pods}
        verb_text=$verb
        [ "$resource" != pods/log ] || verb_text="read the log of"
        expect "$work/err" "forbidden: $verb_text $resource_text(\\.batch)? in namespace ml .*k8s/manifests/role.yaml" "$where"
        nothing_left
        ;;
    stays)    # the Job, and what the Job owns, until --ttl
        [ "$code" -eq 125 ] || fail "$where: code $code"
        expect "$work/err" "forbidden: $verb $resource(\\.batch)? in namespace ml .*k8s/manifests/role.yaml" "$where"
        [ "$(wc -l <"$work/out")" -eq 2 ] || fail "$where: the output"
        [ "$(admin get secrets,services -o json | jq '[.items[] | select(.metadata.labels."app.kubernetes.io/managed-by" == "sinew") |
            select(.metadata.ownerReferences[0].kind != "Job")] | length')" -eq 0 ] || fail "$where: objects without an owner"
        remove_rest
        ;;
    works)
        [ "$code" -eq 0 ] && [ "$(wc -l <"$work/out")" -eq 2 ] || fail "$where: code $code"
        nothing_left
        ;;
    notice)
        [ "$code" -eq 0 ] && [ "$(wc -l <"$work/out")" -eq 2 ] || fail "$where: code $code"
        expect "$work/err" "reasons may be missing: .*$verb $resource(\\.batch)? in namespace ml" "$where"
        nothing_left
        ;;
    esac
    fake_k8s_ctl clear
    note "$where: $outcome"
done <<'END'
create secrets fails
create services fails
create jobs fails
patch secrets fails
patch services fails
list pods fails
watch pods fails
list jobs fails
watch jobs fails
get pods/log fails
list events notice
get jobs,services works
delete secrets,services works
delete jobs stays
END
