// SPDX-License-Identifier: Apache-2.0
// Which calls are refused, with which text, with SINEW_CHECK 0 and 1, and whether the communicator
// stays usable.
#include <complex>
#include <cstdint>

#include "src/base/text.hpp"
#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Kind = DataType::Kind;

using Call = std::function<void(Communicator&)>;

/// Runs `body` with SINEW_CHECK=0 and with 1, and passes the setting on.
void with_and_without_check(std::function<void(Communicator&, bool checked)> const& body) {
    for (bool const checked : {false, true}) {
        SCOPED_TRACE(checked ? "SINEW_CHECK=1" : "SINEW_CHECK=0");
        Variable const check("SINEW_CHECK", checked ? "1" : "0");
        Leaving joined(3);  // a rank that gives up early would disturb those that join
        run_thread_ranks(3, [&](Communicator& comm) {
            joined.one_is_through();
            joined.wait_for_others();
            body(comm, checked);
        });
    }
}

/// This rank's call must be refused with the text `words`.
void expect_own_refusal(Communicator& comm, std::string const& words, Call const& call) {
    std::string const what = thrown_by<UsageError>([&] { call(comm); });
    EXPECT_THAT(what,
                StartsWith(text("rank ", comm.rank(), " of 3 on ", comm.nodes().host_of(0), ": ")));
    EXPECT_THAT(what, HasSubstr(words));
}

/// Three ranks make a call with wrong arguments that must be equal on all ranks. Each must be
/// refused with the text `words` and be able to continue.
void expect_refused(std::string const& words, Call const& call) {
    with_and_without_check([&](Communicator& comm, bool) {
        expect_own_refusal(comm, words, call);
        EXPECT_EQ(comm.allreduce_value(comm.rank(), sum), 3);
    });
}

/// Three ranks make a call that is wrong in a rank's own arguments. Without SINEW_CHECK, no rank
/// knows that the others have not begun, so the communicator is lost. With it, all can continue.
void expect_refused_here(std::string const& words, Call const& call) {
    with_and_without_check([&](Communicator& comm, bool checked) {
        expect_own_refusal(comm, words, call);
        if (checked) EXPECT_EQ(comm.allreduce_value(comm.rank(), sum), 3);
        else EXPECT_THAT(thrown_by<UsageError>([&] { comm.barrier(); }), HasSubstr(words));
    });
}

/// Elements without values: only position and number matter.
struct Data {
    std::vector<float> elements = std::vector<float>(12);
    Buffer of(std::size_t count) { return {elements.data(), count, Kind::f32}; }
    Buffer from(std::size_t offset, std::size_t count) {
        return {elements.data() + offset, count, Kind::f32};
    }
};

Buffer null(std::size_t count) { return {nullptr, count, Kind::f32}; }

TEST(Arguments, OfAnyKindMayBeEmpty) {
    run_thread_ranks(3, [](Communicator& comm) {
        comm.allreduce(null(0), sum);
        comm.allgather(null(0), null(0));
        comm.broadcast(null(0), 1);
        comm.alltoallv(null(0), std::vector<std::size_t>(3), null(0), std::vector<std::size_t>(3));
        EXPECT_EQ(comm.allreduce_value(1, sum), 3);
    });
}

TEST(Buffers, AreNotNull) {
    expect_refused_here("allreduce(f32 x 5, sum): in is null but has 5 elements",
                        [](Communicator& comm) { comm.allreduce(null(5), sum); });
    expect_refused_here("out is null but has 3 elements", [](Communicator& comm) {
        Data data;
        comm.scan(data.of(3), null(3), sum);
    });
    expect_refused_here("is null", [](Communicator& comm) { comm.ibroadcast(null(1)); });
}

TEST(Buffers, AreNotLargerThanMemory) {
    expect_refused("more than can be addressed", [](Communicator& comm) {
        Data data;
        comm.broadcast(data.of(SIZE_MAX / 4));
    });
}

TEST(Buffers, HaveElementsOfSomeBytes) {
    expect_refused("elements of 0 bytes", [](Communicator& comm) {
        Data data;
        comm.broadcast({data.elements.data(), 3, DataType::opaque(0)});
    });
}

TEST(Buffers, DoNotOverlap) {
    expect_refused_here("in and out overlap", [](Communicator& comm) {
        Data data;
        comm.allreduce(data.from(0, 4), data.from(3, 4), sum);
    });
    expect_refused_here("overlap", [](Communicator& comm) {
        Data data;
        comm.iallgather(data.from(2, 1), data.from(0, 3));
    });
    run_thread_ranks(3, [](Communicator& comm) {
        Data data;
        comm.allreduce(data.from(0, 4), data.from(4, 4), sum);  // adjacent buffers do not overlap
    });
}

TEST(Roots, AreRanks) {
    expect_refused("broadcast(f32 x 3, root 3): root 3 is out of range (0 to 2)",
                   [](Communicator& comm) {
                       Data data;
                       comm.broadcast(data.of(3), 3);
                   });
    expect_refused("root -1 is out of range", [](Communicator& comm) {
        Data data;
        comm.ireduce(data.of(3), sum, -1);
    });
}

TEST(Types, AreTheSameInAndOut) {
    expect_refused("in is f32 but out is i32", [](Communicator& comm) {
        Data data;
        std::vector<int> out(3);
        comm.allreduce(data.of(3), out, sum);
    });
}

TEST(Types, AreThoseOfTheOperation) {
    expect_refused("bit_and is not defined on f32", [](Communicator& comm) {
        Data data;
        comm.allreduce(data.of(3), bit_and);
    });
    expect_refused("average is not defined on i32", [](Communicator& comm) {
        std::vector<int> data(3);
        comm.iscan(data, average);
    });
    expect_refused("max is not defined on c64", [](Communicator& comm) {
        std::vector<std::complex<float>> data(3);
        comm.reduce_scatter_block(data, max);
    });
    expect_refused("minloc is not defined on f64", [](Communicator& comm) {
        std::vector<double> data(3);
        comm.reduce(data, minloc);
    });
    expect_refused("mine is not defined on f32", [](Communicator& comm) {
        Data data;
        comm.allreduce(data.of(3),
                       reduce_op<int>([](int a, int) { return a; }, Commutative::no, "mine"));
    });
}

TEST(Sizes, FitTheCollective) {
    auto const refused = [&](std::string const& words, auto call) { expect_refused(words, call); };
    refused("out has 4 elements, needs 3 (as many as in)", [](Communicator& comm) {
        Data a, b;
        comm.allreduce(a.of(3), b.of(4), sum);
    });
    refused("in has 4 elements, needs 6 (ranks x out)", [](Communicator& comm) {
        Data a, b;
        comm.reduce_scatter_block(a.of(4), b.of(2), sum);
    });
    refused("data has 4 elements, which 3 ranks cannot share equally", [](Communicator& comm) {
        Data a;
        comm.reduce_scatter_block(a.of(4), sum);
    });
    refused("out has 5 elements, needs 6 (ranks x in)", [](Communicator& comm) {
        Data a, b;
        comm.allgather(a.of(2), b.of(5));
    });
    refused("data has 5 elements, which 3 ranks cannot share equally", [](Communicator& comm) {
        Data a;
        comm.allgather(a.of(5));
    });
    refused("in has 4 elements, which 3 ranks cannot share equally", [](Communicator& comm) {
        Data a, b;
        comm.alltoall(a.of(4), b.of(4));
    });
    refused("data has 4 elements, which 3 ranks cannot share equally", [](Communicator& comm) {
        Data a;
        comm.ialltoall(a.of(4));
    });
    refused("out has 2 elements, needs 3 (as many as in)", [](Communicator& comm) {
        Data a, b;
        comm.exscan(a.of(3), b.of(2), sum);
    });
}

/// Only rank 1 makes a wrong call and is refused with the text `words`. Without SINEW_CHECK, the
/// others are informed that it gave up, with the same text. With it, they are refused as well and
/// all can continue.
void expect_refused_on_one(std::string const& words, Call const& wrong, Call const& right) {
    with_and_without_check([&](Communicator& comm, bool checked) {
        if (comm.rank() == 1) {
            expect_own_refusal(comm, words, wrong);
        } else if (checked) {
            EXPECT_THAT(thrown_by<UsageError>([&] { right(comm); }),
                        testing::AllOf(HasSubstr("collective #1"),
                                       HasSubstr("refused there. Its own error says why")));
        } else {
            EXPECT_THAT(thrown_by<PeerLost>([&] {
                            right(comm);
                            comm.barrier();  // for ranks whose part does not depend on rank 1
                        }),
                        HasSubstr(words));
        }
        if (!checked) return;
        right(comm);
        EXPECT_EQ(comm.allreduce_value(1, sum), 3);
    });
}

// Regression: after one rank was refused, its next call matched the others' current call, and
// results were silently one call apart.
TEST(Refusal, OfOneRankDoesNotLeaveTheRanksACallApart) {
    with_and_without_check([](Communicator& comm, bool) {
        constexpr CallOptions soon{.timeout = 5s};
        for (int i = 0; i < 8; ++i) {
            std::vector<int> data{i, i};
            try {
                if (comm.rank() == 1 && i == 3)
                    comm.allreduce(std::span(data).first(1), std::span(data).first(1), sum, soon);
                else comm.allreduce(std::span(data).first(1), sum, soon);
                EXPECT_EQ(data[0], 3 * i) << "on rank " << comm.rank();
            } catch (Error const& refusal) {
                EXPECT_THAT(refusal.what(), HasSubstr(i == 3 || comm.rank() == 1 ? "" : "rank 1"));
                EXPECT_GE(i, 3);
            }
        }
    });
}

TEST(Refusal, OfOneRankIsToldOfNonBlockingCalls) {
    auto const of = [](float* data) {
        return [=](Communicator& comm) { comm.iallreduce({data, 2, Kind::f32}, sum).wait(); };
    };
    auto const right = [](Communicator& comm) {
        std::vector<float> data(2);
        comm.iallreduce(data, sum).wait();
    };
    expect_refused_on_one("in is null but has 2 elements", of(nullptr), right);
}

TEST(Refusal, OfOneRankIsToldOfASplit) {
    expect_refused_on_one(
        "split: color -4", [](Communicator& comm) { comm.split(-4); },
        [](Communicator& comm) { EXPECT_EQ(comm.split(0).size(), 3); });
}

TEST(Sizes, AreCheckedOnTheRootWhereOnlyItsBufferCounts) {
    auto const gather = [](std::size_t count) {
        return [count](Communicator& comm) {
            Data a, b;
            comm.gather(a.of(2), b.of(count), 1);
        };
    };
    auto const scatter = [](std::size_t count) {
        return [count](Communicator& comm) {
            Data a, b;
            comm.scatter(a.of(count), b.of(2), 1);
        };
    };
    auto const reduce = [](std::size_t count) {
        return [count](Communicator& comm) {
            Data a, b;
            comm.reduce(a.of(2), b.of(count), sum, 1);
        };
    };
    expect_refused_on_one("out has 7 elements, needs 6 (ranks x in)", gather(7), gather(6));
    expect_refused_on_one("in has 7 elements, needs 6 (ranks x out)", scatter(7), scatter(6));
    expect_refused_on_one("out has 3 elements, needs 2 (as many as in)", reduce(3), reduce(2));
}

TEST(Parts, FitTheirBuffers) {
    using Counts = std::vector<std::size_t>;
    expect_refused_here("out: 2 counts for 3 ranks", [](Communicator& comm) {
        Data data;
        comm.allgatherv(data.of(6), Counts{3, 3});
    });
    expect_refused_here("in: 1 offsets for 3 ranks", [](Communicator& comm) {
        Data data;
        Counts const counts{1, 1, 1}, offsets{0};
        comm.reduce_scatter(data.of(3), Parts(counts, offsets), sum);
    });
    expect_refused_here("out: the part of rank 2 (4 elements from 3 on) ends beyond the buffer's 6",
                        [](Communicator& comm) {
                            Data data;
                            comm.iallgatherv(data.of(6), Counts{1, 2, 4});
                        });
    expect_refused_here("the part of rank 1 (1 elements from 9 on)", [](Communicator& comm) {
        Data data;
        Counts const counts{1, 1, 1}, offsets{0, 9, 1};
        comm.alltoallv(data.of(6), Parts(counts, offsets));
    });
    expect_refused_here("the part of rank 0 (18446744073709551615 elements from 1 on)",
                        [](Communicator& comm) {
                            Data data;
                            Counts const counts{SIZE_MAX, 1, 1}, offsets{1, 2, 3};
                            comm.alltoallv(data.of(6), Parts(counts, offsets));
                        });
    expect_refused_here("in has 4 elements, needs 2 (this rank's part)", [](Communicator& comm) {
        Data in, out;
        comm.allgatherv(in.of(4), out.of(6), Counts{2, 2, 2});
    });
    expect_refused_here("out has 4 elements, needs 2 (this rank's part)", [](Communicator& comm) {
        Data in, out;
        comm.reduce_scatter(in.of(6), out.of(4), Counts{2, 2, 2}, sum);
    });
    expect_refused_here("in: the part of rank 2", [](Communicator& comm) {
        Data in, out;
        comm.alltoallv(in.of(5), Counts{2, 2, 2}, out.of(6), Counts{2, 2, 2});
    });
}

TEST(Parts, AreCheckedOnTheRootAlone) {
    using Counts = std::vector<std::size_t>;
    auto const gatherv = [](std::size_t count) {
        return [count](Communicator& comm) {
            Data a, b;
            comm.gatherv(a.of(2), b.of(count), Counts{2, 2, 2}, 1);
        };
    };
    auto const scatterv = [](std::size_t count) {
        return [count](Communicator& comm) {
            Data a, b;
            comm.scatterv(a.of(count), b.of(2), Counts{2, 2, 2}, 1);
        };
    };
    expect_refused_on_one("the part of rank 2 (2 elements from 4 on)", gatherv(5), gatherv(6));
    expect_refused_on_one("in: the part of rank 2 (2 elements from 4 on)", scatterv(5),
                          scatterv(6));
}

TEST(Algorithms, AreNamedWhenThereIsNoSuch) {
    run_thread_ranks(3, [](Communicator& comm) {
        Data data;
        EXPECT_THAT(
            thrown_by<UsageError>([&] { comm.allreduce(data.of(3), sum, {.algorithm = "rong"}); }),
            testing::AllOf(HasSubstr("\"rong\""), HasSubstr("ring"), HasSubstr("allreduce")));
        EXPECT_EQ(comm.allreduce_value(1, sum), 3);
    });
}

TEST(Algorithms, AreRefusedWhereTheyDoNotApply) {
    auto const first = reduce_op<float>([](float a, float) { return a; }, Commutative::no, "first");
    run_thread_ranks(3, [&](Communicator& comm) {
        Data data;
        EXPECT_THAT(thrown_by<UsageError>(
                        [&] { comm.allreduce(data.of(3), first, {.algorithm = "ring"}); }),
                    HasSubstr("algorithm ring cannot do allreduce(f32 x 3, first) on 3 ranks"));
        EXPECT_EQ(comm.allreduce_value(1, sum), 3);
    });
}

TEST(Environment, IsRefusedOnEveryRank) {
    for (auto const& [name, value] :
         {std::pair{"SINEW_ALGORITHM", "allreduce:rong"}, std::pair{"SINEW_TIMEOUT", "soon"},
          std::pair{"SINEW_CHECK", "2"}}) {
        Variable const wrong(name, value);
        EXPECT_THAT(thrown_by<UsageError>([] { run_thread_ranks(2, [](Communicator&) {}); }),
                    HasSubstr(std::string(value).substr(value[0] == 'a' ? 10 : 0)));
    }
}

TEST(ThreadRanks, AreAtLeastOne) {
    EXPECT_THAT(thrown_by<UsageError>([] { run_thread_ranks(0, [](Communicator&) {}); }),
                HasSubstr("0 ranks"));
}

}  // namespace
}  // namespace sinew::tests
