// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/comm/ranks.hpp"
#include "tests/fake_gpu/fake_gpu.hpp"

namespace sinew::tests {

using Fault = FakeNcclFault;

/// The faults of this process, until the end of the scope.
class Faults {
public:
    Faults() { use_fake_nccl(); }
    Faults(int rank, Fault fault) : Faults() { fake_nccl_fault(rank, fault); }
    Faults(Faults const&) = delete;
    ~Faults() {
        for (int rank = 0; rank < 8; ++rank) fake_nccl_fault(rank, {});
    }
};

/// Runs `body` on three ranks with a GPU each, and returns what each of them throws.
inline std::vector<std::string> errors_of(std::function<void(Communicator&)> const& body,
                                          char const* timeout = "1s") {
    Variable const deadline("SINEW_TIMEOUT", timeout), late("SINEW_LATE_TIMEOUT", "5s");
    Variable const wanted("SINEW_NCCL", "1");
    std::vector<std::string> errors(3);
    auto const start = std::chrono::steady_clock::now();
    try {
        run_thread_ranks(3, [&](Communicator& comm) {
            fake_cuda_use_device(comm.rank());
            try {
                body(comm);
            } catch (Error const& error) {
                errors[static_cast<std::size_t>(comm.rank())] = error.what();
                throw;
            }
        });
    } catch (Error const&) {}
    EXPECT_LT(std::chrono::steady_clock::now() - start, 40s) << "a deadline was missed";
    for (int i = 0; i < 5000 && fake_nccl_alive() > 0; ++i) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(fake_nccl_alive(), 0) << "a communicator was left behind";
    return errors;
}

}  // namespace sinew::tests
