#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# links_test.sh SOURCE: every relative link of every Markdown page leads to a file, and its #fragment to a heading there.
set -euo pipefail
cd "$1"

# As GitHub makes them of headings: lower case, without punctuation, hyphens for spaces.
anchors() {
    sed -nE 's/^#+ +(.*)$/\1/p' "$1" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

bad=0 links=0
while IFS= read -r page; do
    # shellcheck disable=SC2016  # backticks of Markdown
    while IFS= read -r target; do
        [[ $target =~ ^(https?:|mailto:) ]] && continue
        links=$((links + 1))
        path=${target%%#*} fragment=""
        [[ $target != *#* ]] || fragment=${target#*#}
        if [[ -z $path ]]; then found=$page; else found=$(dirname "$page")/$path; fi
        if [[ ! -e $found ]]; then
            echo "$page: there is no $target"
            bad=1
        elif [[ -n $fragment ]] && ! anchors "$found" | grep -Fx -- "$fragment" >/dev/null; then
            echo "$page: there is no heading for #$fragment in $found"
            bad=1
        fi
    done < <(sed -E '/^```/,/^```/d; s/`[^`]*`//g' "$page" | grep -oE '\]\([^)]+\)' | sed -E 's/^\]\(//; s/\)$//')
done < <(find . -name '*.md' -not -path './build/*' -not -path './.git/*')
echo "links_test: $links links"
((links > 0 && bad == 0))
