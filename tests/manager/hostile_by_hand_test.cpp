// SPDX-License-Identifier: Apache-2.0
// Clients that have the key and send handcrafted messages that no sinew process sends.
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "src/manager/protocol.hpp"
#include "src/process/auth_key.hpp"
#include "src/wire/frame.hpp"
#include "src/wire/hello.hpp"
#include "tests/manager/support/hostile.hpp"

namespace sinew::testing_support {
namespace {

using manager::CallHead;
using manager::Op;
using process::MessageHeader;

std::string hostile_frame(std::uint8_t kind, std::string const& payload) {
    auto const head = wire::encode({static_cast<std::uint32_t>(payload.size()), kind, 0, 0});
    return std::string(reinterpret_cast<char const*>(head.data()), head.size()) + payload;
}

std::string hostile_hello(Manager const& manager, std::uint64_t max_frame) {
    wire::Hello const hello{.mark = wire::Hello::mark_of(process::secret_of(manager.authkey())),
                            .self = {.name = "a hostile guest"},
                            .max_frame = max_frame};
    return hostile_frame(wire::frame_kind::hello, hello.encode());
}

std::string hostile_message(MessageHeader head, std::span<std::byte const> bytes = {}) {
    head.size = bytes.size();
    auto const first = bytes_of(head);
    std::string all(reinterpret_cast<char const*>(first.data()), first.size());
    return all.append(reinterpret_cast<char const*>(bytes.data()), bytes.size());
}

template <class Value>
std::string hostile_bytes(Value const& value) {
    return {reinterpret_cast<char const*>(&value), sizeof value};
}

// The start of a message in pieces; the head gives its size.
std::string hostile_begin(std::uint64_t transfer, MessageHeader const& head) {
    return hostile_frame(process::frame_kind::begin, hostile_bytes(transfer) + hostile_bytes(head));
}

/// Writes every byte by hand.
class HostileByHand : public Hostile {
protected:
    static constexpr std::uint64_t usual_frame = std::uint64_t{1} << 30;
    UniqueFd let_in() const {
        auto stranger = knock();
        send_some(stranger, hostile_hello(manager, usual_frame));
        char answer = 0;
        EXPECT_EQ(::recv(stranger.get(), &answer, 1, 0), 1);
        send_some(stranger,
                  hostile_frame(process::frame_kind::messages,
                                hostile_message(manager::head(Op::hello, 0, 0),
                                                bytes_of(detail::program_identity().text))));
        return stranger;
    }
    void expect_end(UniqueFd const& stranger) const {
        std::size_t said = 0;
        EXPECT_TRUE(is_closed(stranger, said));
    }
};

TEST_P(HostileByHand, FramesBeyondAllMeasureEndTheConnection) {
    auto const stranger = let_in();
    auto const endless = wire::encode({0xffffffff, process::frame_kind::messages, 0, 0});
    send_some(stranger, {reinterpret_cast<char const*>(endless.data()), endless.size()});
    expect_end(stranger);
}

// A client that accepts no frames cannot be answered: it is refused, and none of its messages is
// handled.
TEST_P(HostileByHand, WhoTakesOnlyTinyFramesIsRefused) {
    for (std::uint64_t const max_frame : {0, 1, 100, 1000, 65536}) {
        auto const stranger = knock();
        auto const ask = hostile_message(manager::head(Op::lookup, 0, 1), bytes_of("nothing"));
        send_some(stranger, hostile_hello(manager, max_frame) +
                                hostile_frame(process::frame_kind::messages, ask));
        std::string said;
        char buffer[512];
        for (ssize_t count = 0; (count = ::recv(stranger.get(), buffer, sizeof buffer, 0)) > 0;)
            said.append(buffer, static_cast<std::size_t>(count));
        EXPECT_THAT(said, testing::HasSubstr("takes frames of at most")) << max_frame;
    }
}

// All of these are in the receiver's buffer when the first one ends the connection.
TEST_P(HostileByHand, FramesBehindAForbiddenOneAreNotDelivered) {
    auto const messages =
        hostile_frame(process::frame_kind::messages,
                      hostile_message(manager::head(Op::lookup, 0, 1), bytes_of("counter")));
    for (auto const kind : {process::kinds::supervisor, process::kinds::child,
                            process::kinds::manager, std::uint8_t{239}}) {
        auto const stranger = knock();
        auto packet = hostile_hello(manager, usual_frame) + messages;
        for (int i = 0; i < 100; ++i) packet += hostile_frame(kind, "x") + messages;
        send_some(stranger, packet);
        expect_end(stranger);
    }
}

TEST_P(HostileByHand, WhatMakesNoSenseEndsTheConnectionOnce) {
    auto const stranger = let_in();
    std::string packet;
    for (int i = 0; i < 100; ++i)
        packet += hostile_frame(process::kinds::queue_last, "x") +
                  hostile_frame(process::frame_kind::messages, "cut short");
    send_some(stranger, packet);
    expect_end(stranger);
}

// More than a client may have in flight: messages that never end, calls before which another never
// arrives, promises of nothing.
class HostileHoarder : public HostileByHand {
protected:
    HostileHoarder() : HostileByHand() {}
    void expect_limit(std::function<std::string(std::uint64_t)> const& next) {
        auto const stranger = let_in();
        std::string packet;
        for (std::uint64_t sent = 0, i = 1; sent < 64 << 20; sent += packet.size()) {
            packet.clear();
            while (packet.size() < 256 << 10) packet += next(i++);
            std::string_view rest = packet;
            while (!rest.empty()) {
                auto const count = ::send(stranger.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
                if (count < 0) return;  // the connection was closed
                rest.remove_prefix(static_cast<std::size_t>(count));
            }
        }
        ADD_FAILURE() << "it may have any amount";
    }
};

TEST_P(HostileHoarder, LettersThatNeverEnd) {
    expect_limit([](std::uint64_t i) {
        auto head = manager::head(Op::call, 1, i);
        head.size = 4 << 20;
        return hostile_begin(i, head) + hostile_frame(process::frame_kind::piece,
                                                      hostile_bytes(i) + std::string(100'000, 'x'));
    });
}

TEST_P(HostileHoarder, LettersLargerThanItMayHave) {
    auto const stranger = let_in();
    auto head = manager::head(Op::call, 1, 1);
    head.size = ~std::uint64_t{0};
    send_some(stranger, hostile_begin(1, head));
    expect_end(stranger);
}

TEST_P(HostileHoarder, CallsThatNeverHaveTheirTurn) {
    using Known = detail::Call<detail::Method<Counter, &Counter::add>, int>;
    expect_limit([](std::uint64_t i) {
        std::vector<std::byte> bytes(1000);
        CallHead const head{detail::id_of(Known::entry()).value, i + 1};
        std::memcpy(bytes.data(), &head, sizeof head);
        return hostile_frame(process::frame_kind::messages,
                             hostile_message(manager::head(Op::call, 1, i), bytes));
    });
}

TEST_P(HostileHoarder, CallsThatWillNotCome) {
    expect_limit([](std::uint64_t i) {
        CallHead const head{0, i + 1};
        return hostile_frame(process::frame_kind::messages,
                             hostile_message(manager::head(Op::skip, 1, i), bytes_of(head)));
    });
}

TEST_P(HostileHoarder, PromisesOfNothing) {
    expect_limit([](std::uint64_t i) {
        auto head = manager::head(Op::hold, 1, i);
        head.epoch = manager::gives_object;
        return hostile_frame(process::frame_kind::messages, hostile_message(head));
    });
}

// Sends requests and does not read the replies.
TEST_P(HostileHoarder, AnswersThatAreNotRead) {
    expect_limit([](std::uint64_t i) {
        return hostile_frame(
            process::frame_kind::messages,
            hostile_message(manager::head(Op::lookup, 0, i), bytes_of(std::string(500, 'x'))));
    });
}

INSTANTIATE_TEST_SUITE_P(By, HostileByHand, testing::Values("unix:/"), name_of_door);
INSTANTIATE_TEST_SUITE_P(By, HostileHoarder, testing::Values("unix:/"), name_of_door);

}  // namespace
}  // namespace sinew::testing_support
