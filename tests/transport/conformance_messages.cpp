// SPDX-License-Identifier: Apache-2.0
// Matching, order and sizes of messages.
#include <algorithm>
#include <array>

#include "tests/transport/conformance.hpp"

namespace sinew::conformance {

using testing::Each;

TEST_P(TransportConformance, KnowsItsPlace) {
    run([](Transport& self) {
        EXPECT_GE(self.rank(), 0);
        EXPECT_LT(self.rank(), self.size());
        EXPECT_GE(self.max_tag(), 32767);
        EXPECT_FALSE(self.name().empty());
        EXPECT_TRUE(self.lost().empty());
    });
}

TEST_P(TransportConformance, CarriesMessagesOfAnySize) {
    run([](Transport& self) {
        for (std::size_t const size :
             {0u, 1u, 7u, 64u, 4095u, 4096u, 4097u, 65536u, 1u << 20, 8u << 20}) {
            auto const got = pass_on(self, 1, pattern(size, static_cast<std::size_t>(self.rank())));
            EXPECT_EQ(got, pattern(size, static_cast<std::size_t>(previous(self)))) << size;
        }
    });
}

TEST_P(TransportConformance, AcceptsItsLargestTag) {
    run([](Transport& self) {
        EXPECT_EQ(pass_on(self, self.max_tag(), pattern(9, 1)), pattern(9, 1));
        EXPECT_EQ(pass_on(self, 0, pattern(9, 2)), pattern(9, 2));
    });
}

TEST_P(TransportConformance, KeepsTheOrderOfAPairAndTag) {
    run([](Transport& self) {
        constexpr std::array<std::size_t, 4> sizes{3, 5000, 0, 70000};  // eager and not, mixed
        std::vector<Bytes> out, in;
        std::vector<Transport::Ticket> tickets;
        for (std::size_t i = 0; i < 100; ++i) {
            out.push_back(pattern(sizes[i % 4], i));
            in.emplace_back(70000);
        }
        for (Bytes const& bytes : out) tickets.push_back(self.start_send(next(self), 3, bytes));
        for (std::size_t i = 0; i < in.size(); ++i) {
            auto const got = receive(self, previous(self), 3, in[i]);
            in[i].resize(got.bytes);
            EXPECT_EQ(in[i], out[i]) << i;
        }
        for (auto& ticket : tickets) wait(self, ticket);
    });
}

TEST_P(TransportConformance, MatchesByTagWhateverTheOrder) {
    run([](Transport& self) {
        for (std::size_t const size : {4u, 100000u}) {
            std::vector<Bytes> out, in(10, Bytes(size));
            std::vector<Transport::Ticket> tickets;
            for (int tag = 0; tag < 10; ++tag) {
                out.push_back(pattern(size, static_cast<std::size_t>(tag)));
            }
            for (int tag = 0; tag < 10; ++tag)
                tickets.push_back(
                    self.start_send(next(self), tag, out[static_cast<std::size_t>(tag)]));
            for (int tag = 9; tag >= 0; --tag)
                receive(self, previous(self), tag, in[static_cast<std::size_t>(tag)]);
            for (auto& ticket : tickets) wait(self, ticket);
            EXPECT_EQ(in, out);
        }
    });
}

TEST_P(TransportConformance, ReceivesFromAnySource) {
    run([](Transport& self) {
        int const n = self.size();
        for (std::size_t const size : {8u, 50000u}) {
            if (self.rank() != 0) {
                send(self, 0, 4, pattern(size, static_cast<std::size_t>(self.rank())));
            } else {
                std::vector<int> seen(static_cast<std::size_t>(n), 0);
                for (int i = 1; i < n; ++i) {
                    Bytes in(size);
                    auto const got = receive(self, any_source, 4, in);
                    ASSERT_TRUE(got.source > 0 && got.source < n);
                    EXPECT_EQ(got.tag, 4);
                    EXPECT_EQ(in, pattern(size, static_cast<std::size_t>(got.source)));
                    ++seen[static_cast<std::size_t>(got.source)];
                }
                seen[0] = 1;
                EXPECT_THAT(seen, Each(1));
            }
            barrier(self);
        }
    });
}

TEST_P(TransportConformance, HasAThousandTransfersUnderWay) {
    run([](Transport& self) {
        constexpr std::size_t count = 1000;
        std::vector<Bytes> out, in(count, Bytes(4200));
        std::vector<Transport::Ticket> sends, receives;
        for (std::size_t i = 0; i < count; ++i) out.push_back(pattern(i % 2 ? 4200 : 40, i));
        for (std::size_t i = 0; i < count; ++i)
            receives.push_back(self.start_receive(previous(self), static_cast<int>(i % 7), in[i]));
        for (std::size_t i = 0; i < count; ++i)
            sends.push_back(self.start_send(next(self), static_cast<int>(i % 7), out[i]));
        for (std::size_t i = count; i-- > 0;) in[i].resize(wait(self, receives[i]).bytes);
        for (auto& ticket : sends) wait(self, ticket);
        EXPECT_EQ(in, out);
    });
}

TEST_P(TransportConformance, KeepsMessagesThatComeBeforeTheirReceive) {
    run([](Transport& self) {
        std::vector<Bytes> const out{pattern(16, 1), pattern(4096, 2), pattern(200000, 3)};
        std::vector<Transport::Ticket> tickets;
        for (std::size_t i = 0; i < out.size(); ++i)
            tickets.push_back(self.start_send(next(self), static_cast<int>(i), out[i]));
        auto go = self.start_send(next(self), 99, {});
        receive(self, previous(self), 99, {});  // all messages have arrived by now
        for (std::size_t i = out.size(); i-- > 0;) {
            Bytes in(out[i].size());
            EXPECT_EQ(receive(self, previous(self), static_cast<int>(i), in).bytes, in.size());
            EXPECT_EQ(in, out[i]);
        }
        for (auto& ticket : tickets) wait(self, ticket);
        wait(self, go);
    });
}

TEST_P(TransportConformance, CarriesBothDirectionsBetweenAllPairsAtOnce) {
    run([](Transport& self) {
        constexpr std::size_t size = 30000;
        auto const n = static_cast<std::size_t>(self.size());
        auto const me = static_cast<std::size_t>(self.rank());
        std::vector<Bytes> in(n, Bytes(size)), out;
        std::vector<Transport::Ticket> tickets;
        for (std::size_t peer = 0; peer < n; ++peer) out.push_back(pattern(size, me * 16 + peer));
        for (std::size_t peer = 0; peer < n; ++peer)  // including this rank
            tickets.push_back(self.start_receive(static_cast<int>(peer), 2, in[peer]));
        for (std::size_t peer = 0; peer < n; ++peer)
            tickets.push_back(self.start_send(static_cast<int>(peer), 2, out[peer]));
        for (auto& ticket : tickets) wait(self, ticket);
        for (std::size_t peer = 0; peer < n; ++peer)
            EXPECT_EQ(in[peer], pattern(size, peer * 16 + me));
    });
}

TEST_P(TransportConformance, SendsToItself) {
    run([](Transport& self) {
        for (std::size_t const size : {0u, 10u, 300000u}) {
            Bytes const out = pattern(size, 5);
            Bytes first(size), second(size);
            auto early = self.start_receive(self.rank(), 1, first);
            auto a = self.start_send(self.rank(), 1, out);
            auto b = self.start_send(self.rank(), 2, out);
            receive(self, self.rank(), 2, second);
            wait(self, early);
            wait(self, a);
            wait(self, b);
            EXPECT_EQ(first, out);
            EXPECT_EQ(second, out);
        }
    });
}

TEST_P(TransportConformance, ANullTicketIsDone) {
    run([](Transport& self) {
        Transport::Ticket ticket;
        EXPECT_TRUE(self.test(ticket));
        self.cancel(ticket);
        EXPECT_FALSE(ticket);
    });
}

}  // namespace sinew::conformance
