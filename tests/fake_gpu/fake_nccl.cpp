// SPDX-License-Identifier: Apache-2.0
// A replacement of libnccl.so.2 on the fake CUDA driver, for ranks that are threads or processes of one
// machine. Like NCCL it launches in the background, runs in stream order, and waits for ever for ranks
// that do not come or make another call. Unlike NCCL it checks its caller: a communicator that is used
// after its end, or by two threads at once, ends the process.
#include "tests/fake_gpu/fake_nccl.hpp"

#include <pthread.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/fake_gpu/fake_nccl_communicator.hpp"

namespace fake_nccl {
namespace {

/// Never destroyed: streams may outlive main().
struct State {
    std::mutex mutex;
    std::set<std::shared_ptr<Comm>> alive;
    std::array<Fault, most_ranks> faults{};
    std::atomic<int> revoked{0}, aborted{0}, version{22809};

    State();
};
State& state() {
    static State* const made = new State;
    return *made;
}
/// Tests fork ranks, perhaps while another thread holds the mutex, which no thread of theirs would unlock.
State::State() {
    auto const unlock = [] { state().mutex.unlock(); };
    ::pthread_atfork([] { state().mutex.lock(); }, unlock, unlock);
}

struct Grouped {
    std::shared_ptr<Comm> comm;
    void* stream;
    std::vector<Operation> operations;
};
thread_local int depth = 0;
thread_local std::vector<Grouped> groups;

[[noreturn]] void misused(char const* how) {
    std::fprintf(stderr, "fake NCCL: %s\n", how);
    std::abort();
}

std::shared_ptr<Comm> find(void* handle) {
    std::lock_guard const lock(state().mutex);
    for (auto const& comm : state().alive)
        if (comm.get() == handle) return comm;
    misused("a communicator is used that does not exist (any more)");
}

/// One thread at a time may be inside, apart from one that ends the communicator.
struct Inside {
    explicit Inside(Comm& comm) : comm_(comm) {
        if (++comm_.inside > 1) misused("two threads use one communicator at the same time");
    }
    ~Inside() { --comm_.inside; }
    Comm& comm_;
};

int issue(std::shared_ptr<Comm> const& comm, void* stream, std::vector<Operation> operations) {
    ++comm->launching;
    auto const group = std::make_shared<std::vector<Operation>>(std::move(operations));
    void* context = nullptr;  // that of the default stream
    cuCtxGetCurrent(&context);
    auto const launch = [comm, stream, context, group] {
        cuCtxSetCurrent(context);
        struct Argument {
            std::shared_ptr<Comm> comm;
            std::shared_ptr<std::vector<Operation>> group;
            std::uint64_t turn;
        };
        Fault const& fault = comm->fault;
        bool const ours = std::any_of(group->begin(), group->end(), [&](Operation const& one) {
            return one.number == fault.call;
        });
        if (ours && fault.kind == Fault::is_not_launched) {
            try {
                comm->await([] { return false; });
            } catch (Aborted const&) {}
        } else {
            int captured = 0;
            cuStreamIsCapturing(stream, &captured);
            std::uint64_t const turn = captured != 0 ? 0 : ++comm->launched;
            fake_cuda_enqueue(
                stream,
                [](void* given) {
                    auto const& argument = *static_cast<Argument*>(given);
                    argument.comm->execute(*argument.group, argument.turn);
                },
                new Argument{comm, group, turn},
                [](void* given) { delete static_cast<Argument*>(given); });
        }
        if (ours && fault.kind == Fault::fails_later) {
            std::this_thread::sleep_for(std::chrono::milliseconds(fault.milliseconds));
            comm->last_error = "a connection was closed by the remote peer";
            comm->error = remote_error;
        }
        --comm->launching;
    };
    std::lock_guard const lock(comm->mutex);
    if (comm->ending) return internal_error;  // it was aborted while this call was under way
    comm->launches.push_back(launch);
    comm->changed.notify_all();
    return in_progress;
}

int add(void* handle, void* stream, Operation operation) {
    auto const comm = find(handle);
    Inside const inside(*comm);
    if (comm->error != success) return invalid_argument;
    if (operation.op >= first_made_op) {
        operation.scale = comm->made_ops.at(static_cast<std::size_t>(operation.op - first_made_op));
        operation.op = 0;
    }
    operation.number = ++comm->calls;
    Fault const& fault = comm->fault;
    if (fault.call == operation.number) {
        if (fault.kind == Fault::is_refused) {
            comm->last_error = "refused by the test";
            return internal_error;
        }
        if (fault.kind == Fault::kills) ::raise(SIGKILL);
        if (fault.kind == Fault::counts_wrong) ++operation.count;
        if (fault.kind == Fault::blocks)
            std::this_thread::sleep_for(std::chrono::milliseconds(fault.milliseconds));
    }
    if (operation.count == 0) return success;
    if (depth == 0) return issue(comm, stream, {operation});
    for (auto& group : groups)
        if (group.comm == comm && group.stream == stream)
            return group.operations.push_back(operation), success;
    groups.push_back({comm, stream, {operation}});
    return success;
}

int end(void* handle, bool stops) {
    auto const comm = find(handle);
    if (!stops && comm->inside > 0)
        misused("a communicator is destroyed while another thread uses it");
    std::this_thread::sleep_for(std::chrono::milliseconds(comm->fault.end_blocks_ms));
    if (stops) comm->stop = true;
    {
        std::lock_guard const lock(comm->mutex);
        comm->ending = true;
        comm->changed.notify_all();
    }
    if (comm->launcher.joinable()) comm->launcher.join();
    std::lock_guard const lock(state().mutex);
    state().alive.erase(comm);
    return success;
}

}  // namespace
}  // namespace fake_nccl

using namespace fake_nccl;
struct Id {
    char internal[128];
};

extern "C" {

void fake_nccl_fault(int rank, FakeNcclFault fault) {
    std::lock_guard const lock(state().mutex);
    state().faults.at(static_cast<std::size_t>(rank)) = fault;
}
int fake_nccl_alive() {
    std::lock_guard const lock(state().mutex);
    return static_cast<int>(state().alive.size());
}
int fake_nccl_revoked() { return state().revoked; }
int fake_nccl_aborted() { return state().aborted; }
void fake_nccl_version(int version) { state().version = version; }

int ncclGetVersion(int* version) { return *version = state().version, success; }
int ncclGetUniqueId(Id* id) { return make_segment(id->internal) ? success : system_error; }
char const* ncclGetErrorString(int result) {
    constexpr char const* words[] = {"no error",
                                     "unhandled cuda error",
                                     "unhandled system error",
                                     "internal error",
                                     "invalid argument",
                                     "invalid usage",
                                     "remote process exited or there was a network error",
                                     "NCCL operation in progress"};
    return result >= 0 && result < 8 ? words[result] : "unknown";
}
char const* ncclGetLastError(void* handle) {
    return handle == nullptr ? "" : find(handle)->last_error.c_str();
}

int ncclCommInitRankConfig(void** handle, int ranks, Id id, int rank, void*) {
    auto const comm = std::make_shared<Comm>();
    comm->rank = rank;
    comm->ranks = ranks;
    {
        std::lock_guard const lock(state().mutex);
        comm->fault = state().faults.at(static_cast<std::size_t>(rank));
        state().alive.insert(comm);
    }
    if (comm->fault.kind == Fault::init_blocks)
        std::this_thread::sleep_for(std::chrono::milliseconds(comm->fault.milliseconds));
    // The process that made the id may end before this rank looks for it.
    comm->segment = open_segment(id.internal);
    if (comm->segment == nullptr) comm->error = system_error;
    auto* const raw = comm.get();
    comm->launcher = std::thread([raw] { raw->launch_loop(); });
    std::lock_guard const lock(comm->mutex);
    comm->launches.emplace_back([raw] {
        Fault const& fault = raw->fault;
        try {
            if (fault.kind == Fault::init_is_late)
                std::this_thread::sleep_for(std::chrono::milliseconds(fault.milliseconds));
            if (fault.kind == Fault::init_hangs) raw->await([] { return false; });
            if (fault.kind == Fault::init_fails) {
                raw->last_error = "socketProgress: Connection closed by remote peer eth7";
                raw->error = system_error;
                return;
            }
            if (raw->segment == nullptr) return;
            ++raw->segment->joined;
            raw->await([&] { return raw->segment->joined == raw->ranks; });
            raw->error = success;
        } catch (Aborted const&) {}
    });
    comm->changed.notify_all();
    *handle = raw;
    return in_progress;
}
int ncclCommGetAsyncError(void* handle, int* error) {
    auto const comm = find(handle);
    int const known = comm->error;
    *error = known == success && comm->launching > 0 ? in_progress : known;
    return success;
}
int ncclCommFinalize(void* handle) {
    auto const comm = find(handle);
    Inside const inside(*comm);
    return success;
}
int ncclCommDestroy(void* handle) { return end(handle, false); }
int ncclCommAbort(void* handle) {
    ++state().aborted;
    return end(handle, true);
}
int ncclCommRevoke(void* handle, int) {
    ++state().revoked;
    auto const comm = find(handle);
    std::this_thread::sleep_for(std::chrono::milliseconds(comm->fault.end_blocks_ms));
    comm->stop = true;
    if (comm->error == in_progress) comm->error = success;
    return success;
}

int ncclGroupStart() { return ++depth, success; }
int ncclGroupEnd() {
    if (--depth > 0) return success;
    int result = success;
    for (auto& group : groups)
        result = issue(group.comm, group.stream, std::move(group.operations));
    groups.clear();
    return result;
}
int ncclAllReduce(void const* in, void* out, std::size_t count, int type, int op, void* comm,
                  void* stream) {
    return add(comm, stream, {Operation::all_reduce, in, out, count, type, op});
}
int ncclReduce(void const* in, void* out, std::size_t count, int type, int op, int root, void* comm,
               void* stream) {
    return add(comm, stream, {Operation::reduce, in, out, count, type, op, root});
}
int ncclBroadcast(void const* in, void* out, std::size_t count, int type, int root, void* comm,
                  void* stream) {
    return add(comm, stream, {Operation::broadcast, in, out, count, type, 0, root});
}
int ncclReduceScatter(void const* in, void* out, std::size_t count, int type, int op, void* comm,
                      void* stream) {
    return add(comm, stream, {Operation::reduce_scatter, in, out, count, type, op});
}
int ncclAllGather(void const* in, void* out, std::size_t count, int type, void* comm,
                  void* stream) {
    return add(comm, stream, {Operation::all_gather, in, out, count, type});
}
int ncclAlltoAll(void const* in, void* out, std::size_t count, int type, void* comm, void* stream) {
    return add(comm, stream, {Operation::all_to_all, in, out, count, type});
}
int ncclSend(void const* data, std::size_t count, int type, int peer, void* comm, void* stream) {
    return add(comm, stream, {Operation::send, data, nullptr, count, type, 0, peer});
}
int ncclRecv(void* data, std::size_t count, int type, int peer, void* comm, void* stream) {
    return add(comm, stream, {Operation::receive, nullptr, data, count, type, 0, peer});
}
int ncclRedOpCreatePreMulSum(int* op, void* scalar, int type, int, void* handle) {
    auto const comm = find(handle);
    Inside const inside(*comm);
    double scale = 0;
    if (type == 8) std::memcpy(&scale, scalar, 8);
    else if (type == 7) scale = *static_cast<float*>(scalar);
    else if (type == 6) scale = *static_cast<sinew::float16*>(scalar);
    else scale = *static_cast<sinew::bfloat16*>(scalar);
    comm->made_ops.push_back(scale);
    return *op = first_made_op + static_cast<int>(comm->made_ops.size()) - 1, success;
}
int ncclRedOpDestroy(int, void* handle) {
    find(handle);
    return success;
}
}
