// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <sinew/communicator.hpp>
#include <sinew/sgd/gradient_buckets.hpp>

namespace sinew::sgd {

/// What a rank tells the others before or after something that all do together.
struct Notice {
    enum class Kind : std::uint32_t {
        refused,    ///< the constructor: this rank's arguments are wrong
        made,       ///< the constructor; value: hash of the plan
        on_gpu,     ///< the same: the gradients are in the memory of a GPU
        step,       ///< begins a step
        end,        ///< ends a step
        broadcast,  ///< broadcast_parameters; value: hash of what must be equal
        average,    ///< average; value: how many
        join,       ///< has no more data
        content,    ///< value: hash of the parameters
    };
    /// Of `step` and `end`; value: the tensor.
    enum class Problem : std::uint32_t { none, not_ready, not_finite };

    Kind kind = Kind::end;
    Problem problem = Problem::none;
    std::uint64_t value = 0;

    friend bool operator==(Notice const&, Notice const&) = default;
    bool same_call(Notice const& other) const {
        return kind == other.kind && (kind == Kind::step || value == other.value);
    }
};

/// Exchanges notices: returns those of all ranks. Collective.
std::vector<Notice> exchange(Communicator& comm, Notice const& own,
                             std::chrono::nanoseconds timeout);

/// "rank 1 of 4 on node-a".
std::string rank_text(Communicator const& comm, int rank);

/// The ranks that have not joined, and the call that they make.
struct Callers {
    int count = 0;
    int highest = -1;
    Notice call = {.kind = Notice::Kind::join};
};

/// Throws UsageError, which names two ranks and their calls, unless all ranks that have not joined
/// make the same call, one that is possible while others have joined.
Callers require_same_call(Communicator const& comm, std::vector<Notice> const& notices);

/// Throws UsageError or NonFiniteGradient, which name tensor and rank, if a notice has a problem.
void throw_problem(Communicator const& comm, std::vector<Gradient> const& gradients,
                   std::vector<Notice> const& notices);

/// Throws `error` again as the same type of sinew's errors, with `prefix` before its text. Errors
/// that are not sinew's are thrown as they are.
[[noreturn]] void rethrow_with(std::exception_ptr const& error, std::string const& prefix);

}  // namespace sinew::sgd
