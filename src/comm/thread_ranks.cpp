// SPDX-License-Identifier: Apache-2.0
#include <sinew/thread_ranks.hpp>

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/comm/black_box/black_box.hpp"
#include "src/comm/join.hpp"
#include "src/transport/thread_transport.hpp"

namespace sinew {

namespace {

/// Keeps the first exception of any rank. keep() is thread-safe.
class FirstFailure {
public:
    void keep(std::exception_ptr error) {
        std::lock_guard const lock(mutex_);
        if (!first_) first_ = error;
    }
    void rethrow() const {
        if (first_) std::rethrow_exception(first_);
    }

private:
    std::mutex mutex_;
    std::exception_ptr first_;
};

NodeIdentity node_of(int rank, ThreadRanksOptions const& options) {
    NodeIdentity const here = NodeIdentity::mine();
    if (options.ranks_per_node <= 0) return here;
    std::string const suffix = text("-", rank / options.ranks_per_node);
    return NodeIdentity::named(here.key_text() + suffix, here.host_text() + suffix);
}

void run_rank(ThreadHub& hub, int rank, ThreadRanksOptions const& options,
              std::function<void(Communicator&)> const& body, FirstFailure& failure) {
    std::shared_ptr<detail::CommunicatorState> state;
    try {
        state = detail::join(std::make_unique<ThreadTransport>(hub, rank),
                             detail::Engine::make(Threading::any), node_of(rank, options),
                             detail::CommonSettings::from_environment());
        Communicator communicator(state);
        body(communicator);
    } catch (std::exception const& error) {
        failure.keep(std::current_exception());
        if (state) state->abandon(error.what());
        hub.lose(rank);
    } catch (...) {
        failure.keep(std::current_exception());
        if (state) state->abandon("an exception that is not a std::exception");
        hub.lose(rank);
    }
}

}  // namespace

void run_thread_ranks(ThreadRanksOptions const& options,
                      std::function<void(Communicator&)> const& body) {
    if (options.ranks < 1)
        throw UsageError(text("run_thread_ranks: ", options.ranks, " ranks (must be at least 1)"));
    detail::BlackBox::instance().open_folder(0, options.ranks, NodeIdentity::mine().host_text());
    ThreadHub hub(options.ranks);
    FirstFailure failure;
    {
        std::vector<std::jthread> ranks;
        for (int r = 0; r < options.ranks; ++r)
            ranks.emplace_back([&, r] { run_rank(hub, r, options, body, failure); });
    }
    failure.rethrow();
}

}  // namespace sinew
