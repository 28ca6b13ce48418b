// SPDX-License-Identifier: Apache-2.0
// An MPI program that knows nothing of sinew: it calls every collective with many types, operations,
// sizes and communicators, and prints a digest of what each rank got. Run with and without
// libsinew_mpi.so it must print the same. All numbers are small integers, so that sums are exact.
#include <mpi.h>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/pmpi/programs/mpi_digest.hpp"

namespace {

using namespace every_collective;

/// MPICH 4.0.2 itself reads the address MPI_IN_PLACE in MPI_Reduce of longer vectors.
bool reduces_in_place([[maybe_unused]] std::size_t bytes) {
#ifdef MPICH_VERSION
    return bytes <= 2000;
#else
    return true;
#endif
}

/// All reductions of one type and operation.
void reductions(Digest& digest, Comm const& c, Type const& type, MPI_Op op, std::size_t count) {
    int const n = static_cast<int>(count);
    Bytes const send = vector_of(type, count, c.rank);
    auto const empty = [&](std::size_t elements) {
        return Bytes(elements * type.bytes + 16, untouched);
    };
    for (bool const in_place : {false, true}) {
        Bytes out = in_place ? send : empty(count);
        void const* const in = in_place ? MPI_IN_PLACE : send.data();
        MPI_Allreduce(in, out.data(), n, type.type, op, c.comm);
        read_all(digest, type, out, count);
        out = in_place ? send : empty(count);
        MPI_Scan(in, out.data(), n, type.type, op, c.comm);
        read_all(digest, type, out, count);
        out = in_place ? send : empty(count);
        MPI_Exscan(in, out.data(), n, type.type, op, c.comm);
        if (c.rank > 0) read_all(digest, type, out, count);
        for (int root = 0; root < c.size; root += 2) {
            bool const here = in_place && c.rank == root && reduces_in_place(count * type.bytes);
            out = here ? send : empty(count);
            MPI_Reduce(here ? MPI_IN_PLACE : send.data(), out.data(), n, type.type, op, root,
                       c.comm);
            if (c.rank == root) read_all(digest, type, out, count);
        }
        std::size_t const all = count * static_cast<std::size_t>(c.size);
        Bytes const whole = vector_of(type, all, c.rank);
        out = in_place ? whole : empty(count);
        MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : whole.data(), out.data(), n, type.type,
                                 op, c.comm);
        for (std::size_t i = 0; i < count; ++i) type.read(digest, &out[i * type.bytes]);
        std::vector<int> counts;
        std::size_t sum = 0;
        for (int r = 0; r < c.size; ++r) {
            counts.push_back(r == 1 ? 0 : n + r);
            sum += static_cast<std::size_t>(counts.back());
        }
        Bytes const uneven = vector_of(type, sum, c.rank);
        auto const own = static_cast<std::size_t>(counts[static_cast<std::size_t>(c.rank)]);
        out = in_place ? uneven : empty(own);
        MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : uneven.data(), out.data(), counts.data(),
                           type.type, op, c.comm);
        for (std::size_t i = 0; i < own; ++i) type.read(digest, &out[i * type.bytes]);
    }
}

void all_reductions(Comm const& c) {
    std::vector<Type> const integers{plain<signed char>("signed_char", MPI_SIGNED_CHAR),
                                     plain<short>("short", MPI_SHORT),
                                     plain<int>("int", MPI_INT),
                                     plain<long>("long", MPI_LONG),
                                     plain<long long>("long_long", MPI_LONG_LONG),
                                     plain<unsigned char>("unsigned_char", MPI_UNSIGNED_CHAR),
                                     plain<unsigned short>("unsigned_short", MPI_UNSIGNED_SHORT),
                                     plain<unsigned>("unsigned", MPI_UNSIGNED),
                                     plain<unsigned long>("ulong", MPI_UNSIGNED_LONG),
                                     plain<std::int8_t>("int8", MPI_INT8_T),
                                     plain<std::int16_t>("int16", MPI_INT16_T),
                                     plain<std::int32_t>("int32", MPI_INT32_T),
                                     plain<std::int64_t>("int64", MPI_INT64_T),
                                     plain<std::uint8_t>("uint8", MPI_UINT8_T),
                                     plain<std::uint16_t>("uint16", MPI_UINT16_T),
                                     plain<std::uint32_t>("uint32", MPI_UINT32_T),
                                     plain<std::uint64_t>("uint64", MPI_UINT64_T),
                                     plain<MPI_Aint>("aint", MPI_AINT),
                                     plain<MPI_Offset>("offset", MPI_OFFSET)};
    std::vector<Type> const floats{
        plain<float>("float", MPI_FLOAT), plain<double>("double", MPI_DOUBLE),
        plain<long double>("long_double", MPI_LONG_DOUBLE), plain<float>("real", MPI_REAL),
        plain<double>("double_precision", MPI_DOUBLE_PRECISION)};
    std::vector<Type> const complexes{
        plain<std::complex<float>>("c_float_complex", MPI_C_FLOAT_COMPLEX),
        plain<std::complex<double>>("c_double_complex", MPI_C_DOUBLE_COMPLEX),
        plain<std::complex<float>>("complex", MPI_COMPLEX),
        plain<std::complex<double>>("double_complex", MPI_DOUBLE_COMPLEX)};
    std::vector<Type> const pairs{pair<float>("float_int", MPI_FLOAT_INT),
                                  pair<double>("double_int", MPI_DOUBLE_INT),
                                  pair<int>("2int", MPI_2INT),
                                  pair<long>("long_int", MPI_LONG_INT),
                                  pair<short>("short_int", MPI_SHORT_INT),
                                  pair<float, float>("2real", MPI_2REAL)};
    std::vector<Op> const arithmetic{
        {"sum", MPI_SUM}, {"prod", MPI_PROD}, {"min", MPI_MIN}, {"max", MPI_MAX}};
    std::vector<Op> const bits{{"band", MPI_BAND}, {"bor", MPI_BOR}, {"bxor", MPI_BXOR}};
    std::vector<Op> const truths{{"land", MPI_LAND}, {"lor", MPI_LOR}, {"lxor", MPI_LXOR}};
    auto const run = [&](std::vector<Type> const& types, std::vector<Op> const& ops) {
        for (Type const& type : types)
            for (Op const& op : ops) {
                Digest digest;
                for (std::size_t const count : {1, 600}) reductions(digest, c, type, op.op, count);
                print(std::string(c.name) + " " + op.name + " " + type.name, digest);
            }
    };
    run(integers, arithmetic);
    run(integers, bits);
    run(integers, truths);
    run(floats, arithmetic);
    run(complexes, {{"sum", MPI_SUM}, {"prod", MPI_PROD}});
    run(pairs, {{"minloc", MPI_MINLOC}, {"maxloc", MPI_MAXLOC}});
    run({plain<int>("integer", MPI_INTEGER)}, arithmetic);
    run({plain<int>("integer", MPI_INTEGER)}, bits);
    run({plain<int>("logical", MPI_LOGICAL)}, truths);
    run({plain<bool>("c_bool", MPI_C_BOOL)}, truths);
    run({plain<unsigned char>("byte", MPI_BYTE)}, bits);
    for (std::size_t const count : {0, 3, 14, 15, 3000, 30000, 300000}) {
        Digest digest;
        reductions(digest, c, plain<int>("int", MPI_INT), MPI_SUM, count);
        reductions(digest, c, plain<double>("double", MPI_DOUBLE), MPI_MAX, count);
        print(std::string(c.name) + " count " + std::to_string(count), digest);
    }
}

/// An operation that is not commutative: (a, b) stands for x -> a x + b, modulo 65521.
struct Affine {
    std::int64_t a, b;
};
void compose(void* lower, void* higher, int* count, MPI_Datatype*) {
    auto const* const first = static_cast<Affine const*>(lower);
    auto* const second = static_cast<Affine*>(higher);
    for (int i = 0; i < *count; ++i)
        second[i] = {first[i].a * second[i].a % 65521,
                     (first[i].a * second[i].b + first[i].b) % 65521};
}

void program_operations(Comm const& c) {
    MPI_Datatype affine = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT64_T, &affine);
    MPI_Type_commit(&affine);
    Type const type{"affine", affine, sizeof(Affine),
                    [](void* to, int value) {
                        Affine const v{value + 1, value * 3};
                        std::memcpy(to, &v, sizeof v);
                    },
                    [](Digest& digest, void const* from) { digest.add(from, sizeof(Affine)); }};
    for (int const commutes : {0, 1}) {
        MPI_Op op = MPI_OP_NULL;
        MPI_Op_create(compose, commutes, &op);
        Digest digest;
        if (commutes == 0)
            for (std::size_t const count : {0, 1, 3, 200, 30000})
                reductions(digest, c, type, op, count);
        MPI_Op_free(&op);
        print(std::string(c.name) + " operation of the program " + std::to_string(commutes),
              digest);
    }
    MPI_Type_free(&affine);
}

/// The same data in several layouts: `pieces` doubles to an element.
struct Layout {
    char const* name;
    MPI_Datatype type;
    std::size_t extent;               ///< in doubles
    std::vector<std::size_t> places;  ///< of the pieces, in doubles, in the order sent
};
constexpr std::size_t pieces = 4;

std::vector<Layout> layouts() {
    std::vector<Layout> all;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(4, MPI_DOUBLE, &type);
    all.push_back({"contiguous", type, 4, {0, 1, 2, 3}});
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &type);
    all.push_back({"vector", type, 7, {0, 2, 4, 6}});
    int const lengths[] = {2, 2}, backwards[] = {2, 0};
    MPI_Type_indexed(2, lengths, backwards, MPI_DOUBLE, &type);
    all.push_back({"indexed", type, 4, {2, 3, 0, 1}});
    MPI_Datatype three = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(4, MPI_DOUBLE, &three);
    MPI_Type_create_resized(three, 0, 6 * sizeof(double), &type);
    MPI_Type_free(&three);
    all.push_back({"resized", type, 6, {0, 1, 2, 3}});
    int const ones[] = {1, 3};
    MPI_Aint const apart[] = {0, 2 * sizeof(double)};
    MPI_Datatype const doubles[] = {MPI_DOUBLE, MPI_DOUBLE};
    MPI_Type_create_struct(2, ones, apart, doubles, &type);
    all.push_back({"struct", type, 5, {0, 2, 3, 4}});
    for (Layout& layout : all) MPI_Type_commit(&layout.type);
    return all;
}

/// A buffer of elements of a layout.
class Buffer {
public:
    Buffer(Layout const& layout, std::size_t elements)
        : layout_(layout), data_(elements * layout.extent + 2) {
        std::memset(data_.data(), untouched, data_.size() * sizeof(double));
    }
    void fill(std::size_t first, std::size_t elements, int seed) {
        for (std::size_t e = 0; e < elements; ++e)
            for (std::size_t p = 0; p < pieces; ++p)
                data_[(first + e) * layout_.extent + layout_.places[p]] =
                    static_cast<double>(seed) * 100 + static_cast<double>(e % 977) * 7 +
                    static_cast<double>(p);
    }
    double* data() { return data_.data(); }
    void read(Digest& digest) const { digest.add(data_.data(), data_.size() * sizeof(double)); }

private:
    Layout const& layout_;
    std::vector<double> data_;
};

/// All movements, `in` and `out` being the layouts of this rank: they differ between ranks.
void movements(Digest& digest, Comm const& c, Layout const& in, Layout const& out, int n) {
    auto const ranks = static_cast<std::size_t>(c.size), self = static_cast<std::size_t>(c.rank);
    auto const count = static_cast<std::size_t>(n);
    for (int root = 0; root < c.size; ++root) {
        Layout const& mine = c.rank == root ? in : out;
        Buffer buffer(mine, count);
        if (c.rank == root) buffer.fill(0, count, root);
        MPI_Bcast(buffer.data(), n, mine.type, root, c.comm);
        buffer.read(digest);
    }
    std::vector<int> counts, offsets;
    int end = 0;
    for (int r = 0; r < c.size; ++r) {
        counts.push_back(r % 3 == 1 ? 0 : n + r);
        offsets.push_back(end + 1);
        end += counts.back() + 1;
    }
    int const own = counts[self];
    auto const room = static_cast<std::size_t>(end) + 1;
    for (bool const in_place : {false, true}) {
        Buffer send(in, count);
        send.fill(0, count, c.rank);
        Buffer all(out, count * ranks);
        if (in_place) all.fill(count * self, count, c.rank);
        MPI_Allgather(in_place ? MPI_IN_PLACE : send.data(), n, in.type, all.data(), n, out.type,
                      c.comm);
        all.read(digest);

        Buffer part(in, static_cast<std::size_t>(own));
        part.fill(0, static_cast<std::size_t>(own), c.rank);
        Buffer parts(out, room);
        if (in_place)
            parts.fill(static_cast<std::size_t>(offsets[self]), static_cast<std::size_t>(own),
                       c.rank);
        MPI_Allgatherv(in_place ? MPI_IN_PLACE : part.data(), own, in.type, parts.data(),
                       counts.data(), offsets.data(), out.type, c.comm);
        parts.read(digest);

        for (int root = 0; root<c.size; root += c.size> 2 ? 2 : 1) {
            bool const here = in_place && c.rank == root;
            Buffer gathered(out, count * ranks);
            if (here) gathered.fill(count * self, count, c.rank);
            MPI_Gather(here ? MPI_IN_PLACE : send.data(), n, in.type, gathered.data(), n, out.type,
                       root, c.comm);
            gathered.read(digest);
            Buffer gathered_parts(out, room);
            if (here)
                gathered_parts.fill(static_cast<std::size_t>(offsets[self]),
                                    static_cast<std::size_t>(own), c.rank);
            MPI_Gatherv(here ? MPI_IN_PLACE : part.data(), own, in.type, gathered_parts.data(),
                        counts.data(), offsets.data(), out.type, root, c.comm);
            gathered_parts.read(digest);

            Buffer source(in, count * ranks);
            source.fill(0, count * ranks, root);
            Buffer scattered(out, count);
            MPI_Scatter(source.data(), n, in.type, here ? MPI_IN_PLACE : scattered.data(), n,
                        out.type, root, c.comm);
            scattered.read(digest);
            Buffer source_parts(in, room);
            source_parts.fill(0, room, root);
            Buffer scattered_part(out, static_cast<std::size_t>(own));
            MPI_Scatterv(source_parts.data(), counts.data(), offsets.data(), in.type,
                         here ? MPI_IN_PLACE : scattered_part.data(), own, out.type, root, c.comm);
            scattered_part.read(digest);
        }

        Buffer to_all(in, count * ranks);
        to_all.fill(0, count * ranks, c.rank);
        Buffer from_all(out, count * ranks);
        if (in_place) from_all.fill(0, count * ranks, c.rank);
        MPI_Alltoall(in_place ? MPI_IN_PLACE : to_all.data(), n, in.type, from_all.data(), n,
                     out.type, c.comm);
        from_all.read(digest);

        // Rank i sends (i + j) % 3 * n elements to rank j, as many as it receives.
        std::vector<int> sizes, places;
        int sum = 0;
        for (int r = 0; r < c.size; ++r) {
            sizes.push_back((c.rank + r) % 3 * n);
            places.push_back(sum);
            sum += sizes.back() + 2;
        }
        Buffer to_each(in, static_cast<std::size_t>(sum));
        to_each.fill(0, static_cast<std::size_t>(sum), c.rank + 50);
        Buffer from_each(out, static_cast<std::size_t>(sum));
        if (in_place) from_each.fill(0, static_cast<std::size_t>(sum), c.rank + 50);
        MPI_Alltoallv(in_place ? MPI_IN_PLACE : to_each.data(), sizes.data(), places.data(),
                      in.type, from_each.data(), sizes.data(), places.data(), out.type, c.comm);
        from_each.read(digest);
    }
    MPI_Barrier(c.comm);
}

void all_movements(Comm const& c) {
    std::vector<Layout> all = layouts();
    for (std::size_t i = 0; i < all.size(); ++i) {
        Digest digest;
        for (int const n : {0, 1, 5, 300, 4000}) {
            // Another layout on each rank, and another one to receive than to send.
            Layout const& in = all[(i + static_cast<std::size_t>(c.rank)) % all.size()];
            Layout const& out = all[(i + 2 * static_cast<std::size_t>(c.rank) + 1) % all.size()];
            movements(digest, c, in, out, n);
            movements(digest, c, all[i], all[i], n);
        }
        print(std::string(c.name) + " movements " + all[i].name, digest);
    }
    for (Layout& layout : all) MPI_Type_free(&layout.type);
}

/// Types that hold addresses, with MPI_BOTTOM as buffer.
void absolute(Comm const& c) {
    std::vector<int> data(100, c.rank == 0 ? 42 : 0);
    int length = 100;
    MPI_Aint address = 0;
    MPI_Get_address(data.data(), &address);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (c.rank == 0) MPI_Bcast(data.data(), 100, MPI_INT, 0, c.comm);
    else MPI_Bcast(MPI_BOTTOM, 1, type, 0, c.comm);
    MPI_Type_free(&type);
    Digest digest;
    digest.add(data.data(), data.size() * sizeof(int));
    print(std::string(c.name) + " bottom", digest);
}

/// Vectors in memory of MPI_Alloc_mem, on all ranks or on some.
void allocated(Comm const& c) {
    Digest digest;
    for (int const which : {0, 1}) {
        std::size_t const count = 200000, bytes = count * sizeof(float);
        bool const here = which == 0 || c.rank % 2 == 0;
        Bytes own(here ? 0 : 2 * bytes);
        void* memory = own.data();
        if (here) MPI_Alloc_mem(static_cast<MPI_Aint>(2 * bytes), MPI_INFO_NULL, &memory);
        auto* const in = static_cast<float*>(memory);
        float* const out = in + count;
        for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<float>(value_of(c.rank, i));
        int const n = static_cast<int>(count);
        MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, c.comm);
        digest.add(out, bytes);
        MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_FLOAT, MPI_MAX, c.comm);
        digest.add(in, bytes);
        MPI_Bcast(out, n, MPI_FLOAT, c.size - 1, c.comm);
        int const block = n / c.size;
        MPI_Allgather(in, block, MPI_FLOAT, out, block, MPI_FLOAT, c.comm);
        digest.add(out, static_cast<std::size_t>(block * c.size) * sizeof(float));
        if (here) MPI_Free_mem(memory);
    }
    print(std::string(c.name) + " MPI_Alloc_mem", digest);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm reversed = MPI_COMM_NULL, part = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == world_size - 1 ? 1 : 0, world_rank, &part);
    MPI_Comm_dup(reversed, &copy);
    Comm const comms[] = {{"world", MPI_COMM_WORLD},
                          {"reversed", reversed},
                          {"part", part},
                          {"copy", copy},
                          {"self", MPI_COMM_SELF}};
    all_reductions(comms[0]);
    for (Comm const& c : comms) {
        Digest digest;
        reductions(digest, c, plain<int>("int", MPI_INT), MPI_SUM, 1000);
        print(std::string(c.name) + " sum", digest);
        program_operations(c);
        if (&c == comms || &c == &comms[2]) all_movements(c);
        absolute(c);
        allocated(c);
    }
    print_all();
    MPI_Comm_free(&copy);
    MPI_Comm_free(&part);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
