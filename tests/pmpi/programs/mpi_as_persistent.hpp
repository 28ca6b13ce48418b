// SPDX-License-Identifier: Apache-2.0
// Included before a program, this replaces its blocking collectives by persistent ones. Each is started
// twice: the first time with other contents of the buffers, which count only from the start on.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "tests/pmpi/programs/mpi_completion.hpp"
#include "tests/pmpi/programs/mpi_persistent_names.hpp"

#define SINEW_PERSISTENT 1

namespace persistent {

/// Copies bytes of buffers; another header may know of memory that the processor cannot touch.
inline void (*copy)(void*, void const*, std::size_t) =
    [](void* to, void const* from, std::size_t bytes) { std::memcpy(to, from, bytes); };

/// The bytes of a buffer of the program, saved when it is made.
class Region {
public:
    Region(void const* buffer, std::ptrdiff_t first, std::ptrdiff_t elements, MPI_Datatype type) {
        if (buffer == MPI_IN_PLACE || elements <= 0 || type == MPI_DATATYPE_NULL) return;
        MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
        MPI_Type_get_extent(type, &low, &extent);
        MPI_Type_get_true_extent(type, &true_low, &true_extent);
        // MPI_BOTTOM is null, and its types hold addresses.
        begin_ =
            reinterpret_cast<char*>(reinterpret_cast<MPI_Aint>(buffer) + true_low + first * extent);
        auto const bytes = static_cast<std::size_t>((elements - 1) * extent + true_extent);
        if (buffer == nullptr && true_low == 0) return;
        saved_.resize(bytes);
        copy(saved_.data(), begin_, bytes);
    }
    static Region none() { return {nullptr, 0, 0, MPI_DATATYPE_NULL}; }
    void clear() const {
        if (saved_.empty()) return;
        std::vector<char> const zeros(saved_.size());
        copy(begin_, zeros.data(), zeros.size());
    }
    void restore() const {
        if (!saved_.empty()) copy(begin_, saved_.data(), saved_.size());
    }

private:
    char* begin_ = nullptr;
    std::vector<char> saved_;
};

struct Place {
    int rank = 0, size = 0;
    explicit Place(MPI_Comm comm) {
        if (comm == MPI_COMM_NULL) return;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
    }
};

/// A buffer with a part for each rank.
inline Region parts(void const* buffer, int const* counts, int const* offsets, int ranks,
                    MPI_Datatype type) {
    int first = 0, end = 0;
    for (int r = 0; r < ranks; ++r) {
        if (counts[r] == 0) continue;
        if (end == 0 || offsets[r] < first) first = offsets[r];
        if (offsets[r] + counts[r] > end) end = offsets[r] + counts[r];
    }
    return {buffer, first, end - first, type};
}
inline Region parts(void const* buffer, int count, int ranks, MPI_Datatype type) {
    return {buffer, 0, static_cast<std::ptrdiff_t>(count) * ranks, type};
}
inline int sum(int const* counts, int ranks) {
    int result = 0;
    for (int r = 0; r < ranks; ++r) result += counts[r];
    return result;
}

/// Initializes a request and starts it twice.
template <class Initialize>
int twice(std::initializer_list<Region> regions, Initialize const& initialize) {
    static std::atomic<int> calls{0};
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (int const code = initialize(&requests[1])) return code;
    [[maybe_unused]] MPI_Status status;
    for (bool const second : {false, true}) {
        if (second)
            for (Region const& region : regions) region.restore();
        else
            for (Region const& region : regions) region.clear();
#ifndef MPICH_VERSION                     // MPICH 4.0.2 itself waits for ever
        MPI_Wait(&requests[1], &status);  // returns at once: it is inactive
#endif
        if (int const code =
                calls++ % 2 == 0 ? MPI_Start(&requests[1]) : MPI_Startall(1, &requests[1]))
            return code;
#ifdef MPICH_VERSION  // MPI_Testall of its own persistent collectives fails in MPICH 4.0.2
        if (int const code = MPI_Wait(&requests[1], &status)) return code;
#else
        if (int const code = completion::complete(requests)) return code;
#endif
    }
    return MPI_Request_free(&requests[1]);
}

}  // namespace persistent

#define SINEW_TWICE(comm, ...)                                                                \
    [&](std::initializer_list<persistent::Region> regions) {                                  \
        return persistent::twice(regions, [&](MPI_Request* request) { return __VA_ARGS__; }); \
    }
#define SINEW_SIZE(c) persistent::Place(c).size
#define SINEW_RANK(c) persistent::Place(c).rank
#define SINEW_AT(root, c, region) (SINEW_RANK(c) == (root) ? region : persistent::Region::none())

#define SINEW_VECTORS(name, s, r, n, t, o, c)                                  \
    SINEW_TWICE(c, SINEW_INIT(name)(s, r, n, t, o, c, MPI_INFO_NULL, request)) \
    ({persistent::Region(s, 0, n, t), persistent::Region(r, 0, n, t)})
#define MPI_Allreduce(s, r, n, t, o, c) SINEW_VECTORS(Allreduce, s, r, n, t, o, c)
#define MPI_Scan(s, r, n, t, o, c) SINEW_VECTORS(Scan, s, r, n, t, o, c)
#define MPI_Exscan(s, r, n, t, o, c) SINEW_VECTORS(Exscan, s, r, n, t, o, c)
#define MPI_Reduce(s, r, n, t, o, root, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Reduce)(s, r, n, t, o, root, c, MPI_INFO_NULL, request)) \
    ({persistent::Region(s, 0, n, t), SINEW_AT(root, c, persistent::Region(r, 0, n, t))})
// In place, the buffer that is received holds the vectors.
#define MPI_Reduce_scatter_block(s, r, n, t, o, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Reduce_scatter_block)(s, r, n, t, o, c, MPI_INFO_NULL, request)) \
    ({persistent::parts(s, n, SINEW_SIZE(c), t),                                               \
      persistent::parts(r, n, (s) == MPI_IN_PLACE ? SINEW_SIZE(c) : 1, t)})
#define MPI_Reduce_scatter(s, r, n, t, o, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Reduce_scatter)(s, r, n, t, o, c, MPI_INFO_NULL, request)) \
    ({persistent::Region(s, 0, persistent::sum(n, SINEW_SIZE(c)), t),                    \
      persistent::Region(                                                                \
          r, 0, (s) == MPI_IN_PLACE ? persistent::sum(n, SINEW_SIZE(c)) : (n)[SINEW_RANK(c)], t)})
#define MPI_Bcast(b, n, t, root, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Bcast)(b, n, t, root, c, MPI_INFO_NULL, request)) \
    ({persistent::Region(b, 0, n, t)})
#define MPI_Allgather(s, n, t, r, m, u, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Allgather)(s, n, t, r, m, u, c, MPI_INFO_NULL, request)) \
    ({persistent::Region(s, 0, n, t), persistent::parts(r, m, SINEW_SIZE(c), u)})
#define MPI_Allgatherv(s, n, t, r, m, d, u, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Allgatherv)(s, n, t, r, m, d, u, c, MPI_INFO_NULL, request)) \
    ({persistent::Region(s, 0, n, t), persistent::parts(r, m, d, SINEW_SIZE(c), u)})
#define MPI_Gather(s, n, t, r, m, u, root, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Gather)(s, n, t, r, m, u, root, c, MPI_INFO_NULL, request)) \
    ({persistent::Region(s, 0, n, t), SINEW_AT(root, c, persistent::parts(r, m, SINEW_SIZE(c), u))})
#define MPI_Gatherv(s, n, t, r, m, d, u, root, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Gatherv)(s, n, t, r, m, d, u, root, c, MPI_INFO_NULL, request)) \
    ({persistent::Region(s, 0, n, t),                                                         \
      SINEW_AT(root, c, persistent::parts(r, m, d, SINEW_SIZE(c), u))})
#define MPI_Scatter(s, n, t, r, m, u, root, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Scatter)(s, n, t, r, m, u, root, c, MPI_INFO_NULL, request)) \
    ({SINEW_AT(root, c, persistent::parts(s, n, SINEW_SIZE(c), t)), persistent::Region(r, 0, m, u)})
#define MPI_Scatterv(s, n, d, t, r, m, u, root, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Scatterv)(s, n, d, t, r, m, u, root, c, MPI_INFO_NULL, request)) \
    ({SINEW_AT(root, c, persistent::parts(s, n, d, SINEW_SIZE(c), t)),                         \
      persistent::Region(r, 0, m, u)})
#define MPI_Alltoall(s, n, t, r, m, u, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Alltoall)(s, n, t, r, m, u, c, MPI_INFO_NULL, request)) \
    ({persistent::parts(s, n, SINEW_SIZE(c), t), persistent::parts(r, m, SINEW_SIZE(c), u)})
#define MPI_Alltoallv(s, n, d, t, r, m, e, u, c)                                             \
    SINEW_TWICE(c, SINEW_INIT(Alltoallv)(s, n, d, t, r, m, e, u, c, MPI_INFO_NULL, request)) \
    ({persistent::parts(s, n, d, SINEW_SIZE(c), t), persistent::parts(r, m, e, SINEW_SIZE(c), u)})
#define MPI_Barrier(c) SINEW_TWICE(c, SINEW_INIT(Barrier)(c, MPI_INFO_NULL, request))({})
