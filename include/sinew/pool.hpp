// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <sinew/pool/calls.hpp>
#include <sinew/pool/options.hpp>

namespace sinew {

class Communicator;
class Nodes;
namespace pool {
class Master;
}

/// Processes that execute tasks, and lose none: a worker may die at any moment, of anything.
///
///     int main(int argc, char** argv) {
///         sinew::init(argc, argv);    // first; in a worker it does not return
///         sinew::Pool pool(4);
///         auto squares = pool.map([](int x) { return x * x; }, sinew::range(0, 1000));
///     }
///
/// Execution is at least once: the tasks of a worker that died are executed again by another, which
/// takes its place; so tasks should be idempotent, or TaskOptions::at_most_once. Results count
/// exactly once. A task that costs several workers their lives fails with WorkerDied, and the others
/// are not blamed. Workers run this same executable, begin at sinew::init(), start with the first
/// task, and die with this process, whatever happens to it.
///
/// All members may be called from any thread. Destroying waits for the tasks under way, unless an
/// exception is on its way up: then it terminates. Messages: docs/pool.md.
class Pool : public PoolCalls {
public:
    /// Workers of this process, on this machine.
    explicit Pool(PoolOptions options = {});
    explicit Pool(Workers workers, PoolOptions options = {});
    /// Workers on the nodes of a job, spread evenly. On ranks other than 0 the pool serves rank 0's:
    /// it refuses tasks, and its destructor waits until rank 0 uses the nodes no more. A host that is
    /// lost: docs/pool.md.
    explicit Pool(Nodes const& nodes, PoolOptions options = {});
    /// The same on the nodes of this communicator, for this pool alone. Collective. Works under
    /// sinew run, mpirun and srun alike: no worker is a rank. Rank 0 broadcasts its address and the
    /// secret of the connections to it; the communicator is not used afterwards.
    explicit Pool(Communicator& communicator, PoolOptions options = {});
    Pool(Pool const&) = delete;
    Pool& operator=(Pool const&) = delete;
    ~Pool();

    /// The same calls with other options: `pool.with({.retries = 0}).map<f>(xs)`.
    PoolCalls with(TaskOptions options) const;

    /// Starts the workers now rather than with the first task.
    void start_workers();
    /// Waits until all are ready; false when it takes longer. Throws PoolBroken.
    bool wait_until_workers_up(std::chrono::nanoseconds limit = std::chrono::seconds(60));
    /// From now on so many. Those too many leave when they have finished what they are at.
    void resize(Workers workers);
    PoolStats stats() const;

    /// No more tasks; workers leave when those under way have ended.
    void close();
    /// Drops all tasks (their results are Cancelled) and kills the workers.
    void terminate();
    /// After close() or terminate(): until all workers are gone.
    void join();

private:
    pool::Master& own() const;
    int exceptions_;  ///< on their way when this was made
};

}  // namespace sinew
