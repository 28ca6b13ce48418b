// SPDX-License-Identifier: Apache-2.0
// mpi_rules CASE: the rules of MPI that a library between program and MPI can break.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/pmpi/programs/mpi_cases.hpp"
#include "tests/pmpi/programs/mpi_persistent_names.hpp"

namespace {

/// Every collective, by name, with `count` doubles.
std::vector<std::pair<char const*, std::function<void(MPI_Comm, int)>>> collectives() {
    static std::vector<double> in(1 << 18, 1), out(1 << 18);
    static std::vector<int> counts, offsets;
    auto const equal = [](MPI_Comm comm, int count) {
        int ranks = 0;
        MPI_Comm_size(comm, &ranks);
        counts.assign(static_cast<std::size_t>(ranks), count);
        offsets.clear();
        for (int r = 0; r < ranks; ++r) offsets.push_back(r * count);
    };
    return {
        {"Barrier", [](MPI_Comm c, int) { MPI_Barrier(c); }},
        {"Bcast",
         [](MPI_Comm c, int n) {
             MPI_Bcast(in.data(), n, MPI_DOUBLE, 0, c);
             MPI_Bcast(in.data(), n, MPI_DOUBLE, 1, c);
         }},
        {"Allreduce",
         [](MPI_Comm c, int n) {
             MPI_Allreduce(in.data(), out.data(), n, MPI_DOUBLE, MPI_SUM, c);
         }},
        {"Reduce",
         [](MPI_Comm c, int n) {
             MPI_Reduce(in.data(), out.data(), n, MPI_DOUBLE, MPI_SUM, 0, c);
             MPI_Reduce(in.data(), out.data(), n, MPI_DOUBLE, MPI_SUM, 1, c);
         }},
        {"Scan",
         [](MPI_Comm c, int n) {
             MPI_Scan(in.data(), out.data(), n, MPI_DOUBLE, MPI_SUM, c);
             MPI_Barrier(c);
         }},
        {"Exscan",
         [](MPI_Comm c, int n) {
             MPI_Exscan(in.data(), out.data(), n, MPI_DOUBLE, MPI_SUM, c);
             MPI_Barrier(c);
         }},
        {"Reduce_scatter_block",
         [](MPI_Comm c, int n) {
             MPI_Reduce_scatter_block(in.data(), out.data(), n, MPI_DOUBLE, MPI_SUM, c);
         }},
        {"Reduce_scatter",
         [equal](MPI_Comm c, int n) {
             equal(c, n);
             MPI_Reduce_scatter(in.data(), out.data(), counts.data(), MPI_DOUBLE, MPI_SUM, c);
         }},
        {"Allgather",
         [](MPI_Comm c, int n) {
             MPI_Allgather(in.data(), n, MPI_DOUBLE, out.data(), n, MPI_DOUBLE, c);
         }},
        {"Allgatherv",
         [equal](MPI_Comm c, int n) {
             equal(c, n);
             MPI_Allgatherv(in.data(), n, MPI_DOUBLE, out.data(), counts.data(), offsets.data(),
                            MPI_DOUBLE, c);
         }},
        {"Gather",
         [](MPI_Comm c, int n) {
             MPI_Gather(in.data(), n, MPI_DOUBLE, out.data(), n, MPI_DOUBLE, 0, c);
             MPI_Gather(in.data(), n, MPI_DOUBLE, out.data(), n, MPI_DOUBLE, 1, c);
         }},
        {"Gatherv",
         [equal](MPI_Comm c, int n) {
             equal(c, n);
             for (int root : {0, 1})
                 MPI_Gatherv(in.data(), n, MPI_DOUBLE, out.data(), counts.data(), offsets.data(),
                             MPI_DOUBLE, root, c);
         }},
        {"Scatter",
         [](MPI_Comm c, int n) {
             for (int root : {0, 1})
                 MPI_Scatter(in.data(), n, MPI_DOUBLE, out.data(), n, MPI_DOUBLE, root, c);
         }},
        {"Scatterv",
         [equal](MPI_Comm c, int n) {
             equal(c, n);
             for (int root : {0, 1})
                 MPI_Scatterv(in.data(), counts.data(), offsets.data(), MPI_DOUBLE, out.data(), n,
                              MPI_DOUBLE, root, c);
         }},
        {"Alltoall",
         [](MPI_Comm c, int n) {
             MPI_Alltoall(in.data(), n, MPI_DOUBLE, out.data(), n, MPI_DOUBLE, c);
         }},
        {"Alltoallv",
         [equal](MPI_Comm c, int n) {
             equal(c, n);
             MPI_Alltoallv(in.data(), counts.data(), offsets.data(), MPI_DOUBLE, out.data(),
                           counts.data(), offsets.data(), MPI_DOUBLE, c);
         }},
    };
}

/// A rank that waits in a collective must let MPI progress: its peer may be in a send or receive of a
/// long message, which needs both.
void pending() {
    constexpr int n = 1 << 20;  // far above what any MPI buffers
    std::vector<char> data(n, static_cast<char>(rank + 1));
    for (auto const& [name, run] : collectives())
        for (int const count : {1, 20000})
            for (int const waiter : {0, 1})
                for (bool const sends : {false, true}) {
                    int const peer = 1 - rank;
                    if (rank == waiter) {
                        MPI_Request request = MPI_REQUEST_NULL;
                        if (sends)
                            MPI_Isend(data.data(), n, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &request);
                        else MPI_Irecv(data.data(), n, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &request);
                        run(MPI_COMM_WORLD, count);
                        MPI_Wait(&request, MPI_STATUS_IGNORE);
                    } else if (rank == peer || rank < 2) {
                        if (sends)
                            MPI_Recv(data.data(), n, MPI_CHAR, peer, 1, MPI_COMM_WORLD,
                                     MPI_STATUS_IGNORE);
                        else MPI_Send(data.data(), n, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
                        run(MPI_COMM_WORLD, count);
                    } else {
                        run(MPI_COMM_WORLD, count);
                    }
                }
}

void add(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}
void larger(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) {
        int& b = static_cast<int*>(inout)[i];
        int const a = static_cast<int*>(in)[i];
        b = a > b ? a : b;
    }
}

/// Handles of what was freed come back for something else.
void handles() {
#ifdef SINEW_NON_BLOCKING
    constexpr int times = 500;  // MPI executes most, and each may cost a time slice
#else
    constexpr int times = 10000;
#endif
    for (int i = 0; i < times; ++i) {
        MPI_Op op = MPI_OP_NULL;
        bool const sums = i % 2 == 0;
        MPI_Op_create(sums ? add : larger, 1, &op);
        int const own = rank + 1;
        int result = 0;
        MPI_Allreduce(&own, &result, 1, MPI_INT, op, MPI_COMM_WORLD);
        require(result == (sums ? size * (size + 1) / 2 : size), "operation " + std::to_string(i));
        MPI_Op_free(&op);
    }
    constexpr int communicators =
        times / 10;  // the MPI makes them: each may cost several time slices
    for (int i = 0; i < communicators; ++i) {
        // Of another size or in another order each time, so that the first rank comes last.
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, i % 3 == 2 && rank == size - 1 ? 1 : 0,
                       i % 2 == 0 ? rank : -rank, &comm);
        int own_rank = 0, own_size = 0, result = -1;
        MPI_Comm_rank(comm, &own_rank);
        MPI_Comm_size(comm, &own_size);
        MPI_Allreduce(&own_rank, &result, 1, MPI_INT, MPI_SUM, comm);
        require(result == own_size * (own_size - 1) / 2, "communicator " + std::to_string(i));
        MPI_Comm_free(&comm);
    }
    for (int i = 0; i < times; ++i) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        bool const strided = i % 2 == 0;
        if (strided) MPI_Type_vector(2, 1, 2, MPI_INT, &type);
        else MPI_Type_contiguous(2, MPI_INT, &type);
        MPI_Type_commit(&type);
        int data[3] = {rank == 0 ? i : -1, -2, rank == 0 ? i + 1 : -1};
        if (rank == 0 && !strided) data[1] = i + 1;
        MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
        require(data[0] == i && data[strided ? 2 : 1] == i + 1 && (!strided || data[1] == -2),
                "type " + std::to_string(i));
        MPI_Type_free(&type);
    }
}

/// Threads call collectives of different communicators at the same time.
void threads() {
    constexpr int n = 3;
    std::vector<MPI_Comm> comms(n, MPI_COMM_NULL);
    for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::vector<std::thread> all;
    for (int t = 0; t < n; ++t)
        all.emplace_back([t, comm = comms[static_cast<std::size_t>(t)]] {
            std::vector<int> data(4000), out(4000);
            for (int i = 0; i < 300; ++i) {
                int const count = i % 3 == 0 ? 1 : i % 3 == 1 ? 700 : 4000;
                for (int& value : data) value = rank + t + i;
                MPI_Allreduce(data.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
                int const sum = size * (size - 1) / 2 + size * (t + i);
                require(out[0] == sum && out[static_cast<std::size_t>(count) - 1] == sum,
                        "sum of thread " + std::to_string(t) + ", call " + std::to_string(i));
                MPI_Bcast(data.data(), count, MPI_INT, i % size, comm);
                require(data[static_cast<std::size_t>(count) - 1] == i % size + t + i, "broadcast");
            }
        });
    for (std::thread& thread : all) thread.join();
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// The number that rank `r` sends as element `i` of call `call`.
int sent(int call, int r, int i) { return call * 31 + r * 1009 + i % 4093; }

/// Collectives of all kinds and sizes in any order, on three communicators.
void random_calls() {
    MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
    std::mt19937 random(12345);  // the same on all ranks
    constexpr int most = 60000;
    std::vector<int> in(static_cast<std::size_t>(most * size)), out(in.size());
    for (int call = 0; call < 4000; ++call) {
        MPI_Comm const comm = comms[random() % 3];
        int const kind = static_cast<int>(random() % 10),
                  root = static_cast<int>(random()) & 0xffff;
        int const n = static_cast<int>(std::exp2(static_cast<double>(random() % 1580) / 100));
        int own = 0;
        MPI_Comm_rank(comm, &own);
        int const from = root % size;
        auto const expect = [&](int index, int expected) {
            require(out[static_cast<std::size_t>(index)] == expected,
                    "call " + std::to_string(call) + " of kind " + std::to_string(kind));
        };
        auto const sum = [&](int ranks, int i) {
            int total = 0;
            for (int r = 0; r < ranks; ++r) total += sent(call, r, i);
            return total;
        };
        bool const to_each = kind == 5 || kind == 6 || kind == 7;
        for (int i = 0; i < (to_each ? n * size : n); ++i)
            in[static_cast<std::size_t>(i)] = sent(call, own, i);
        int const last = n - 1;
        switch (kind) {
            case 0:
                MPI_Allreduce(in.data(), out.data(), n, MPI_INT, MPI_SUM, comm);
                for (int i : {0, n / 2, last}) expect(i, sum(size, i));
                break;
            case 1:
                if (own == from) out = in;
                MPI_Bcast(out.data(), n, MPI_INT, from, comm);
                for (int i : {0, n / 2, last}) expect(i, sent(call, from, i));
                break;
            case 2:
                MPI_Reduce(in.data(), out.data(), n, MPI_INT, MPI_SUM, from, comm);
                if (own == from)
                    for (int i : {0, n / 2, last}) expect(i, sum(size, i));
                break;
            case 3:
                MPI_Scan(in.data(), out.data(), n, MPI_INT, MPI_SUM, comm);
                for (int i : {0, n / 2, last}) expect(i, sum(own + 1, i));
                break;
            case 4:
                MPI_Allgather(in.data(), n, MPI_INT, out.data(), n, MPI_INT, comm);
                for (int r = 0; r < size; ++r) expect(r * n + last, sent(call, r, last));
                break;
            case 5:
                MPI_Alltoall(in.data(), n, MPI_INT, out.data(), n, MPI_INT, comm);
                for (int r = 0; r < size; ++r) expect(r * n + last, sent(call, r, own * n + last));
                break;
            case 6:
                MPI_Scatter(in.data(), n, MPI_INT, out.data(), n, MPI_INT, from, comm);
                for (int i : {0, n / 2, last}) expect(i, sent(call, from, own * n + i));
                break;
            case 7:
                MPI_Reduce_scatter_block(in.data(), out.data(), n, MPI_INT, MPI_SUM, comm);
                for (int i : {0, n / 2, last}) expect(i, sum(size, own * n + i));
                break;
            case 8:
                MPI_Gather(in.data(), n, MPI_INT, out.data(), n, MPI_INT, from, comm);
                if (own == from)
                    for (int r = 0; r < size; ++r) expect(r * n + last, sent(call, r, last));
                break;
            default:
                MPI_Barrier(comm);
        }
    }
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
}

/// What MPI refuses is refused with the same class of errors.
void errors() {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int data[4] = {1, 2, 3, 4}, out[4] = {};
    auto const expect = [&](char const* what, int code, int expected) {
        int found = 0;
        MPI_Error_class(code, &found);
        require(found == expected, std::string(what) + ": class " + std::to_string(found));
    };
    MPI_Allreduce(data, out, 1, MPI_INT, MPI_SUM, comm);
    expect("root", MPI_Bcast(data, 1, MPI_INT, size + 5, comm), MPI_ERR_ROOT);
#ifndef MPICH_VERSION  // Debian's MPICH 4.0.2 crashes for -1
    expect("count", MPI_Bcast(data, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
    expect("count", MPI_Allreduce(data, out, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
#endif
    expect("type", MPI_Bcast(data, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE);
    expect("op", MPI_Allreduce(data, out, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
    expect("op on type", MPI_Allreduce(data, out, 1, MPI_FLOAT, MPI_BAND, comm), MPI_ERR_OP);
    MPI_Allreduce(data, out, 1, MPI_INT, MPI_SUM, comm);
    require(out[0] == size, "the communicator works after errors");
    MPI_Comm_free(&comm);
}

/// A rank may be in MPI_Finalize while others still use what it has sent.
void early() {
    int value = rank == 0 ? 17 : 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank > 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    require(value == 17, "broadcast before the end");
}

/// Inter-communicators, and collectives that MPI executes, beside ours on one communicator.
void mixed() {
    MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL;
    int const side = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 5, &inter);
    for (int i = 0; i < 50; ++i) {
        int const own = rank;
        int sum = 0, theirs = 0, all = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        MPI_Allreduce(&own, &theirs, 1, MPI_INT, MPI_MIN, inter);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        long double wide = 1, total = 0;
        MPI_Allreduce(&wide, &total, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        require(sum == size - 1 && all == size * (size - 1) / 2, "intra");
        require(theirs == 1 - side, "inter");
        require(total == static_cast<long double>(size), "long double");
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/// Non-blocking calls, more than any library can hold without help, while one rank after the other is
/// in MPI_Recv: they must end for those that wait, whatever that rank does. A communicator may be freed
/// before they have ended, and a datatype, too.
void outstanding() {
    constexpr int many = 150, longest = 1000;
    for (int late = 0; late < size; ++late) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
        std::vector<MPI_Request> requests(many, MPI_REQUEST_NULL);
        std::vector<std::vector<int>> in, out;
        std::vector<int> strided(2 * many, -1);
        for (int i = 0; i < many; ++i) {
            int const n = i % 3 == 2 ? longest : 1 + i % 3;
            in.emplace_back(static_cast<std::size_t>(n), rank * 100 + i);
            out.emplace_back(static_cast<std::size_t>(n), -1);
            int* const from = in.back().data();
            int* const to = out.back().data();
            MPI_Request* const request = &requests[static_cast<std::size_t>(i)];
            if (i % 10 == 9) {
                MPI_Datatype type = MPI_DATATYPE_NULL;
                MPI_Type_vector(1, 1, 2, MPI_INT, &type);
                MPI_Type_create_resized(type, 0, 2 * sizeof(int), &type);
                MPI_Type_commit(&type);
                if (rank == i % size) strided[static_cast<std::size_t>(2 * i)] = i;
                MPI_Ibcast(&strided[static_cast<std::size_t>(2 * i)], 1, type, i % size, comm,
                           request);
                MPI_Type_free(&type);
            } else if (i % 10 == 8) {
                MPI_Ireduce(from, to, n, MPI_INT, MPI_SUM, i % size, comm, request);
            } else {
                MPI_Iallreduce(from, to, n, MPI_INT, MPI_SUM, comm, request);
            }
        }
        int const next = (late + 1) % size;
        int message = late;
        if (late % 2 == 1) MPI_Comm_free(&comm);
        if (rank == late)
            MPI_Recv(&message, 1, MPI_INT, next, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        // The last call first, so that it depends on all before.
        for (int i = many - 1; i >= 0; --i)
            MPI_Wait(&requests[static_cast<std::size_t>(i)], MPI_STATUS_IGNORE);
        if (rank == next) MPI_Send(&message, 1, MPI_INT, late, 9, MPI_COMM_WORLD);
        for (int i = 0; i < many; ++i) {
            int const expected = 100 * size * (size - 1) / 2 + i * size;
            auto const& result = out[static_cast<std::size_t>(i)];
            if (i % 10 == 9)
                require(strided[static_cast<std::size_t>(2 * i)] == i,
                        "broadcast " + std::to_string(i));
            else if (i % 10 != 8 || rank == i % size)
                require(result.front() == expected && result.back() == expected,
                        "sum " + std::to_string(i));
        }
        if (late % 2 == 0) MPI_Comm_free(&comm);
    }
}

/// Completes active requests, in one way after the other.
void complete_all(std::vector<MPI_Request>& requests, int way) {
    int const n = static_cast<int>(requests.size());
    int index = 0, done = 0, flag = 0;
    std::vector<int> indices(requests.size());
    std::vector<MPI_Status> statuses(requests.size());
    MPI_Status status;
    switch (way % 6) {
        case 0:
            MPI_Waitall(n, requests.data(), statuses.data());
            break;
        case 1:
            for (int left = n; left > 0; --left) {
                MPI_Waitany(n, requests.data(), &index, &status);
                require(index >= 0 && index < n, "MPI_Waitany finds an active request");
            }
            break;
        case 2:
            for (int left = n; left > 0; left -= done) {
                MPI_Waitsome(n, requests.data(), &done, indices.data(), statuses.data());
                require(done > 0 && done <= left, "MPI_Waitsome finds active requests");
            }
            break;
        case 3:
            while (flag == 0) MPI_Testall(n, requests.data(), &flag, statuses.data());
            break;
        case 4:
            for (int left = n; left > 0;) {
                MPI_Testany(n, requests.data(), &index, &flag, &status);
                require(flag == 0 || index != MPI_UNDEFINED, "MPI_Testany finds active requests");
                if (flag != 0) --left;
            }
            break;
        default:
            for (MPI_Request& request : requests) {
                for (flag = 0; flag == 0;) MPI_Request_get_status(request, &flag, &status);
                MPI_Test(&request, &flag, &status);
                require(flag != 0, "MPI_Test completes what is complete");
            }
    }
    // All are inactive.
    MPI_Waitany(n, requests.data(), &index, MPI_STATUS_IGNORE);
    require(index == MPI_UNDEFINED, "no request is active");
    MPI_Testsome(n, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
    require(done == MPI_UNDEFINED, "no request is active");
    MPI_Testall(n, requests.data(), &flag, MPI_STATUSES_IGNORE);
    require(flag != 0, "inactive requests are complete");
}

/// Persistent collectives: each rank starts them in an order of its own, with other contents each time,
/// beside persistent messages, after it has freed the communicator and the types.
void persistent_requests() {
    constexpr int n = 12, rounds = 120, longest = 2000;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Datatype strided = MPI_DATATYPE_NULL;  // two numbers, with a gap between and behind them
    MPI_Type_vector(2, 1, 2, MPI_INT, &strided);
    MPI_Type_create_resized(strided, 0, 4 * sizeof(int), &strided);
    MPI_Type_commit(&strided);
    std::vector<MPI_Request> requests(n + 2, MPI_REQUEST_NULL);
    auto const room = static_cast<std::size_t>(longest * size);
    std::vector<std::vector<int>> in(n + 2, std::vector<int>(room)), out(in);
    auto const length = [](int i) { return i / 4 == 0 ? 3 : i / 4 == 1 ? 400 : longest; };
    for (int i = 0; i < n; ++i) {
        auto const at = static_cast<std::size_t>(i);
        int* const from = in[at].data();
        int* const to = out[at].data();
        MPI_Request* const request = &requests[at];
        MPI_Info const info = MPI_INFO_NULL;
        if (i % 4 == 0)
            SINEW_INIT(Allreduce)(from, to, length(i), MPI_INT, MPI_SUM, comm, info, request);
        else if (i % 4 == 1)
            SINEW_INIT(Bcast)(to, length(i) / 4, strided, i % size, comm, info, request);
        else if (i % 4 == 2) SINEW_INIT(Allgather)
        (from, length(i) / 4, strided, to, length(i) / 4, strided, comm, info, request);
        else SINEW_INIT(Reduce)(from, to, length(i), MPI_INT, MPI_MAX, i % size, comm, info,
                                request);
    }
    int const next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Send_init(in[n].data(), 5, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[n]);
    MPI_Recv_init(out[n].data(), 5, MPI_INT, previous, 4, MPI_COMM_WORLD, &requests[n + 1]);
    MPI_Type_free(&strided);
    MPI_Comm_free(&comm);

    for (int round = 0; round < rounds; ++round) {
        auto const value = [round](int of, int i, int k) { return of * 1000 + round * 7 + i + k; };
        for (int i = 0; i <= n; ++i)
            for (int k = 0; k < longest; ++k) {
                auto const at = static_cast<std::size_t>(i), place = static_cast<std::size_t>(k);
                in[at][place] = value(rank, i, k);
                out[at][place] = i % 4 == 1 && rank == i % size ? value(rank, i, k) : -1;
            }
        std::vector<MPI_Request> all = requests;
        MPI_Waitall(n + 2, all.data(), MPI_STATUSES_IGNORE);  // none is active
        // Each rank begins at another one, and ends with a call that starts several.
        int const shift = (rank * 3 + round) % n;
        std::rotate(all.begin(), all.begin() + shift, all.end());
        for (int i = 0; i < n / 2; ++i) MPI_Start(&all[static_cast<std::size_t>(i)]);
        MPI_Startall(n / 2 + 2, &all[n / 2]);
        complete_all(all, round);
        std::rotate(all.begin(), all.end() - shift, all.end());
        requests = all;  // MPI may have replaced handles of messages
        for (int i = 0; i < n; ++i) {
            auto const at = static_cast<std::size_t>(i);
            for (int k : {0, 2, length(i) - length(i) % 4 - 2}) {
                if (k < 0 || k >= length(i)) continue;
                int expected = -1;
                if (i % 4 == 0) expected = 1000 * size * (size - 1) / 2 + value(0, i, k) * size;
                if (i % 4 == 1 && length(i) >= 4) expected = value(i % size, i, k);
                if (i % 4 == 1 && length(i) < 4 && rank == i % size) expected = value(rank, i, k);
                if (i % 4 == 2 && length(i) >= 4) expected = value(0, i, k);
                if (i % 4 == 3 && rank == i % size) expected = value(size - 1, i, k);
                require(out[at][static_cast<std::size_t>(k)] == expected,
                        "request " + std::to_string(i) + ", number " + std::to_string(k) +
                            " in round " + std::to_string(round));
            }
            if (i % 4 == 1 && rank != i % size && length(i) >= 4)
                require(out[at][1] == -1, "gaps of a type are not written");
        }
        require(out[n][4] == value(previous, n, 4), "persistent message");
    }

    // What only rank 0 has started is not complete.
    int flag = 0, index = 0, done = 0, token = 0;
    if (rank == 0) {
        MPI_Request pair[2] = {requests[0], requests[4]};
        MPI_Start(&pair[0]);
        MPI_Test(&pair[0], &flag, MPI_STATUS_IGNORE);
        require(flag == 0, "MPI_Test");
        MPI_Request_get_status(pair[0], &flag, MPI_STATUS_IGNORE);
        require(flag == 0, "MPI_Request_get_status");
        MPI_Testall(2, pair, &flag, MPI_STATUSES_IGNORE);
        require(flag == 0, "MPI_Testall");
        MPI_Testany(2, pair, &index, &flag, MPI_STATUS_IGNORE);
        require(flag == 0, "MPI_Testany");
        MPI_Testsome(2, pair, &done, &index, MPI_STATUSES_IGNORE);
        require(done == 0, "MPI_Testsome");
        for (int r = 1; r < size; ++r) MPI_Send(&token, 1, MPI_INT, r, 8, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&token, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Start(&requests[0]);
    }
    MPI_Waitany(1, &requests[0], &index, MPI_STATUS_IGNORE);
    require(index == 0, "MPI_Waitany");
    for (MPI_Request& request : requests) {
        MPI_Request_free(&request);
        require(request == MPI_REQUEST_NULL, "a request that is freed is null");
    }
}

/// Rank 1 dies. With errors returned, the others get one.
void killed() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 100; ++i) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) std::raise(SIGKILL);
    int const code = MPI_Barrier(MPI_COMM_WORLD);
    end_after_loss(code);
}

}  // namespace

int main(int argc, char** argv) {
    return run_case(argc, argv,
                    {{"pending", pending},
                     {"handles", handles},
                     {"threads", threads},
                     {"errors", errors},
                     {"random", random_calls},
                     {"early", early},
                     {"mixed", mixed},
                     {"killed", killed},
                     {"outstanding", outstanding},
                     {"persistent", persistent_requests}});
}
