// SPDX-License-Identifier: Apache-2.0
// An ordinary MPI program for every MPI library: mpi_program VERB ARGUMENTS...
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

int number(char const* name) {
    char const* const word = std::getenv(name);
    return word != nullptr ? std::atoi(word) : -1;
}

void say(std::string const& words) {
    std::string const line = words + "\n";
    if (::write(1, line.data(), line.size()) < 0) std::exit(3);
}

void wrong(int rank, char const* what, int is, int expected) {
    say("rank " + std::to_string(rank) + ": " + what + " is " + std::to_string(is) + ", not " +
        std::to_string(expected));
    MPI_Abort(MPI_COMM_WORLD, 60);
}

// All ranks exchange messages with each other, also long ones.
void exchange(int rank, int size) {
    for (int const count : {1, 100'000}) {
        std::vector<int> out(static_cast<std::size_t>(count), rank), in(out.size());
        for (int step = 1; step < size; ++step) {
            int const to = (rank + step) % size, from = (rank + size - step) % size;
            MPI_Sendrecv(out.data(), count, MPI_INT, to, 5, in.data(), count, MPI_INT, from, 5,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (in.back() != from) wrong(rank, "what came", in.back(), from);
        }
    }
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size * (size - 1) / 2) wrong(rank, "the sum", sum, size * (size - 1) / 2);
}

// layout: prints the layout as reported by MPI and by the variables.
int layout() {
    MPI_Init(nullptr, nullptr);
    int rank = 0, size = 0, here = 0, here_size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != number("SINEW_RANK")) wrong(rank, "SINEW_RANK", number("SINEW_RANK"), rank);
    if (size != number("SINEW_SIZE")) wrong(rank, "SINEW_SIZE", number("SINEW_SIZE"), size);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &here);
    MPI_Comm_size(node, &here_size);
    if (here_size != number("SINEW_LOCAL_SIZE"))
        wrong(rank, "the size of the node's communicator", here_size, number("SINEW_LOCAL_SIZE"));
    if (here != number("SINEW_LOCAL_RANK"))
        wrong(rank, "the rank on the node", here, number("SINEW_LOCAL_RANK"));
    int mine = number("SINEW_NODE"), most = 0, least = 0;
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, node);
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, node);
    if (most != least) wrong(rank, "another's node", most, least);
    exchange(rank, size);
    MPI_Comm_free(&node);
    say("rank " + std::to_string(rank) + " of " + std::to_string(size) + ", " +
        std::to_string(here) + " of " + std::to_string(here_size) + " on node " +
        std::to_string(mine));
    MPI_Finalize();
    return 0;
}

// before RANK: that rank never calls MPI_Init, the others wait there.
int before(int who) {
    say(number("SINEW_RANK") == who ? "away" : "in");
    if (number("SINEW_RANK") == who)
        for (;;) ::pause();
    MPI_Init(nullptr, nullptr);
    MPI_Barrier(MPI_COMM_WORLD);  // not every MPI_Init waits for all ranks
    MPI_Finalize();
    return 0;
}

// after: all ranks but rank 0 wait in a barrier; rank 0 sleeps.
int after() {
    MPI_Init(nullptr, nullptr);
    say("inside");
    if (number("SINEW_RANK") == 0)
        for (;;) ::pause();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

// abort STATUS: rank 1 calls MPI_Abort, the others wait for rank 1.
int abort_with(int status) {
    MPI_Init(nullptr, nullptr);
    if (number("SINEW_RANK") == 1) MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

// desert CODE: the last rank ends without MPI_Finalize while the others wait for it.
int desert(int code) {
    MPI_Init(nullptr, nullptr);
    if (number("SINEW_RANK") == number("SINEW_SIZE") - 1) ::_exit(code);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

// window: each rank puts into its neighbor's window and reads its own.
int window() {
    MPI_Init(nullptr, nullptr);
    int rank = 0, size = 0, mine = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win win = MPI_WIN_NULL;
    MPI_Win_create(&mine, sizeof mine, sizeof mine, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    if (mine != (rank + size - 1) % size) wrong(rank, "what came", mine, (rank + size - 1) % size);
    MPI_Win_free(&win);
    say("window " + std::to_string(rank));
    MPI_Finalize();
    return 0;
}

// restarts: rank 1 dies in the first epoch; the second ends normally.
int restarts() {
    MPI_Init(nullptr, nullptr);
    if (number("SINEW_RESTART") == 0 && number("SINEW_RANK") == 1) ::_exit(9);
    MPI_Barrier(MPI_COMM_WORLD);
    say("again " + std::to_string(number("SINEW_RESTART")));
    MPI_Finalize();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::string const verb = argc > 1 ? argv[1] : "";
    int const value = argc > 2 ? std::atoi(argv[2]) : 0;
    if (verb == "layout") return layout();
    if (verb == "before") return before(value);
    if (verb == "after") return after();
    if (verb == "abort") return abort_with(value);
    if (verb == "desert") return desert(value);
    if (verb == "window") return window();
    if (verb == "restarts") return restarts();
    return 64;
}
