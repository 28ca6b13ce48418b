// SPDX-License-Identifier: Apache-2.0
// Messages of unexpected sizes, probing, cancelling, and several threads.
#include <algorithm>
#include <thread>

#include <sinew/error.hpp>

#include "tests/transport/conformance.hpp"

namespace sinew::conformance {

using testing::Each;
using testing::HasSubstr;

TEST_P(TransportConformance, ReportsAShorterMessage) {
    run([](Transport& self) {
        for (std::size_t const size : {0u, 5u, 60000u}) {
            Bytes const out = pattern(size, 8);
            Bytes in(size + 100, std::byte{0xee});
            auto sending = self.start_send(next(self), 6, out);
            auto const got = receive(self, previous(self), 6, in);
            wait(self, sending);
            EXPECT_EQ(got.bytes, size);
            EXPECT_EQ(got.source, previous(self));
            EXPECT_EQ(got.tag, 6);
            EXPECT_TRUE(std::ranges::equal(std::span(in).first(size), out));
            EXPECT_THAT(std::vector(in.begin() + static_cast<std::ptrdiff_t>(size), in.end()),
                        Each(std::byte{0xee}));
        }
    });
}

void expect_refusal(Transport& self, std::size_t sent, std::size_t expected) {
    Bytes const out = pattern(sent, 9);
    Bytes in(sent, std::byte{0xee});  // room beyond the receive, which must not change
    auto receiving = self.start_receive(previous(self), 7, std::span(in).first(expected));
    auto sending = self.start_send(next(self), 7, out);
    try {
        wait(self, receiving);
        ADD_FAILURE() << sent << " bytes fitted into " << expected;
    } catch (BackendError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank " + std::to_string(self.rank())));
        EXPECT_THAT(error.what(), HasSubstr("from rank " + std::to_string(previous(self))));
        EXPECT_THAT(error.what(), HasSubstr("tag 7"));
        EXPECT_THAT(error.what(), HasSubstr("longer than the receive"));
    }
    EXPECT_FALSE(receiving);
    wait(self, sending);
    EXPECT_THAT(std::vector(in.begin() + static_cast<std::ptrdiff_t>(expected), in.end()),
                Each(std::byte{0xee}));
}

TEST_P(TransportConformance, RefusesALongerMessageByName) {
    run([](Transport& self) {
        bool const all = GetParam().refuses_all_longer_messages;
        if (all || self.size() > 1) {
            expect_refusal(self, 16, 8);
            expect_refusal(self, 1, 0);
        }
        if (all) expect_refusal(self, 300000, 200000);
        barrier(self);
        EXPECT_EQ(pass_on(self, 7, pattern(50, 1)), pattern(50, 1));  // still works
    });
}

TEST_P(TransportConformance, ProbesWithoutReceiving) {
    run([](Transport& self) {
        EXPECT_FALSE(self.probe(any_source, 8));
        barrier(self);
        for (std::size_t const size : {0u, 33u, 80000u}) {
            Bytes const out = pattern(size, 4);
            auto sending = self.start_send(next(self), 8, out);
            for (int const from : {previous(self), any_source}) {
                std::optional<Transport::Received> found;
                poll([&] { return (found = self.probe(from, 8)).has_value(); }, "a probe");
                EXPECT_EQ(found->source, previous(self));
                EXPECT_EQ(found->tag, 8);
                EXPECT_EQ(found->bytes, size);
            }
            EXPECT_FALSE(self.probe(any_source, 9));
            Bytes in(size);
            receive(self, previous(self), 8, in);
            EXPECT_EQ(in, out);
            wait(self, sending);
            EXPECT_FALSE(self.probe(previous(self), 8));
            barrier(self);
        }
    });
}

TEST_P(TransportConformance, LeavesTheBufferOfACancelledReceiveAlone) {
    run([](Transport& self) {
        for (std::size_t const size : {12u, 90000u}) {
            Bytes const out = pattern(size, 3);
            Bytes cancelled(size, std::byte{0xee}), in(size);
            auto ticket = self.start_receive(previous(self), 5, cancelled);
            EXPECT_FALSE(self.test(ticket));
            self.cancel(ticket);
            EXPECT_FALSE(ticket);
            barrier(self);
            auto sending = self.start_send(next(self), 5, out);
            receive(self, previous(self), 5, in);
            wait(self, sending);
            EXPECT_EQ(in, out);
            EXPECT_THAT(cancelled, Each(std::byte{0xee}));
        }
    });
}

TEST_P(TransportConformance, CancelsWhatIsDoneAlready) {
    run([](Transport& self) {
        Bytes const out = pattern(20, 3);
        Bytes in(20);
        auto receiving = self.start_receive(previous(self), 5, in);
        auto sending = self.start_send(next(self), 5, out);
        barrier(self);
        wait(self, sending);
        self.cancel(receiving);
        self.cancel(sending);
        EXPECT_FALSE(receiving);
        EXPECT_FALSE(sending);
        barrier(self);
    });
}

/// Runs `body(thread)` in a few threads of this rank; an exception of one fails the test.
void in_threads(std::function<void(int)> const& body) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&body, thread] {
            try {
                body(thread);
            } catch (std::exception const& error) {
                ADD_FAILURE() << "thread " << thread << ": " << error.what();
            }
        });
    for (auto& thread : threads) thread.join();
}

TEST_P(TransportConformance, ServesThreadsAtOnce) {
    run([](Transport& self) {
        if (self.threading() == Threading::caller) return;
        in_threads([&](int thread) {
            for (std::size_t i = 0; i < 200; ++i) {
                auto const out =
                    pattern(i % 3 == 0 ? 20000 : 16, i + static_cast<std::size_t>(thread));
                EXPECT_EQ(pass_on(self, thread, out), out);
            }
        });
    });
}

TEST_P(TransportConformance, SplitsWhileOtherThreadsTransfer) {
    run([](Transport& self) {
        if (self.threading() == Threading::caller) return;
        in_threads([&](int thread) {
            for (std::size_t i = 0; i < 60; ++i) {
                if (thread != 0) {
                    EXPECT_EQ(pass_on(self, thread, pattern(6000, i)), pattern(6000, i));
                } else if (i % 3 == 0) {
                    auto const part = split(self, all_ranks(self));
                    EXPECT_EQ(pass_on(*part, 1, pattern(100, i)), pattern(100, i));
                }
            }
        });
    });
}

}  // namespace sinew::conformance
