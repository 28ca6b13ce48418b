// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <sinew/communicator.hpp>

namespace sinew::sgd {

/// What the ranks of a communicator do together, so that all succeed or all throw. All functions are
/// collective.
class Together {
public:
    using Bytes = std::vector<std::byte>;

    Together(Communicator& comm, std::chrono::nanoseconds timeout)
        : comm_(comm), options_{.timeout = timeout} {}

    /// Calls `local` on this rank. If it throws on any rank, throws on all, prefixed by `what` and the
    /// lowest such rank: UsageError if it threw that, else Error.
    void all(std::string const& what, std::function<void()> const& local) {
        if (auto const problem = agree(what, local)) std::rethrow_exception(problem);
    }
    /// The same, but returns that error, on which all ranks agree. Throws only if they could not.
    std::exception_ptr agree(std::string const& what, std::function<void()> const& local);
    std::vector<std::uint64_t> gather(std::uint64_t value);
    std::vector<Bytes> gather(std::span<std::byte const> bytes);
    /// Throws UsageError on all ranks if a value is not the same on all.
    void require_equal(std::string const& what, std::string const& value);

private:
    Communicator& comm_;
    CallOptions options_;
};

}  // namespace sinew::sgd
