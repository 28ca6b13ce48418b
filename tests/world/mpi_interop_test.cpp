// SPDX-License-Identifier: Apache-2.0
#include <sinew/mpi.hpp>

#include <gmock/gmock.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <optional>
#include <vector>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::Each;
using testing::HasSubstr;
using Kind = DataType::Kind;

TEST(MpiCommunicator, NumbersRanksAsTheCommunicatorItIsMadeOf) {
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
    std::optional<Communicator> comm = mpi::communicator(part);
    MPI_Comm_free(&part);  // it has been duplicated
    EXPECT_EQ(comm->size(), (size + 1 - rank % 2) / 2);
    EXPECT_EQ(comm->rank(), comm->size() - 1 - rank / 2);
    EXPECT_EQ(comm->allreduce_value(rank, min), rank % 2);
}

TEST(MpiCommunicator, IsThereForCallsOfMpi) {
    Communicator comm = mpi::communicator(MPI_COMM_WORLD);
    MPI_Comm const native = mpi::to_mpi(comm);
    int one = 1, all = 0, result = MPI_UNEQUAL;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, native);
    EXPECT_EQ(all, comm.size());
    MPI_Comm_compare(native, MPI_COMM_WORLD, &result);
    EXPECT_EQ(result, MPI_CONGRUENT);
    Communicator part = comm.split(0, -comm.rank());
    MPI_Comm_compare(mpi::to_mpi(part), native, &result);
    EXPECT_EQ(result, comm.size() > 1 ? MPI_SIMILAR : MPI_CONGRUENT);
}

std::size_t entries_of(char const* folder) {
    auto const all = std::filesystem::directory_iterator(folder);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(MpiCommunicator, SharesThreadsAndDescriptorsWithOthers) {
    std::vector<Communicator> many;
    many.push_back(mpi::communicator(MPI_COMM_WORLD));
    auto const threads = entries_of("/proc/self/task"), files = entries_of("/proc/self/fd");
    for (int i = 0; i < 10; ++i) many.push_back(mpi::communicator(MPI_COMM_WORLD));
    EXPECT_EQ(entries_of("/proc/self/task"), threads);
    EXPECT_EQ(entries_of("/proc/self/fd"), files);
    for (Communicator& comm : many) EXPECT_EQ(comm.allreduce_value(1, sum), comm.size());
}

TEST(MpiCommunicator, IsMadeOfASplitOneWhenItIsAskedFor) {
    Communicator comm = mpi::communicator(MPI_COMM_WORLD);
    Communicator part = comm.split(comm.rank() % 2, -comm.rank());
    int rank = -1, size = 0, sum_of_ranks = 0, const_rank = part.rank();
    MPI_Comm_rank(mpi::to_mpi(part), &rank);
    MPI_Comm_size(mpi::to_mpi(part), &size);
    EXPECT_EQ(rank, part.rank());
    EXPECT_EQ(size, part.size());
    MPI_Allreduce(&const_rank, &sum_of_ranks, 1, MPI_INT, MPI_SUM, mpi::to_mpi(part));
    EXPECT_EQ(sum_of_ranks, size * (size - 1) / 2);
}

TEST(MpiCommunicator, IsNotMadeOfNone) {
    EXPECT_THAT(thrown_by<UsageError>([] { mpi::communicator(MPI_COMM_NULL); }),
                HasSubstr("MPI_COMM_NULL"));
}

TEST(MpiCommunicator, IsNotMadeOfAnInterCommunicator) {
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) GTEST_SKIP() << "needs two groups";
    MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 7, &between);
    EXPECT_THAT(thrown_by<UsageError>([&] { mpi::communicator(between); }),
                HasSubstr("MPI_Intercomm_merge"));
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

TEST(MpiTypes, HaveCounterpartsBothWays) {
    for (Kind const kind : {Kind::f32, Kind::f64, Kind::c64, Kind::c128, Kind::i8, Kind::i16,
                            Kind::i32, Kind::i64, Kind::u8, Kind::u16, Kind::u32, Kind::u64,
                            Kind::f32_index, Kind::f64_index, Kind::i32_index, Kind::i64_index}) {
        MPI_Datatype const type = mpi::to_mpi(DataType(kind));
        EXPECT_EQ(mpi::data_type(type), DataType(kind)) << DataType(kind).name();
        MPI_Aint low = 0, extent = 0;
        MPI_Type_get_extent(type, &low, &extent);
        EXPECT_EQ(static_cast<std::size_t>(extent), DataType(kind).size()) << DataType(kind).name();
    }
    EXPECT_EQ(mpi::data_type(MPI_INT), DataType(Kind::i32));
    EXPECT_EQ(mpi::data_type(MPI_BYTE), DataType(Kind::u8));
    EXPECT_EQ(mpi::data_type(MPI_UNSIGNED_LONG), data_type_of<unsigned long>());
}

TEST(MpiTypes, WithoutACounterpartAreNamed) {
    EXPECT_THAT(thrown_by<UsageError>([] { mpi::data_type(MPI_LONG_DOUBLE); }),
                HasSubstr("MPI_LONG_DOUBLE"));
    EXPECT_THROW(mpi::data_type(MPI_DATATYPE_NULL), UsageError);
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    EXPECT_THROW(mpi::data_type(pair), UsageError);
    MPI_Type_free(&pair);
    EXPECT_THAT(thrown_by<UsageError>([] { mpi::to_mpi(DataType(Kind::f16)); }), HasSubstr("f16"));
    EXPECT_THROW(mpi::to_mpi(DataType(Kind::bf16)), UsageError);
    EXPECT_THAT(thrown_by<UsageError>([] { mpi::to_mpi(DataType::opaque(12)); }),
                HasSubstr("opaque(12)"));
}

TEST(MpiOperations, HaveCounterpartsBothWays) {
    for (ReduceOp const& op : {sum, prod, min, max, logical_and, logical_or, logical_xor, bit_and,
                               bit_or, bit_xor, minloc, maxloc})
        EXPECT_EQ(mpi::reduce_op(mpi::to_mpi(op), MPI_INT).kind(), op.kind()) << op.name();
    EXPECT_THAT(thrown_by<UsageError>([] { mpi::to_mpi(average); }), HasSubstr("average"));
    EXPECT_THROW(mpi::to_mpi(reduce_op<int>([](int a, int) { return a; })), UsageError);
    EXPECT_THROW(mpi::reduce_op(MPI_OP_NULL, MPI_INT), UsageError);
}

/// With padding after `number`: its size in MPI is less than in memory.
struct Pair {
    double value;
    int number;
};

MPI_Datatype pair_type() {
    int const lengths[] = {1, 1};
    MPI_Aint const offsets[] = {offsetof(Pair, value), offsetof(Pair, number)};
    MPI_Datatype const types[] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype fields = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, offsets, types, &fields);
    MPI_Type_create_resized(fields, 0, sizeof(Pair), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&fields);
    return type;
}

/// Takes the higher rank's value, and counts: not commutative.
void higher_and_count(void* in, void* in_out, int* count, MPI_Datatype*) {
    auto const* const lower = static_cast<Pair const*>(in);
    auto* const higher = static_cast<Pair*>(in_out);
    for (int i = 0; i < *count; ++i) higher[i].number += lower[i].number;
}

TEST(MpiOperations, OfTheApplicationWorkOnItsTypes) {
    Communicator comm = mpi::communicator(MPI_COMM_WORLD);
    MPI_Datatype type = pair_type();
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(higher_and_count, 0, &op);
    {
        ReduceOp const ours = mpi::reduce_op(op, type);
        EXPECT_FALSE(ours.commutative());
        std::vector<Pair> data(1001, Pair{static_cast<double>(comm.rank()), 1});
        comm.allreduce(data, ours);
        for (Pair const& pair : data) {
            ASSERT_EQ(pair.value, comm.size() - 1);
            ASSERT_EQ(pair.number, comm.size());
        }
        comm.scan(data, ours);
        EXPECT_EQ(data.back().number, comm.size() * (comm.rank() + 1));
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

void smaller(void* in, void* in_out, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i)
        static_cast<int*>(in_out)[i] =
            std::min(static_cast<int*>(in)[i], static_cast<int*>(in_out)[i]);
}

TEST(MpiOperations, OfTheApplicationWorkOnPredefinedTypes) {
    Communicator comm = mpi::communicator(MPI_COMM_WORLD);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(smaller, 1, &op);
    {
        ReduceOp const ours = mpi::reduce_op(op, MPI_INT);
        EXPECT_TRUE(ours.commutative());
        std::vector<int> data(50000, 10 + comm.rank());
        comm.allreduce(data, ours);
        EXPECT_THAT(data, Each(10));
        std::vector<float> others(3);
        EXPECT_THROW(comm.allreduce(others, ours), UsageError);
    }
    MPI_Op_free(&op);
}

}  // namespace
}  // namespace sinew::tests
