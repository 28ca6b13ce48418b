// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <cstring>
#include <vector>

#include <sinew/sgd/training_state.hpp>

namespace sinew::tests {

/// What one rank trains: its own numbers depend on rank and step, the shared ones on the step.
struct Training {
    std::vector<float> weights = std::vector<float>(1000);
    std::vector<double> own;
    std::uint64_t seen = 0;  // stored by functions
    TrainingState state;

    Training(Communicator& comm, std::filesystem::path const& folder, StateOptions options = {})
        : own(10 + static_cast<std::size_t>(comm.rank())), state(comm, folder, options) {
        state.add_shared("weights", weights);
        state.add_own("own", own);
        state.add_own(
            "seen",
            [this] {
                TrainingState::Bytes bytes(sizeof seen);
                std::memcpy(bytes.data(), &seen, sizeof seen);
                return bytes;
            },
            [this](std::span<std::byte const> bytes) {
                if (bytes.size() != sizeof seen) throw Error("not a number");
                std::memcpy(&seen, bytes.data(), sizeof seen);
            });
    }
    void set(int rank, std::uint64_t step) {
        std::fill(weights.begin(), weights.end(), static_cast<float>(step));
        std::fill(own.begin(), own.end(), static_cast<double>(step * 100) + rank);
        seen = step * 1000 + static_cast<std::uint64_t>(rank);
    }
    void expect(int rank, std::uint64_t step) const {
        EXPECT_THAT(weights, testing::Each(static_cast<float>(step)));
        EXPECT_THAT(own, testing::Each(static_cast<double>(step * 100) + rank));
        EXPECT_EQ(seen, step * 1000 + static_cast<std::uint64_t>(rank));
    }
};

}  // namespace sinew::tests
