// SPDX-License-Identifier: Apache-2.0
// What a call refuses, in which words; and that the communicator goes on afterwards.
#include <complex>
#include <cstdint>

#include "src/base/text.hpp"
#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Kind = DataType::Kind;

/// Three ranks make a wrong call. Each must be refused in `words`, and go on.
void expect_refused(std::string const& words, std::function<void(Communicator&)> const& call) {
    run_thread_ranks(3, [&](Communicator& comm) {
        std::string const what = thrown_by<UsageError>([&] { call(comm); });
        EXPECT_THAT(what, StartsWith(text("rank ", comm.rank(), " of 3 on ",
                                          comm.nodes().host_of(0), ": ")));
        EXPECT_THAT(what, HasSubstr(words));
        EXPECT_EQ(comm.allreduce_value(comm.rank(), sum), 3);
    });
}

/// Elements without values: only their place and number count here.
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
    expect_refused("allreduce(f32 x 5, sum): in is null but has 5 elements",
                   [](Communicator& comm) { comm.allreduce(null(5), sum); });
    expect_refused("out is null but has 3 elements", [](Communicator& comm) {
        Data data;
        comm.scan(data.of(3), null(3), sum);
    });
    expect_refused("is null", [](Communicator& comm) { comm.ibroadcast(null(1)); });
}

TEST(Buffers, AreNotLargerThanMemory) {
    expect_refused("more than can be addressed", [](Communicator& comm) {
        Data data;
        comm.broadcast(data.of(SIZE_MAX / 4));
    });
}

TEST(Buffers, HaveElementsOfSomeBytes) {
    expect_refused("elements of no bytes", [](Communicator& comm) {
        Data data;
        comm.broadcast({data.elements.data(), 3, DataType::opaque(0)});
    });
}

TEST(Buffers, DoNotOverlap) {
    expect_refused("in and out overlap", [](Communicator& comm) {
        Data data;
        comm.allreduce(data.from(0, 4), data.from(3, 4), sum);
    });
    expect_refused("overlap", [](Communicator& comm) {
        Data data;
        comm.iallgather(data.from(2, 1), data.from(0, 3));
    });
    run_thread_ranks(3, [](Communicator& comm) {
        Data data;
        comm.allreduce(data.from(0, 4), data.from(4, 4), sum);  // neighbours do not
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

/// A wrong call on the root alone: the others have not sent anything when it is put right.
void expect_refused_at_root(std::string const& words,
                            std::function<void(Communicator&)> const& wrong,
                            std::function<void(Communicator&)> const& right) {
    run_thread_ranks(3, [&](Communicator& comm) {
        if (comm.rank() == 1) {
            EXPECT_THAT(thrown_by<UsageError>([&] { wrong(comm); }), HasSubstr(words));
        }
        right(comm);
        EXPECT_EQ(comm.allreduce_value(1, sum), 3);
    });
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
    expect_refused_at_root("out has 7 elements, needs 6 (ranks x in)", gather(7), gather(6));
    expect_refused_at_root("in has 7 elements, needs 6 (ranks x out)", scatter(7), scatter(6));
    expect_refused_at_root("out has 3 elements, needs 2 (as many as in)", reduce(3), reduce(2));
}

TEST(Parts, FitTheirBuffers) {
    using Counts = std::vector<std::size_t>;
    expect_refused("out: 2 counts for 3 ranks", [](Communicator& comm) {
        Data data;
        comm.allgatherv(data.of(6), Counts{3, 3});
    });
    expect_refused("in: 1 offsets for 3 ranks", [](Communicator& comm) {
        Data data;
        Counts const counts{1, 1, 1}, offsets{0};
        comm.reduce_scatter(data.of(3), Parts(counts, offsets), sum);
    });
    expect_refused("out: the part of rank 2 (4 elements from 3 on) ends beyond the buffer's 6",
                   [](Communicator& comm) {
                       Data data;
                       comm.iallgatherv(data.of(6), Counts{1, 2, 4});
                   });
    expect_refused("the part of rank 1 (1 elements from 9 on)", [](Communicator& comm) {
        Data data;
        Counts const counts{1, 1, 1}, offsets{0, 9, 1};
        comm.alltoallv(data.of(6), Parts(counts, offsets));
    });
    expect_refused("the part of rank 0 (18446744073709551615 elements from 1 on)",
                   [](Communicator& comm) {
                       Data data;
                       Counts const counts{SIZE_MAX, 1, 1}, offsets{1, 2, 3};
                       comm.alltoallv(data.of(6), Parts(counts, offsets));
                   });
    expect_refused("in has 4 elements, needs 2 (this rank's part)", [](Communicator& comm) {
        Data in, out;
        comm.allgatherv(in.of(4), out.of(6), Counts{2, 2, 2});
    });
    expect_refused("out has 4 elements, needs 2 (this rank's part)", [](Communicator& comm) {
        Data in, out;
        comm.reduce_scatter(in.of(6), out.of(4), Counts{2, 2, 2}, sum);
    });
    expect_refused("in: the part of rank 2", [](Communicator& comm) {
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
    expect_refused_at_root("the part of rank 2 (2 elements from 4 on)", gatherv(5), gatherv(6));
    expect_refused_at_root("in: the part of rank 2 (2 elements from 4 on)", scatterv(5),
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
