// SPDX-License-Identifier: Apache-2.0
// Included before a program, and after another header of this kind, this gives its collectives copies of its
// buffers in the memory of a GPU, by the CUDA driver whose path is in SINEW_TEST_CUDA: the real one, or the
// stand-in, with which a processor that touches them crashes. Without the variable nothing is changed.
#pragma once

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace device {

class Driver {
public:
    /// Null without the variable.
    static Driver* get() {
        static Driver* const driver =
            std::getenv("SINEW_TEST_CUDA") != nullptr ? new Driver : nullptr;
        return driver;
    }
    char* allocate(std::size_t bytes) {
        unsigned long long memory = 0;
        if (allocate_(&memory, bytes) != 0) std::abort();
        if (buffers_++ == 0) std::fprintf(stderr, "buffers are in the memory of a GPU\n");
        return reinterpret_cast<char*>(memory);
    }
    void release(char* memory) { free_(reinterpret_cast<unsigned long long>(memory)); }
    /// From or to either kind of memory.
    void copy(void* to, void const* from, std::size_t bytes) {
        if (copy_(reinterpret_cast<unsigned long long>(to),
                  reinterpret_cast<unsigned long long>(from), bytes) != 0)
            std::fprintf(stderr, "cuMemcpy fails\n"), std::abort();
    }

private:
    Driver() {
        void* const library = dlopen(std::getenv("SINEW_TEST_CUDA"), RTLD_NOW);
        if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror()), std::abort();
        find(library, "cuMemAlloc_v2", allocate_);
        find(library, "cuMemFree_v2", free_);
        find(library, "cuMemcpy", copy_);
        if (void* const stand_in = dlsym(library, "fake_cuda_use_device"))
            reinterpret_cast<void (*)(int)>(stand_in)(0);
        else use_first_gpu(library);
#ifdef SINEW_PERSISTENT
        persistent::copy = [](void* to, void const* from, std::size_t bytes) {
            get()->copy(to, from, bytes);
        };
#endif
        usleep(20000);  // as short a time as a real driver could need to start
    }
    static void use_first_gpu(void* library) {
        int (*init)(unsigned) = nullptr;
        int (*retain)(void**, int) = nullptr;
        int (*set)(void*) = nullptr;
        find(library, "cuInit", init);
        find(library, "cuDevicePrimaryCtxRetain", retain);
        find(library, "cuCtxSetCurrent", set);
        void* context = nullptr;
        if (init(0) != 0 || retain(&context, 0) != 0 || set(context) != 0)
            std::fprintf(stderr, "the first GPU cannot be used\n"), std::abort();
    }
    template <class Function>
    static void find(void* library, char const* name, Function*& function) {
        function = reinterpret_cast<Function*>(dlsym(library, name));
        if (function == nullptr) std::fprintf(stderr, "there is no %s\n", name), std::abort();
    }

    int (*allocate_)(unsigned long long*, std::size_t) = nullptr;
    int (*free_)(unsigned long long) = nullptr;
    int (*copy_)(unsigned long long, unsigned long long, std::size_t) = nullptr;
    unsigned long buffers_ = 0;
};

/// Whether the next call gets the program's own buffers: if it is MPI's, which knows nothing of GPUs.
inline thread_local bool on_host = false;

inline void movement(MPI_Comm comm) {
    int ranks = 0, between = 0;
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_test_inter(comm, &between);
    // Otherwise the ranks take turns in having host memory, so that both kinds meet in one call.
    static int const world_rank = [] {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return rank;
    }();
    static int calls = 0;
    on_host = ranks == 1 || between != 0 || (++calls / 2 + world_rank) % 3 == 0;
}
inline void reduction(MPI_Comm comm, MPI_Datatype type, MPI_Op op) {
    movement(comm);
    for (MPI_Datatype const other :
         {MPI_LONG_DOUBLE, MPI_SHORT_INT, MPI_2REAL, MPI_AINT, MPI_OFFSET})
        on_host = on_host || type == other;
    bool predefined = false;
    for (MPI_Op const known : {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR,
                               MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC})
        predefined = predefined || op == known;
    on_host = on_host || !predefined;
}

/// Elements of a buffer of the program, and their copy, which is written back at the end.
class Copy {
public:
    /// `first`: the place of the first element, in extents of the type.
    Copy(void const* buffer, std::ptrdiff_t first, std::ptrdiff_t elements, MPI_Datatype type,
         bool writes)
        : buffer_(const_cast<void*>(buffer)), writes_(writes) {
        if (buffer == MPI_IN_PLACE || buffer == MPI_BOTTOM || elements <= 0 ||
            type == MPI_DATATYPE_NULL || on_host || Driver::get() == nullptr)
            return;
        MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
        MPI_Type_get_extent(type, &low, &extent);
        MPI_Type_get_true_extent(type, &true_low, &true_extent);
        // In C these are structures, whose arrays end with what fills up the last one.
        if (type == MPI_DOUBLE_INT || type == MPI_LONG_INT) true_extent = extent;
        std::ptrdiff_t const last = (elements - 1) * extent;
        offset_ = first * extent + true_low + std::min<std::ptrdiff_t>(last, 0);
        bytes_ = static_cast<std::size_t>(true_extent + std::abs(last));
        if (bytes_ == 0) return;
        copy_ = Driver::get()->allocate(bytes_);
        Driver::get()->copy(copy_, static_cast<char*>(buffer_) + offset_, bytes_);
    }
    Copy(Copy const&) = delete;
    Copy& operator=(Copy const&) = delete;
    ~Copy() {
        if (copy_ == nullptr) return;
        if (writes_) Driver::get()->copy(static_cast<char*>(buffer_) + offset_, copy_, bytes_);
        Driver::get()->release(copy_);
    }
    /// What the call gets for the buffer.
    void* get() const { return copy_ != nullptr ? copy_ - offset_ : buffer_; }

private:
    void* buffer_;
    bool writes_;
    std::ptrdiff_t offset_ = 0;
    std::size_t bytes_ = 0;
    char* copy_ = nullptr;
};

/// Of a vector or one message.
inline Copy sent(void const* buffer, std::ptrdiff_t elements, MPI_Datatype type) {
    return {buffer, 0, elements, type, false};
}
inline Copy received(void* buffer, std::ptrdiff_t elements, MPI_Datatype type) {
    return {buffer, 0, elements, type, true};
}
/// Of listed parts.
inline Copy parts(void const* buffer, int const* counts, int const* places, int ranks,
                  MPI_Datatype type, bool writes) {
    std::ptrdiff_t begin = 0, end = 0;
    for (int r = 0; r < ranks; ++r) {
        if (counts[r] == 0) continue;
        std::ptrdiff_t const first = places[r], last = first + counts[r];
        begin = end == begin ? first : std::min(begin, first);
        end = std::max(end, last);
    }
    return {buffer, begin, end - begin, type, writes};
}

struct Place {
    int rank = 0, size = 0;
    explicit Place(MPI_Comm comm) {
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
    }
};

inline int Allreduce(void const* s, void* r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
    reduction(c, t, o);
    Copy const in = sent(s, n, t), out = received(r, n, t);
    return MPI_Allreduce(in.get(), out.get(), n, t, o, c);
}
inline int Scan(void const* s, void* r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
    reduction(c, t, o);
    Copy const in = sent(s, n, t), out = received(r, n, t);
    return MPI_Scan(in.get(), out.get(), n, t, o, c);
}
inline int Exscan(void const* s, void* r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
    reduction(c, t, o);
    Copy const in = sent(s, n, t), out = received(r, n, t);
    return MPI_Exscan(in.get(), out.get(), n, t, o, c);
}
inline int Reduce(void const* s, void* r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c) {
    reduction(c, t, o);
    Copy const in = sent(s, n, t), out = received(r, Place(c).rank == root ? n : 0, t);
    return MPI_Reduce(in.get(), out.get(), n, t, o, root, c);
}
inline int Reduce_scatter_block(void const* s, void* r, int n, MPI_Datatype t, MPI_Op o,
                                MPI_Comm c) {
    reduction(c, t, o);
    bool const in_place = s == MPI_IN_PLACE;
    int const all = n * Place(c).size;
    Copy const in = sent(s, all, t), out = received(r, in_place ? all : n, t);
    return MPI_Reduce_scatter_block(in.get(), out.get(), n, t, o, c);
}
inline int Reduce_scatter(void const* s, void* r, int const* n, MPI_Datatype t, MPI_Op o,
                          MPI_Comm c) {
    reduction(c, t, o);
    Place const place(c);
    int all = 0;
    for (int i = 0; i < place.size; ++i) all += n[i];
    Copy const in = sent(s, all, t), out = received(r, s == MPI_IN_PLACE ? all : n[place.rank], t);
    return MPI_Reduce_scatter(in.get(), out.get(), n, t, o, c);
}
inline int Bcast(void* b, int n, MPI_Datatype t, int root, MPI_Comm c) {
    movement(c);
    Copy const data = received(b, n, t);
    return MPI_Bcast(data.get(), n, t, root, c);
}
inline int Allgather(void const* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u,
                     MPI_Comm c) {
    movement(c);
    Copy const in = sent(s, n, t), out = received(r, m * Place(c).size, u);
    return MPI_Allgather(in.get(), n, t, out.get(), m, u, c);
}
inline int Allgatherv(void const* s, int n, MPI_Datatype t, void* r, int const* m, int const* d,
                      MPI_Datatype u, MPI_Comm c) {
    movement(c);
    Copy const in = sent(s, n, t), out = parts(r, m, d, Place(c).size, u, true);
    return MPI_Allgatherv(in.get(), n, t, out.get(), m, d, u, c);
}
inline int Gather(void const* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root,
                  MPI_Comm c) {
    movement(c);
    Place const place(c);
    Copy const in = sent(s, n, t), out = received(r, place.rank == root ? m * place.size : 0, u);
    return MPI_Gather(in.get(), n, t, out.get(), m, u, root, c);
}
inline int Gatherv(void const* s, int n, MPI_Datatype t, void* r, int const* m, int const* d,
                   MPI_Datatype u, int root, MPI_Comm c) {
    movement(c);
    Place const place(c);
    Copy const in = sent(s, n, t),
               out = parts(r, m, d, place.rank == root ? place.size : 0, u, true);
    return MPI_Gatherv(in.get(), n, t, out.get(), m, d, u, root, c);
}
inline int Scatter(void const* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root,
                   MPI_Comm c) {
    movement(c);
    Place const place(c);
    Copy const in = sent(s, place.rank == root ? n * place.size : 0, t), out = received(r, m, u);
    return MPI_Scatter(in.get(), n, t, out.get(), m, u, root, c);
}
inline int Scatterv(void const* s, int const* n, int const* d, MPI_Datatype t, void* r, int m,
                    MPI_Datatype u, int root, MPI_Comm c) {
    movement(c);
    Place const place(c);
    Copy const in = parts(s, n, d, place.rank == root ? place.size : 0, t, false),
               out = received(r, m, u);
    return MPI_Scatterv(in.get(), n, d, t, out.get(), m, u, root, c);
}
inline int Alltoall(void const* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u,
                    MPI_Comm c) {
    movement(c);
    int const ranks = Place(c).size;
    Copy const in = sent(s, n * ranks, t), out = received(r, m * ranks, u);
    return MPI_Alltoall(in.get(), n, t, out.get(), m, u, c);
}
inline int Alltoallv(void const* s, int const* n, int const* d, MPI_Datatype t, void* r,
                     int const* m, int const* e, MPI_Datatype u, MPI_Comm c) {
    movement(c);
    int const ranks = s == MPI_IN_PLACE ? 0 : Place(c).size;
    Copy const in = parts(s, n, d, ranks, t, false), out = parts(r, m, e, Place(c).size, u, true);
    return MPI_Alltoallv(in.get(), n, d, t, out.get(), m, e, u, c);
}

}  // namespace device

#undef MPI_Allreduce
#undef MPI_Scan
#undef MPI_Exscan
#undef MPI_Reduce
#undef MPI_Reduce_scatter_block
#undef MPI_Reduce_scatter
#undef MPI_Bcast
#undef MPI_Allgather
#undef MPI_Allgatherv
#undef MPI_Gather
#undef MPI_Gatherv
#undef MPI_Scatter
#undef MPI_Scatterv
#undef MPI_Alltoall
#undef MPI_Alltoallv
#define MPI_Allreduce device::Allreduce
#define MPI_Scan device::Scan
#define MPI_Exscan device::Exscan
#define MPI_Reduce device::Reduce
#define MPI_Reduce_scatter_block device::Reduce_scatter_block
#define MPI_Reduce_scatter device::Reduce_scatter
#define MPI_Bcast device::Bcast
#define MPI_Allgather device::Allgather
#define MPI_Allgatherv device::Allgatherv
#define MPI_Gather device::Gather
#define MPI_Gatherv device::Gatherv
#define MPI_Scatter device::Scatter
#define MPI_Scatterv device::Scatterv
#define MPI_Alltoall device::Alltoall
#define MPI_Alltoallv device::Alltoallv
