// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sinew/communicator.hpp>

#include "src/base/text.hpp"
#include "src/comm/join.hpp"
#include "src/transport/socket_transport.hpp"
#include "tests/support/socket_job.hpp"

namespace sinew::testing_support {

/// Runs `body` on every rank of a job over sinew's sockets, each rank in a separate thread with
/// separate sockets and a separate engine: Unix sockets within a node, TCP between nodes.
/// `node_of_rank` has the node of each rank. `settings_of` returns each rank's settings; default:
/// from the environment. Rethrows the exception of the first rank to fail.
inline void run_socket_ranks(
    std::vector<int> const& node_of_rank, std::function<void(Communicator&)> const& body,
    std::function<detail::CommonSettings(int rank)> const& settings_of = {}) {
    SocketJob job(node_of_rank);
    std::mutex mutex;
    std::exception_ptr first_failure;
    auto const run = [&](int rank) {
        std::shared_ptr<detail::CommunicatorState> state;
        auto const fail = [&](std::string const& reason) {
            {
                std::lock_guard const lock(mutex);
                if (!first_failure) first_failure = std::current_exception();
            }
            if (state) state->abandon(reason);
        };
        try {
            auto const node = text("node-", node_of_rank[static_cast<std::size_t>(rank)]);
            state = detail::join(
                std::make_unique<SocketTransport>(job.mesh(rank)),
                detail::Engine::make(Threading::any), NodeIdentity::named(node, node),
                settings_of ? settings_of(rank) : detail::CommonSettings::from_environment());
            Communicator communicator(state);
            body(communicator);
            // A connection that ends while others still communicate would count as a death.
            if (!state->lost()) communicator.barrier();
        } catch (std::exception const& error) {
            fail(error.what());
        } catch (...) {
            fail("an exception that is no std::exception");
        }
    };
    {
        std::vector<std::jthread> ranks;
        for (int rank = 0; rank < static_cast<int>(node_of_rank.size()); ++rank)
            ranks.emplace_back(run, rank);
    }
    if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace sinew::testing_support
