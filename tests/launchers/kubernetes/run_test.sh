#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# run_test.sh SOURCE SINEW MPI_PROGRAM SGD_DIGITS: jobs that end well, and by a rank's failure, on the fake cluster: their
# results, their output to the byte, their exit codes, the order of their ranks, and nothing left. Skipped (77) without root.
set -uo pipefail
test=run_test source=$1 sinew=$2 mpi_program=$3 sgd_digits=$4
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$0")/support.sh"

cluster_start --nodes 4 --zones 2 --no-dns

if [ -x "$mpi_program" ]; then
    cp "$mpi_program" "$work/bin/mpi_program"
    job -n 8 --nnodes 4 mpi_program
    [ "$code" -eq 0 ] || fail "the MPI program: code $code"
    [ "$(grep -Ec '^rank [0-7] of 8 on .*-[0-3], [01] of 2 there$' "$work/out")" -eq 8 ] || fail "the MPI program: not each of 8 ranks"
    nothing_left
    note "an MPI program of 8 ranks in 4 pods"
else
    note "no Open MPI, no MPI program"
fi

[ -x "$sgd_digits" ] && cp "$sgd_digits" "$work/bin/sgd_digits" || { note "no sgd_digits"; exit 77; }
job -n 8 --nnodes 4 --report-map sgd_digits --epochs 4 --algorithm ring
[ "$code" -eq 0 ] || fail "sgd_digits: code $code"
accuracy=$(sed -nE 's/^epoch +4\/4 .*test accuracy ([0-9.]+) %$/\1/p' "$work/out")
awk -v got="${accuracy:-0}" 'BEGIN { exit !(got > 95) }' || fail "sgd_digits: accuracy ${accuracy:-none}"
# node-0 and node-2 are in one zone, node-1 and node-3 in the other. Rank 0 is in the pod of index 0, wherever that is.
python3 - "$work/err" <<'PY' || fail "sgd_digits: ranks are not ordered by zone and node"
import re
import sys
rows = re.findall(r'^ +\S+-(\d) +\d+ +\d+ +(\d)-(\d) +\S*/(\S*)/\S*/\S* on node-(\d)', open(sys.argv[1]).read(), re.M)
assert len(rows) == 4, rows
zones, nodes = [r[3] for r in rows], [int(r[4]) for r in rows]
assert [(int(r[1]), int(r[2])) for r in rows] == [(0, 1), (2, 3), (4, 5), (6, 7)], rows
assert rows[0][0] == '0', rows
assert all(zones) and sum(a != b for a, b in zip(zones, zones[1:])) == 1, zones
assert nodes[2] < nodes[3] and sorted(nodes) == [0, 1, 2, 3], nodes
PY
nothing_left
note "sgd_digits of 8 ranks in 4 pods, accuracy $accuracy, ordered by zone and node"

job -n 8 --nnodes 4 program hello
[ "$code" -eq 0 ] || fail "hello: code $code"
[ "$(grep -Ec '^rank [0-7] of 8 on' "$work/out")" -eq 8 ] && [ "$(wc -l <"$work/out")" -eq 8 ] || fail "hello: standard output"
[ "$(grep -Ec '^rank [0-7] complains$' "$work/err")" -eq 8 ] || fail "hello: standard error"

job -n 8 --nnodes 4 program fail 5 3
[ "$code" -eq 3 ] || fail "the code of a rank, 3, became $code"
expect "$work/err" '^rank 5 fails$' "the failed rank's last words"
expect "$work/err" '^sinew: rank 5 on .*exited with code 3' "the cause"
[ ! -s "$work/out" ] || fail "something on standard output"
nothing_left
note "the streams apart, a rank's exit code"

job -n 2 no-such-program
[ "$code" -eq 127 ] || fail "a program that is not there: code $code"
expect "$work/err" 'no-such-program' "a program that is not there"

# Bytes: many lines, a line of 60 KiB, UTF-8, each byte there is, and an end without newline.
python3 - "$work/bin/bytes" <<'PY'
import random
import sys
random.seed(1)
with open(sys.argv[1], 'wb') as f:
    for i in range(20000):
        f.write(b'line %d of many\n' % i)
    f.write(b'x' * 61440 + b'\n' + 'äöü € 😀 \u2028 "\\ \x01\x1b[0m\t\n'.encode() + b'\xff\xfe\xc3(\xed\xa0\x80\n\r\n\n')
    f.write(bytes(range(256)) * 4 + b'\n' + random.randbytes(30000) + b'\nthe end without newline')
PY
chmod 644 "$work/bin/bytes"
job -n 4 program bytes "$work/bin/bytes"
[ "$code" -eq 0 ] || fail "bytes: code $code"
cmp "$work/out" "$work/bin/bytes" || fail "bytes: not what the rank has written"
job -n 4 --output json program bytes "$work/bin/bytes"
python3 - "$work/out" "$work/bin/bytes" <<'PY' || fail "bytes: not what the JSON lines say"
import base64
import json
import sys
got = b''
for line in open(sys.argv[1], 'rb'):
    o = json.loads(line)
    if 'stream' not in o:
        assert o['exit_code'] == 0, o
        continue
    assert o['rank'] == 0 and o['stream'] == 'stdout', o
    got += base64.b64decode(o['bytes']) if 'bytes' in o else o['text'].encode()
    got += b'' if o.get('partial') else b'\n'
want = open(sys.argv[2], 'rb').read()
assert got == want, (len(got), len(want))
PY
nothing_left
note "20,000 lines, long lines and any bytes, also as JSON"

job -n 4 --nnodes 2 --tag-output program hello
[ "$(grep -Ec '^\[[0-3]\]<stdout>: ?rank [0-3] of 4 on' "$work/out")" -eq 4 ] || fail "--tag-output: standard output"
job -n 4 --nnodes 2 --output-filename "$work/files" program lines 2000
[ "$code" -eq 0 ] || fail "--output-filename: code $code"
for rank in 0 1 2 3; do
    cmp "$work/files/rank.$rank.stdout" <(SINEW_RANK=$rank "$work/bin/program" lines 2000) || fail "--output-filename: the file of rank $rank"
done
nothing_left
note "tags, files"
