// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/pool/options.hpp>

#include "benchmarks/pool/contestant.hpp"
#include "benchmarks/support/stopwatch.hpp"

namespace sinew::bench {

/// Of pools that are measured: they show no progress.
inline PoolOptions quiet() {
    PoolOptions options;
    options.progress = sinew::Progress::off;
    return options;
}

/// The parts of make_ours.
std::unique_ptr<Contestant> make_pool_case(Case const& what, int workers);
std::unique_ptr<Contestant> make_kill_case(int workers, bool kill);
/// Of single kills: how long until the pool has made up for one.
std::unique_ptr<Contestant> make_kill_time_case(Case const& what, int workers);
std::unique_ptr<Contestant> make_queue_case();
std::unique_ptr<Contestant> make_pipe_case();
/// Of simulated workers; `bytes`: how much memory rather than time.
std::unique_ptr<Contestant> make_master_case(int workers, bool bytes);

}  // namespace sinew::bench
