#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the ranks of these tests do: program.sh VERB ARGUMENTS...
rank=${SINEW_RANK:-none}
case $1 in
hello)    # to both streams
    echo "rank $rank of $SINEW_SIZE on $SINEW_NODE_NAME"
    echo "rank $rank complains" >&2
    ;;
fail)     # RANK CODE: that rank fails, the others sleep
    if [ "$rank" = "$2" ]; then
        echo "rank $rank fails" >&2
        exit "$3"
    fi
    exec sleep 100
    ;;
bytes)    # of rank 0 the file, to standard output
    [ "$rank" != 0 ] || cat "$2"
    ;;
lines)    # COUNT: of each rank
    seq -f "rank $rank line %.0f of a text that is the same for all" "$2"
    ;;
forever)
    echo "rank $rank runs"
    exec sleep 1000
    ;;
until)    # FILE: ten ticks each second until there is that file, then exit code 7 of the last rank
    for ((i = 0; ; ++i)); do
        [ ! -e "$2" ] || break
        echo "rank $rank tick $i"
        sleep 0.1
    done
    echo "rank $rank ends after $i"
    [ "$rank" -ne $((SINEW_SIZE - 1)) ] || { sleep 1; exit 7; }
    ;;
ticks)    # COUNT: ten each second, then exit code 7 of the last rank
    for ((i = 0; i < $2; ++i)); do
        echo "rank $rank tick $i"
        sleep 0.1
    done
    [ "$rank" -ne $((SINEW_SIZE - 1)) ] || { sleep 1; exit 7; }    # when the others have ended
    ;;
esac
