// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <sinew/comm/reduce_op.hpp>
#include <sinew/communicator.hpp>

namespace sgd_digits {

/// Thrown on the other ranks when on_all_ranks failed on one, which has the reason.
class FailedElsewhere : public std::exception {
public:
    char const* what() const noexcept override { return "another rank failed (it says why)"; }
};

/// Calls `work`, which is not collective, on every rank. Collective. If it throws anywhere, its
/// exception leaves the lowest such rank and the others throw FailedElsewhere, so nobody waits in
/// the next collective for a rank that failed.
template <class Work>
void on_all_ranks(sinew::Communicator& comm, Work const& work) {
    std::exception_ptr failure;
    try {
        work();
    } catch (...) {
        failure = std::current_exception();
    }
    int const lowest = comm.allreduce_value(failure ? comm.rank() : comm.size(), sinew::min);
    if (lowest == comm.rank()) std::rethrow_exception(failure);
    if (lowest < comm.size()) throw FailedElsewhere();
}

}  // namespace sgd_digits
