#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# images_test.sh SOURCE: what can be known of k8s/Dockerfile* without building them: each file that is copied exists and
# is sent to the builder, each package exists in this Debian, each stage that is used is there, and pods may run the result
# (a user by number, not root). Skipped (77), once the rest has been checked, where this is no Debian 12 with package lists.
set -euo pipefail
cd "$1"
bad=0
complain() { echo "$1: $2"; bad=1; }

# instructions FILE: one on each line, without comments, continued lines joined.
instructions() { grep -v '^ *#' "$1" | sed -E ':a; /\\$/ { N; s/\\\n/ /; ta }' | tr -s ' ' | sed '/^ *$/d'; }

packages=() copies=0
for file in k8s/Dockerfile k8s/Dockerfile.cuda; do
    stages="" user="" arguments=""
    while read -r word rest; do
        case $word in
            FROM)
                [[ $rest =~ \ AS\ ([a-z-]+)$ ]] && stages+=" ${BASH_REMATCH[1]} "
                image=${rest%% *}
                if [[ $image =~ ^\$\{([A-Z_]+)\}$ ]]; then
                    [[ $arguments == *" ${BASH_REMATCH[1]} "* ]] || complain "$file" "FROM $image has no ARG with a default"
                elif [[ $image != *:* ]]; then complain "$file" "FROM $image has no version"
                fi
                user="" ;;
            ARG) [[ $rest == *=* ]] && arguments+=" ${rest%%=*} " ;;
            USER) user=$rest ;;
            COPY)
                read -ra words <<<"$rest"
                if [[ ${words[0]} == --from=* ]]; then
                    [[ $stages == *" ${words[0]#--from=} "* ]] || complain "$file" "there is no stage ${words[0]#--from=}"
                    continue
                fi
                for source in "${words[@]:0:${#words[@]}-1}"; do
                    copies=$((copies + 1))
                    [[ -e $source ]] || complain "$file" "there is no $source to copy"
                    grep -Fx -- "!$source" .dockerignore >/dev/null || complain "$file" ".dockerignore leaves out $source"
                done ;;
            RUN)
                while read -r words; do
                    # shellcheck disable=SC2206  # they are words
                    for package in $words; do
                        [[ $package == [-\$]* ]] || packages+=("$package")
                    done
                done < <(grep -oE 'apt-get install [^&]*' <<<"$rest" | sed 's/^apt-get install//') ;;
            WORKDIR | ENV | CMD) ;;
            *) complain "$file" "this test does not know the instruction $word" ;;
        esac
    done < <(instructions "$file")
    [[ $user =~ ^[1-9][0-9]*(:[0-9]+)?$ ]] || complain "$file" "USER ${user:-is missing} (must be a number other than 0)"
done
((copies > 5 && ${#packages[@]} > 10)) || complain k8s/Dockerfile "only $copies files and ${#packages[@]} packages were found"
((bad == 0)) || exit 1

skip() { echo "images_test: skipped: $1, so names of packages are not checked"; exit 77; }
# shellcheck source=/dev/null
. /etc/os-release
[[ ${ID-} == debian && ${VERSION_ID-} == 12 ]] || skip "this is not Debian 12"
table=$(apt-cache policy "${packages[@]}") || skip "apt-cache does not work here"
grep -E '^ +[0-9]+ [a-z+]+:' <<<"$table" >/dev/null || skip "there are no package lists"
known=$(awk '/^[^ ]+:$/ { name = $1 } /Candidate:/ && $2 != "(none)" { print name }' <<<"$table")
for package in "${packages[@]}"; do
    grep -Fx -- "$package:" <<<"$known" >/dev/null || complain k8s/Dockerfile "Debian 12 has no package $package"
done
((bad == 0)) || exit 1
echo "images_test: $copies files, ${#packages[@]} packages"
