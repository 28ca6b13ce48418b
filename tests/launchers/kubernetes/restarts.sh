#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The ranks of restart_test.sh: restarts.sh COUNT [RANK CODE]. They wait until the job has begun again COUNT times, and end
# with 0 then; before, RANK ends with CODE.
echo "rank $SINEW_RANK of $SINEW_SIZE, restart $SINEW_RESTART"
[ "$SINEW_RESTART" -lt "$1" ] || exit 0
[ "${2:-none}" != "$SINEW_RANK" ] || exit "$3"
exec sleep 100
