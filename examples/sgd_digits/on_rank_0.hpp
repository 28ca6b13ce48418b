// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <sinew/communicator.hpp>
#include <span>

namespace sgd_digits {

/// Thrown on the other ranks when on_rank_0 failed on rank 0, which has the reason.
class FailedOnRank0 : public std::exception {
public:
    char const* what() const noexcept override { return "rank 0 failed (it says why)"; }
};

/// Calls `work` on rank 0 only. Collective. If it throws, that exception leaves rank 0 and the
/// others throw FailedOnRank0, so they do not wait in the next collective for rank 0.
template <class Work>
void on_rank_0(sinew::Communicator& comm, Work const& work) {
    std::exception_ptr failure;
    if (comm.rank() == 0) {
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
    }
    std::uint8_t failed = failure ? 1 : 0;
    comm.broadcast(std::span(&failed, 1), 0);
    if (failure) std::rethrow_exception(failure);
    if (failed != 0) throw FailedOnRank0();
}

}  // namespace sgd_digits
