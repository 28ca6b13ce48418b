// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "src/node_memory/room.hpp"
#include "tests/node_memory/patient_waiter.hpp"
#include "tests/support/thread_ranks.hpp"

namespace sinew::node_memory {

/// The rooms of two ranks, which have begun some operations.
struct TwoRooms {
    static constexpr std::size_t ring = sinew::testing::room_ring;
    explicit TwoRooms(std::uint64_t begun = 0)
        : first(memory, 0, 2, ring, nullptr, begun), second(memory, 1, 2, ring, nullptr, begun) {}

    std::shared_ptr<void> memory = sinew::testing::room_memory(2, ring);
    Room first, second;
    ImpatientWaiter waiter;

    void send(std::uint64_t number) {
        first.begin();
        std::memcpy(first.line(waiter), &number, sizeof number);
        first.publish_line();
        first.finish();
    }
    std::uint64_t receive() {
        second.begin();
        second.await_line(waiter, 0);
        std::uint64_t number;
        std::memcpy(&number, second.line_of(0), sizeof number);
        second.finish();
        return number;
    }
};

}  // namespace sinew::node_memory
