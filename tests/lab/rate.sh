# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# bits_per_second 200mbit: 200000000, as tc reads it. Fails when that is no rate.
bits_per_second() {
    [[ $1 =~ ^([1-9][0-9]{0,5})(bit|kbit|mbit|gbit)$ ]] || return 1
    case ${BASH_REMATCH[2]} in
        bit) echo "${BASH_REMATCH[1]}" ;;
        kbit) echo "${BASH_REMATCH[1]}000" ;;
        mbit) echo "${BASH_REMATCH[1]}000000" ;;
        gbit) echo "${BASH_REMATCH[1]}000000000" ;;
    esac
}
