// SPDX-License-Identifier: Apache-2.0
// mpi_long_calls CASE: the rules of non-blocking and persistent collectives whose messages are too long to
// be kept until the other ranks read them.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "tests/pmpi/programs/mpi_cases.hpp"
#include "tests/pmpi/programs/mpi_persistent_names.hpp"

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// What rank r sends as element i of call `call`.
int sent(int call, int r, int i) { return call * 31 + r * 1009 + i % 4093; }

int sum_of(int call, int i) {
    int sum = 0;
    for (int r = 0; r < size; ++r) sum += sent(call, r, i);
    return sum;
}

/// One call of any collective on a communicator of all ranks, and what it must give.
struct Call {
    std::vector<int> in, out, counts, offsets;
    int call = 0, n = 0, kind = 0, root = 0;
    MPI_Request request = MPI_REQUEST_NULL;

    void post(MPI_Comm comm, int number, int elements) {
        call = number, n = elements, kind = number % 9, root = number % size;
        int const all = n * size;
        in.resize(at(all)), out.assign(at(all), -1);
        for (int i = 0; i < all; ++i) in[at(i)] = sent(call, rank, i);
        counts.clear(), offsets.clear();
        for (int r = 0; r < size; ++r) counts.push_back(n - r), offsets.push_back(r * n);
        switch (kind) {
            case 0:
                MPI_Iallreduce(in.data(), out.data(), n, MPI_INT, MPI_SUM, comm, &request);
                break;
            case 1:
                MPI_Ibcast(rank == root ? in.data() : out.data(), n, MPI_INT, root, comm, &request);
                break;
            case 2:
                MPI_Ireduce(in.data(), out.data(), n, MPI_INT, MPI_SUM, root, comm, &request);
                break;
            case 3:
                MPI_Iallgatherv(in.data(), n - rank, MPI_INT, out.data(), counts.data(),
                                offsets.data(), MPI_INT, comm, &request);
                break;
            case 4:
                for (int& count : counts) count = n;
                MPI_Ialltoallv(in.data(), counts.data(), offsets.data(), MPI_INT, out.data(),
                               counts.data(), offsets.data(), MPI_INT, comm, &request);
                break;
            case 5:
                MPI_Igatherv(in.data(), n - rank, MPI_INT, out.data(), counts.data(),
                             offsets.data(), MPI_INT, root, comm, &request);
                break;
            case 6:
                MPI_Iscatterv(in.data(), counts.data(), offsets.data(), MPI_INT, out.data(),
                              n - rank, MPI_INT, root, comm, &request);
                break;
            case 7:
                MPI_Ireduce_scatter_block(in.data(), out.data(), n, MPI_INT, MPI_SUM, comm,
                                          &request);
                break;
            default:
                MPI_Iscan(in.data(), out.data(), n, MPI_INT, MPI_SUM, comm, &request);
        }
    }

    void expect(int i, int expected) const {
        require(out[at(i)] == expected, "collective " + std::to_string(kind) + " of call " +
                                            std::to_string(call) + " at " + std::to_string(i) +
                                            " of " + std::to_string(n) + ": " +
                                            std::to_string(out[at(i)]));
    }
    /// When it is complete.
    void check() const {
        for (int const i : {0, n / 2, n - size - 1}) switch (kind) {
                case 0:
                    expect(i, sum_of(call, i));
                    break;
                case 1:
                    if (rank != root) expect(i, sent(call, root, i));
                    break;
                case 2:
                    if (rank == root) expect(i, sum_of(call, i));
                    break;
                case 3:
                    for (int r = 0; r < size; ++r) expect(r * n + i, sent(call, r, i));
                    break;
                case 4:
                    for (int r = 0; r < size; ++r) expect(r * n + i, sent(call, r, rank * n + i));
                    break;
                case 5:
                    for (int r = 0; rank == root && r < size; ++r)
                        expect(r * n + i, sent(call, r, i));
                    break;
                case 6:
                    expect(i, sent(call, root, rank * n + i));
                    break;
                case 7:
                    expect(i, sum_of(call, rank * n + i));
                    break;
                default: {
                    int sum = 0;
                    for (int r = 0; r <= rank; ++r) sum += sent(call, r, i);
                    expect(i, sum);
                }
            }
    }
};

/// The lengths in ints: short, just too long, long.
int length(std::mt19937& random) {
    constexpr int lengths[] = {100, 2049, 5000, 40000, 300000};
    return lengths[random() % 5];
}

/// Calls on several communicators, which each rank makes and completes in an order of its own: in order on
/// each communicator, in any between them.
void orders() {
    constexpr int communicators = 4, calls = 6, times = 6;
    std::mt19937 same(11), own(static_cast<unsigned>(rank));
    std::vector<MPI_Comm> comms(communicators);
    for (MPI_Comm& comm : comms) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
    }
    for (int time = 0; time < times; ++time) {
        std::vector<std::vector<Call>> all(communicators, std::vector<Call>(calls));
        std::vector<std::vector<int>> lengths(communicators);
        for (auto& of_one : lengths)
            for (int i = 0; i < calls; ++i) of_one.push_back(length(same));
        std::vector<int> turns, waits;  // communicators, each as often as it has calls
        for (int i = 0; i < calls; ++i)
            for (int c = 0; c < communicators; ++c) turns.push_back(c);
        std::shuffle(turns.begin(), turns.end(), own);
        std::vector<int> next(communicators, 0);
        for (int const c : turns) {
            int const i = next[at(c)]++;
            all[at(c)][at(i)].post(comms[at(c)], 100 * time + 10 * c + i, lengths[at(c)][at(i)]);
        }
        std::vector<Call*> open;
        for (auto& of_one : all)
            for (Call& call : of_one) open.push_back(&call);
        std::shuffle(open.begin(), open.end(), own);
        for (std::size_t k = 0; k < open.size(); ++k) {
            int flag = 0;
            if (k % 3 == 0)
                while (flag == 0) MPI_Test(&open[k]->request, &flag, MPI_STATUS_IGNORE);
            else MPI_Wait(&open[k]->request, MPI_STATUS_IGNORE);
            open[k]->check();
        }
    }
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// One rank after the other is in MPI_Recv until the others have completed calls that need it. Its
/// communicator may be freed meanwhile. Blocking collectives and long messages do not disturb them.
void progress() {
    for (int late = 0; late < size; ++late) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
        std::vector<Call> calls(18);
        for (int i = 0; i < 18; ++i)
            calls[at(i)].post(comm, i, i % 4 == 3 ? 10 : 3000 * (1 + i % 5));
        int one = 1, all = 0;
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
        require(all == size, "a blocking call between them");
        int const next = (late + 1) % size, before = (rank + size - 1) % size;
        std::vector<int> large(200000, rank), received(large.size(), -1);
        MPI_Request message = MPI_REQUEST_NULL;
        MPI_Isend(large.data(), 200000, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &message);
        if (rank == late) MPI_Recv(&one, 1, MPI_INT, next, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 17; i >= 0; --i) {
            MPI_Wait(&calls[at(i)].request, MPI_STATUS_IGNORE);
            calls[at(i)].check();
        }
        if (rank == next) MPI_Send(&one, 1, MPI_INT, late, 9, MPI_COMM_WORLD);
        MPI_Recv(received.data(), 200000, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        require(received.back() == before, "a long message");
        MPI_Wait(&message, MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
    }
}

/// Types with gaps, which are freed while the calls that use them are pending, as is the communicator.
void types() {
    constexpr int n = 5000;
    for (int time = 0; time < 5; ++time) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
        MPI_Datatype type = MPI_DATATYPE_NULL, wide = MPI_DATATYPE_NULL;
        MPI_Type_vector(1, 1, 2, MPI_INT, &type);
        MPI_Type_create_resized(type, 0, 2 * sizeof(int), &wide);
        MPI_Type_commit(&wide);
        std::vector<int> own(2 * n, -5), gathered(at(2 * n * size), -5), flat(at(n * size), -5);
        for (int i = 0; i < n; ++i) own[at(2 * i)] = sent(time, rank, i);
        MPI_Request requests[3];
        MPI_Iallgather(own.data(), n, wide, flat.data(), n, MPI_INT, comm, &requests[0]);
        MPI_Iallgather(own.data(), n, wide, gathered.data(), n, wide, comm, &requests[1]);
        std::vector<int> cast(own);
        // Rank 0 sends with gaps, the others receive without.
        if (rank == 0) MPI_Ibcast(cast.data(), n, wide, 0, comm, &requests[2]);
        else MPI_Ibcast(cast.data(), n, MPI_INT, 0, comm, &requests[2]);
        MPI_Type_free(&wide);
        MPI_Type_free(&type);
        MPI_Comm_free(&comm);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (int r = 0; r < size; ++r)
            for (int i = 0; i < n; ++i) {
                require(flat[at(r * n + i)] == sent(time, r, i), "flat");
                require(gathered[at(2 * (r * n + i))] == sent(time, r, i), "with gaps");
                require(gathered[at(2 * (r * n + i) + 1)] == -5, "what lies in gaps stays");
            }
        for (int i = 0; rank > 0 && i < n; ++i)
            require(cast[at(i)] == sent(time, 0, i), "broadcast from a type with gaps");
    }
}

/// Persistent ones, which each rank starts in an order of its own, with other contents each time.
void persistent_requests() {
    constexpr int requests = 5, times = 20;
    int const n = 20000;
    std::vector<std::vector<int>> in(requests, std::vector<int>(at(n))), out(in);
    std::vector<MPI_Request> all(requests, MPI_REQUEST_NULL);
    for (int k = 0; k < requests; ++k)
        if (k % 2 == 0) SINEW_INIT(Allreduce)
    (in[at(k)].data(), out[at(k)].data(), n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
     &all[at(k)]);
    else SINEW_INIT(Bcast)(in[at(k)].data(), n, MPI_INT, k % size, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &all[at(k)]);
    std::mt19937 own(static_cast<unsigned>(rank));
    std::vector<int> order{0, 1, 2, 3, 4};
    for (int time = 0; time < times; ++time) {
        for (int k = 0; k < requests; ++k)
            for (int i = 0; i < n; ++i) in[at(k)][at(i)] = sent(time * 7 + k, rank, i);
        std::shuffle(order.begin(), order.end(), own);
        for (int const k : order) MPI_Start(&all[at(k)]);
        if (time % 3 == 0) {
            MPI_Waitall(requests, all.data(), MPI_STATUSES_IGNORE);
        } else {
            for (int left = requests; left > 0; --left) {
                int index = 0;
                MPI_Waitany(requests, all.data(), &index, MPI_STATUS_IGNORE);
                require(index >= 0 && index < requests, "MPI_Waitany finds an active request");
            }
        }
        for (int k = 0; k < requests; ++k)
            for (int const i : {0, n / 2, n - 1})
                if (k % 2 == 0)
                    require(out[at(k)][at(i)] == sum_of(time * 7 + k, i), "persistent sum");
                else
                    require(in[at(k)][at(i)] == sent(time * 7 + k, k % size, i),
                            "persistent broadcast");
    }
    for (MPI_Request& request : all) MPI_Request_free(&request);
}

/// Rank 1 dies before it has made the call, or while others wait for it. They get an error.
void killed() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    std::vector<int> in(100000, 1), out(in);
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < 20; ++i) {
        MPI_Iallreduce(in.data(), out.data(), 100000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 1) std::raise(SIGKILL);
    MPI_Iallreduce(in.data(), out.data(), 100000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));  // in background
    int const code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    end_after_loss(code);
}

}  // namespace

int main(int argc, char** argv) {
    return run_case(argc, argv,
                    {{"orders", orders},
                     {"progress", progress},
                     {"types", types},
                     {"persistent", persistent_requests},
                     {"killed", killed}});
}
