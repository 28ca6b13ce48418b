// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/pool/options.hpp>

#include "benchmarks/pool/contestant.hpp"
#include "benchmarks/support/stopwatch.hpp"

namespace sinew::bench {

/// Options of the measured pools, which show no progress.
inline PoolOptions quiet() {
    PoolOptions options;
    options.progress = sinew::Progress::off;
    return options;
}

/// make_ours() selects among these.
std::unique_ptr<Contestant> make_pool_case(Case const& what, int workers);
std::unique_ptr<Contestant> make_kill_case(int workers, bool kill);
/// Measures single kills: the time until the pool has recovered.
std::unique_ptr<Contestant> make_kill_time_case(Case const& what, int workers);
std::unique_ptr<Contestant> make_queue_case();
std::unique_ptr<Contestant> make_pipe_case();
/// Measures the scheduler with simulated workers: memory if `bytes`, otherwise time.
std::unique_ptr<Contestant> make_master_case(int workers, bool bytes);

}  // namespace sinew::bench
