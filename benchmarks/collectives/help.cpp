// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/options.hpp"

namespace sinew::bench {

std::string help_text() {
    return R"(Times sinew's collectives, and other libraries' on the same ranks and buffers in the same run.

Start it under mpiexec, or with --threads N for ranks as threads of one process:

  mpiexec -n 2 collectives                                    allreduce of f32 sums, 8 B to 16 MiB
  mpiexec -n 2 collectives --peer openmpi                     and the MPI library underneath
  mpiexec -n 4 collectives --op all --sizes 8-1M              every collective, powers of two
  mpiexec -n 4 collectives --algorithm ring,recursive_doubling --sizes 64K,1M,16M
  mpiexec -n 2 collectives --peer openmpi --peer gloo --json run.json --plot run.svg
  collectives --threads 4 --op broadcast,allgather --dtype f16
  collectives --merge openmpi.json mpich.json                 one table from two runs

What to run
  --op NAME,...         allreduce reduce_scatter reduce_scatter_block allgather allgatherv broadcast
                        reduce gather gatherv scatter scatterv alltoall alltoallv scan exscan
                        barrier, or all (default allreduce)
  --sizes LIST          bytes of the whole vector: 8,1K,64K or 8-64M (powers of two); K M G are
                        binary (default 8,1K,64K,1M,16M). Equal parts are rounded to whole elements
  --dtype NAME,...      f16 bf16 f32 f64 c64 c128 i8..i64 u8..u64 (default f32)
  --redop NAME,...      sum prod min max average bit_and ... (default sum)
  --algorithm NAME,...  of ours: auto (the tuner chooses), all, or names from --explain; several are
                        compared in one run (default auto)
  --variant WHICH       reused: buffers untouched between calls, as other benchmarks do; live: the
                        owner writes its input and reads its output in between, outside the timing;
                        both (default reused; both with --peer). Every ratio is of one variant
  --peer NAME,...       openmpi or mpich (the one this program is built with), mpi (whichever),
                        with f16 and bf16 by an MPI operation made of our kernel; gloo,
                        gloo_ring_chunked, gloo_halving_doubling, gloo_bcube;
                        openmpi_forced: every algorithm of Open MPI's coll/tuned;
                        openmpi_components: its coll/han, sm, adapt, xhc, acoll where present;
                        mpi_nonblocking: MPI_Iallreduce and MPI_Wait, and so on, of the first;
                        all: whatever this program has but the last. What cannot run says why
  --preset NAME         quick: six operations at five sizes; full: all, 4 B to 256 MiB; both in both
                        variants. Other flags override it
  --mpi-thread LEVEL    single or multiple: the level at which MPI is initialized, as the peer's and
                        our own calls then find it (default single, as most programs have it)
  --nonblocking         also time the non-blocking form of each of our calls and its wait, as rows
                        whose algorithm begins with "i:"; --peer mpi_nonblocking is MPI's
  --zero-copy           all buffers, the peers' too, from Communicator::allocate
  --own-session         each rank in a session of its own, as MPICH's hydra starts them
  --ranks N             fail unless there are N ranks
  --threads N           N ranks as threads of this process, without MPI

How long
  --warmup N            calls of each contender before timing (default 10, fewer if they are long)
  --rounds N            rounds at most; a round times a block of calls of each in turn (default 100)
  --budget SECONDS      of timing for each size, of all variants together (default 1); at least 3
                        rounds are done
  --tail                also time single calls, all ranks beginning together, in as much time again:
                        their median ("single") and 99th percentile, of 100 calls at least
  --check, --no-check   verify results before and after timing (default) or not
  --no-pin              let the system decide where ranks run; else each rank's calling thread stays
                        on a core of its own, if there are enough and the launcher bound none
  --autogroup-nice N    weight of this session among others on the machine, e.g. -15; 0 afterwards

What to print
  --json FILE           one JSON object that describes the run, then one per row
  --plot FILE.svg       time and ratio over size, drawn by gnuplot
  --link-rate RATE      200mbit, 10gbit or bits per second: adds the fraction of the link used
  --explain             print what the tuner would choose, and why, instead of measuring
  --merge FILE FILE...  join JSON files of runs: rows of the first kind of file, peers of all. Runs
                        that have the same peers are repetitions: medians are shown. Unlike the
                        peers of one run, those of two alternate per launch, not per block
  --report PAGE.md --runs FILE...
                        write a page of tables, and plots beside it, from JSON files of runs
  --help                this text

Columns, as in nccl-tests: size and count are of the vector, time is one call (median over rounds of
the slowest rank), algbw = size / time, busbw = what the busiest link carries, #wrong = elements that
were not exactly right. A peer's ratio is its time / ours: above 1 ours is faster. "best of all
peers" is the one with the lowest ratio in that row. On one node, "of limit" is the least time that
the machine allows / ours: every input read once and every output written once at the rate at which
the same processors copy as much, or if that is longer, one transfer of a cache line, or an exchange
or hand-over between two processors of what they must get, in the fastest way known (with more ranks
than processors: that and the context switches; of allreduce in shared memory or with more ranks than
processors, instead of copies: the time of threads of one process, one on each processor, that have the
vectors of all ranks). Calls with a root are timed back to back, so they show how far the root can run ahead, for
all alike; `live` makes the ranks meet before each call.
state says how near the cores of ranks 0 and 1 were (round trip of one cache line): near below 220 ns,
else far; mixed when that changed during a row; oversubscribed with more ranks than processors.
Compare figures of one state only.

Exit status: 0; 1 when a result was wrong or the run failed; 2 when the command line was wrong.
)";
}

}  // namespace sinew::bench
