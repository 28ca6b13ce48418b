// SPDX-License-Identifier: Apache-2.0
// What mpi_every_collective.cpp sends, and how it digests what arrives.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace every_collective {

constexpr unsigned char untouched = 0xAB;
using Bytes = std::vector<unsigned char>;

class Digest {
public:
    void add(void const* data, std::size_t bytes) {
        auto const* p = static_cast<unsigned char const*>(data);
        for (std::size_t i = 0; i < bytes; ++i) value_ = (value_ ^ p[i]) * 0x100000001b3ULL;
    }
    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

inline int world_rank = 0, world_size = 1;

/// What this rank has got in each case so far.
inline std::vector<std::string> cases;
inline std::vector<std::uint64_t> digests;

inline void print(std::string const& name, Digest const& digest) {
    cases.push_back(name);
    digests.push_back(digest.value());
}
/// Rank 0 prints the digests of all ranks. Messages only: the collectives are what is tested.
inline void print_all() {
    int const n = static_cast<int>(digests.size());
    if (world_rank != 0) {
        MPI_Send(digests.data(), n, MPI_UINT64_T, 0, 7, MPI_COMM_WORLD);
        return;
    }
    std::vector<Digest> all(digests.size());
    std::vector<std::uint64_t> theirs = digests;
    for (int r = 0; r < world_size; ++r) {
        if (r > 0)
            MPI_Recv(theirs.data(), n, MPI_UINT64_T, r, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (std::size_t i = 0; i < all.size(); ++i) all[i].add(&theirs[i], sizeof theirs[i]);
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        std::printf("%s %016llx\n", cases[i].c_str(),
                    static_cast<unsigned long long>(all[i].value()));
}

struct Comm {
    char const* name;
    MPI_Comm comm;
    int rank, size;
    Comm(char const* n, MPI_Comm c) : name(n), comm(c) {
        MPI_Comm_rank(c, &rank);
        MPI_Comm_size(c, &size);
    }
};

/// A type as an array of values: how to write one, and which of its bytes count.
struct Type {
    char const* name;
    MPI_Datatype type;
    std::size_t bytes;
    std::function<void(void*, int value)> write;
    std::function<void(Digest&, void const*)> read;
};

template <class T>
Type plain(char const* name, MPI_Datatype type) {
    return {name, type, sizeof(T),
            [](void* to, int value) {
                T const v = static_cast<T>(value);
                std::memset(to, 0, sizeof v);
                std::memcpy(to, &v, sizeof v);
            },
            [](Digest& digest, void const* from) {
                if (std::is_same_v<T, long double>) digest.add(from, 10);
                else digest.add(from, sizeof(T));
            }};
}
template <class T, class Index = int>
Type pair(char const* name, MPI_Datatype type) {
    struct Pair {
        T value;
        Index index;
    };
    return {name, type, sizeof(Pair),
            [](void* to, int value) {
                Pair const v{static_cast<T>(value % 5), static_cast<Index>(value)};
                std::memcpy(to, &v, sizeof v);
            },
            [](Digest& digest, void const* from) {
                Pair v;
                std::memcpy(&v, from, sizeof v);
                double const value = static_cast<double>(v.value);
                digest.add(&value, sizeof value);
                digest.add(&v.index, sizeof v.index);
            }};
}

struct Op {
    char const* name;
    MPI_Op op;
};

inline int value_of(int rank, std::size_t index) {
    return 1 + static_cast<int>((static_cast<std::size_t>(rank) * 7 + index * 3) % 4);
}

/// The vector of a rank.
inline Bytes vector_of(Type const& type, std::size_t count, int rank) {
    Bytes data(count * type.bytes + 16, untouched);
    for (std::size_t i = 0; i < count; ++i) type.write(&data[i * type.bytes], value_of(rank, i));
    return data;
}
inline void read_all(Digest& digest, Type const& type, Bytes const& data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) type.read(digest, &data[i * type.bytes]);
    digest.add(&data[count * type.bytes], 16);  // nothing is written beyond the end
}

}  // namespace every_collective
