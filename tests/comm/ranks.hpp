// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <sinew/error.hpp>
#include <sinew/thread_ranks.hpp>

#include "src/base/env.hpp"
#if SINEW_TEST_OVER_MPI
#include <sinew/mpi.hpp>
#endif

namespace sinew::tests {

using namespace std::chrono_literals;

/// Longer than any wait of a passing test.
constexpr auto long_time = 20s;

/// The text of the `Error` that `call` throws.
template <class Error, class Call>
std::string thrown_by(Call&& call) {
    try {
        call();
    } catch (Error const& error) {
        return error.what();
    } catch (std::exception const& error) {
        ADD_FAILURE() << "an error of another type: " << error.what();
        return {};
    }
    ADD_FAILURE() << "no error";
    return {};
}

/// The text of the Timeout or PeerLost that `call` throws. The first rank to detect a loss gets
/// Timeout, the ranks that it informs get PeerLost.
template <class Call>
std::string loss_seen_by(Call&& call) {
    return thrown_by<Error>([&] {
        try {
            call();
        } catch (Timeout const&) {
            throw;
        } catch (PeerLost const&) {
            throw;
        } catch (std::exception const& error) {
            throw std::runtime_error(std::string("neither Timeout nor PeerLost: ") + error.what());
        }
    });
}

/// Waits until `condition` is true; fails the test at a timeout.
template <class Condition>
void wait_until(Condition&& condition) {
    auto const end = std::chrono::steady_clock::now() + long_time;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) throw std::runtime_error("waited in vain");
        std::this_thread::sleep_for(1ms);
    }
}

/// Runs `body` on `ranks` ranks: separate threads or, in a program started by mpiexec, its
/// processes.
inline void on_ranks(int ranks, std::function<void(Communicator&)> const& body) {
#if SINEW_TEST_OVER_MPI
    Communicator world = mpi::communicator(MPI_COMM_WORLD);
    if (world.rank() >= ranks) return world.split_none();
    Communicator part = world.split(0);
    body(part);
#else
    run_thread_ranks(ranks, body);
#endif
}

/// Makes the room of a communicator, in whose memory its short calls then pass without preparations.
inline void make_room(Communicator& comm) {
    comm.barrier();
    ASSERT_EQ(comm.algorithm_for(Collective::allreduce, 8), "shared");
}

/// Counts the ranks that have finished, so that the failing rank can leave last.
class Leaving {
public:
    explicit Leaving(int others) : others_(others) {}
    void one_is_through() { ++through_; }
    void wait_for_others() {
        wait_until([&] { return through_ == others_; });
    }

private:
    int others_;
    std::atomic<int> through_{0};
};

/// Sets an environment variable during its lifetime.
class Variable {
public:
    Variable(char const* name, char const* value) : name_(name), before_(env(name)) {
        if (value != nullptr) ::setenv(name, value, 1);
        else ::unsetenv(name);
    }
    Variable(Variable const&) = delete;
    ~Variable() {
        if (before_) ::setenv(name_, before_->c_str(), 1);
        else ::unsetenv(name_);
    }

private:
    char const* name_;
    std::optional<std::string> before_;
};

}  // namespace sinew::tests
