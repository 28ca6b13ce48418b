// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sinew/comm/transport.hpp>

namespace sinew::conformance {

using Bytes = std::vector<std::byte>;

/// The ranks that the suite runs on: a function that runs another function once per rank, all at
/// the same time, with a new transport.
struct World {
    std::string name;
    std::function<void(std::function<void(Transport&)> const&)> run;
    /// Whether all messages longer than their receive are refused, or only those sent eagerly to
    /// another rank.
    bool refuses_all_longer_messages = true;

    friend std::ostream& operator<<(std::ostream& out, World const& world) {
        return out << world.name;
    }
};

/// The contract of every Transport. The tests are in conformance_*.cpp; a program that links them
/// has INSTANTIATE_TEST_SUITE_P(..., TransportConformance, Values(World...), world_name).
class TransportConformance : public testing::TestWithParam<World> {
protected:
    static void run(std::function<void(Transport&)> const& body) { GetParam().run(body); }
};

inline std::string world_name(testing::TestParamInfo<World> const& info) { return info.param.name; }

/// Bytes that identify their position.
inline Bytes pattern(std::size_t size, std::size_t seed) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(seed * 37 + i * 7 + (i >> 8));
    return bytes;
}

/// Polls until `done()`; ends a test that would hang, with a reason. Not a promise about time.
inline void poll(std::function<bool()> const& done, char const* what) {
    auto const give_up = std::chrono::steady_clock::now() + std::chrono::seconds(40);
    for (int round = 0; !done(); ++round) {
        if (round > 100) std::this_thread::yield();
        if (std::chrono::steady_clock::now() > give_up)
            throw std::runtime_error(std::string("no end of: ") + what);
    }
}

inline Transport::Received wait(Transport& self, Transport::Ticket& ticket) {
    Transport::Received received;
    poll([&] { return self.test(ticket, &received); }, "a transfer");
    EXPECT_FALSE(ticket);
    return received;
}

inline void send(Transport& self, int to, int tag, std::span<std::byte const> bytes) {
    auto ticket = self.start_send(to, tag, bytes);
    wait(self, ticket);
}

inline Transport::Received receive(Transport& self, int from, int tag, std::span<std::byte> bytes) {
    auto ticket = self.start_receive(from, tag, bytes);
    return wait(self, ticket);
}

inline int next(Transport const& self) { return (self.rank() + 1) % self.size(); }
inline int previous(Transport const& self) { return (self.rank() + self.size() - 1) % self.size(); }

/// Sends to the right neighbor and returns the message from the left one.
inline Bytes pass_on(Transport& self, int tag, Bytes const& out) {
    Bytes in(out.size());
    auto receiving = self.start_receive(previous(self), tag, in);
    auto sending = self.start_send(next(self), tag, out);
    EXPECT_EQ(wait(self, receiving).bytes, out.size());
    wait(self, sending);
    return in;
}

/// Returns when all ranks have called it.
inline void barrier(Transport& self, int tag = 30000) {
    for (int distance = 1; distance < self.size(); distance *= 2) {
        auto sending = self.start_send((self.rank() + distance) % self.size(), tag, {});
        receive(self, (self.rank() - distance + self.size()) % self.size(), tag, {});
        wait(self, sending);
    }
}

/// Like Communicator::split: the members first agree on the lane.
inline std::unique_ptr<Transport> split(Transport& self, std::vector<int> const& members) {
    constexpr int tag = 29999;
    std::uint64_t lane = self.free_lane();
    for (int const member : members) {
        if (member == self.rank()) continue;
        std::uint64_t const own = self.free_lane();
        std::uint64_t other = 0;
        auto sending = self.start_send(member, tag, std::as_bytes(std::span(&own, 1)));
        receive(self, member, tag, std::as_writable_bytes(std::span(&other, 1)));
        wait(self, sending);
        lane = std::max(lane, other);
    }
    return self.split(members, lane);
}

inline std::vector<int> all_ranks(Transport const& self) {
    std::vector<int> ranks;
    for (int rank = 0; rank < self.size(); ++rank) ranks.push_back(rank);
    return ranks;
}

}  // namespace sinew::conformance
