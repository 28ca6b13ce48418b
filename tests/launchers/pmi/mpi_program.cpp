// SPDX-License-Identifier: Apache-2.0
// An ordinary MPI program without sinew. Its first argument selects what it does.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

static int rank, size, node_rank, node_size;

// One write per line, so that lines of ranks that share a file are not mixed.
#define SAY(...)                                                                      \
    do {                                                                              \
        char line[600];                                                               \
        int const length = std::snprintf(line, sizeof line, __VA_ARGS__);             \
        if (write(1, line, static_cast<std::size_t>(length)) != length) std::abort(); \
    } while (0)

static void hello() {
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_size(node, &node_size);
    int sum = rank + 1, node_sum = rank;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &node_sum, 1, MPI_INT, MPI_SUM, node);
    SAY("rank %d of %d, %d of %d on the node, sum %d, node sum %d\n", rank, size, node_rank,
        node_size, sum, node_sum);
    MPI_Comm_free(&node);
}

// 0 is success in MPI; the answers are printed as 1 for success.
static void names() {
    char const* port = "a port, with \"quotes\" and a ; in it";
    char found[MPI_MAX_PORT_NAME] = "";
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int published = 0, twice = 0, missing = 0;
    if (rank == 0) {
        published = MPI_Publish_name("a service", MPI_INFO_NULL, port);
        twice = MPI_Publish_name("a service", MPI_INFO_NULL, port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int const looked = MPI_Lookup_name("a service", MPI_INFO_NULL, found);
    missing = MPI_Lookup_name("no such service", MPI_INFO_NULL, found + 200);
    MPI_Barrier(MPI_COMM_WORLD);
    int const unpublished = rank == 0 ? MPI_Unpublish_name("a service", MPI_INFO_NULL, port) : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    char gone[MPI_MAX_PORT_NAME] = "";
    int const after = MPI_Lookup_name("a service", MPI_INFO_NULL, gone);
    SAY("rank %d: published %d, twice %d, looked up %d '%s', missing %d, unpublished %d, after "
        "%d\n",
        rank, published == 0, rank == 0 ? twice == 0 : -1, looked == 0, found, missing == 0,
        unpublished == 0, after == 0);
}

// Over MPI_COMM_SELF: with more ranks, Open MPI 4.1 reports the failure to the root alone.
static void spawn(char* self, bool returns) {
    MPI_Comm const from = returns ? MPI_COMM_SELF : MPI_COMM_WORLD;
    if (returns) MPI_Comm_set_errhandler(from, MPI_ERRORS_RETURN);
    MPI_Comm children = MPI_COMM_NULL;
    int const status = MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, from, &children,
                                      MPI_ERRCODES_IGNORE);
    SAY("rank %d: spawn %s\n", rank, status == MPI_SUCCESS ? "succeeded" : "failed");
}

int main(int argc, char** argv) {
    char const* what = argc > 1 ? argv[1] : "hello";
    int const who = argc > 2 ? std::atoi(argv[2]) : 0;
    char const* early = std::getenv("PMIX_RANK");
    if (std::strcmp(what, "die_early") == 0 && early != nullptr && std::atoi(early) == who)
        raise(SIGKILL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (std::strcmp(what, "time") == 0) {
        timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        SAY("init %.3f\n",
            static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6);
    }
    if (std::strcmp(what, "hello") == 0) hello();
    if (std::strcmp(what, "names") == 0) names();
    if (std::strcmp(what, "spawn") == 0) spawn(argv[0], true);
    if (std::strcmp(what, "spawn_world") == 0) spawn(argv[0], false);
    if (std::strcmp(what, "abort") == 0 && rank == who) MPI_Abort(MPI_COMM_WORLD, 42);
    if (std::strcmp(what, "exit") == 0 && rank == who) _exit(7);
    if (std::strcmp(what, "wait") == 0 || std::strcmp(what, "abort") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        SAY("ready\n");
        for (;;) pause();
    }
    MPI_Finalize();
    return 0;
}
