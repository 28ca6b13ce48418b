// SPDX-License-Identifier: Apache-2.0
// A pool over the communicator of a job: `communicator_program WHAT [LEDGER]`, under any launcher.
// Rank 0 checks and prints "right"; each rank prints how it has ended.
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <sinew/init.hpp>
#include <sinew/pool.hpp>
#include <sinew/queue.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/this_task.hpp>
#include <sinew/world.hpp>
#include <string>
#include <thread>
#include <vector>

#include "src/base/text.hpp"

namespace {

using namespace std::chrono_literals;
using sinew::text;

void check(bool holds, std::string const& what) {
    if (holds) return;
    std::cout << "WRONG: " << what << std::endl;
    std::_Exit(9);
}

int square(int x) { return x * x; }
int supervisor_of(int) {
    std::this_thread::sleep_for(2ms);
    return ::getppid();
}
int dies_at_first(int x) {
    if (x % 20 == 13 && sinew::this_task::attempt() == 1) ::kill(::getpid(), SIGKILL);
    return x;
}
std::vector<std::uint8_t> inverted(std::vector<std::uint8_t> const& bytes) {
    auto result = bytes;
    for (auto& each : result) each = static_cast<std::uint8_t>(~each);
    return result;
}

int put_square(std::pair<int, sinew::Queue<int>> const& task) {
    auto queue = task.second;
    queue.put(task.first * task.first);
    return task.first;
}

/// The number of TCP ports on which this process listens, without those inherited from a rank's
/// MPI.
int open_ports(int) {
    std::this_thread::sleep_for(2ms);
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd) {
        int listens = 0, domain = AF_UNIX;
        socklen_t length = sizeof listens;
        ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length);
        ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length);
        bool const inherited = (::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
        if (listens != 0 && domain != AF_UNIX && !inherited) ++count;
    }
    return count;
}
/// A queue that lives in the worker, and the worker's pid.
std::pair<int, sinew::Queue<int>> own_queue(int) {
    std::this_thread::sleep_for(2ms);
    static sinew::Queue<int> const queue;
    return {::getppid(), queue};
}
int put_into_all(std::pair<int, std::vector<sinew::Queue<int>>> const& task) {
    std::this_thread::sleep_for(2ms);
    for (auto queue : task.second) queue.put(task.first);
    return ::getppid();
}

/// Appends a line atomically.
void note(std::string const& ledger, std::string const& line) {
    int const fd = ::open(ledger.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    auto const whole = line + '\n';
    if (::write(fd, whole.data(), whole.size()) < 0) std::abort();
    ::close(fd);
}

/// Appends lines during its execution, so that two executions at the same time are detected.
int noted(std::pair<int, std::string> const& task) {
    auto const& [index, ledger] = task;
    auto const end = std::chrono::steady_clock::now() + 100ms;
    do {
        note(ledger, text(index, ' ', ::getpid()));
        std::this_thread::sleep_for(10ms);
    } while (std::chrono::steady_clock::now() < end);
    return index;
}

std::vector<std::uint8_t> filled(std::pair<int, std::string> const& task) {
    note(task.second, text(task.first, ' ', ::getpid()));
    return std::vector<std::uint8_t>(std::size_t{48} << 20, static_cast<std::uint8_t>(task.first));
}

/// For each task, the processes that executed it, in order, each once.
std::map<int, std::vector<int>> executions(std::string const& ledger) {
    std::map<int, std::vector<int>> found;
    std::ifstream lines(ledger);
    for (int index = 0, pid = 0; lines >> index >> pid;) {
        auto& pids = found[index];
        if (pids.empty() || pids.back() != pid) pids.push_back(pid);
    }
    return found;
}
void check_one_at_a_time(std::string const& ledger) {
    for (auto const& [index, pids] : executions(ledger))
        check(std::set(pids.begin(), pids.end()).size() == pids.size(),
              text("two were at task ", index, " at a time"));
}

sinew::PoolOptions options_for(sinew::World& world, int per_node) {
    sinew::PoolOptions options;
    options.workers = per_node * world.nodes().nodes();
    options.progress = sinew::Progress::off;
    return options;
}

std::vector<int> numbers(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

void map(sinew::Pool& pool, sinew::World& world) {
    auto const squares = pool.map<square>(numbers(5000));
    for (int i = 0; i < 5000; ++i) check(squares.at(static_cast<std::size_t>(i)) == i * i, "map");
    pool.wait_until_workers_up();
    auto const parents = pool.map<supervisor_of>(numbers(400));
    std::set const nodes(parents.begin(), parents.end());
    check(static_cast<int>(nodes.size()) == world.nodes().nodes(),
          text("workers on ", nodes.size(), " nodes"));
    check(nodes.contains(::getpid()), "no workers of rank 0's own");
}

void kill_workers(sinew::Pool& pool) {
    check(pool.map<dies_at_first>(numbers(100)) == numbers(100), "results with dying workers");
    check(pool.stats().deaths == 5, text(pool.stats().deaths, " deaths"));
}

void large(sinew::Pool& pool) {
    std::vector<std::vector<std::uint8_t>> all;
    for (std::uint8_t i = 0; i < 12; ++i)
        all.emplace_back((std::size_t{5} << 20) + i, static_cast<std::uint8_t>(7 * i));
    auto const results = pool.map<inverted>(all);
    for (std::size_t i = 0; i < all.size(); ++i)
        check(results.at(i) == inverted(all[i]), text("large task ", i));
}

void queue(sinew::Pool& pool) {
    sinew::Queue<int> queue;
    std::vector<std::pair<int, sinew::Queue<int>>> tasks;
    for (int i = 0; i < 100; ++i) tasks.emplace_back(i, queue);
    check(pool.map<put_square>(tasks) == numbers(100), "tasks that put into a queue");
    long sum = 0;
    for (int i = 0; i < 100; ++i) sum += queue.get();
    check(sum == 328350, text("the squares that came by queue: ", sum));
}

/// Queues of workers on all nodes: workers of all nodes put items, rank 0 gets them.
void worker_queues(sinew::Pool& pool, sinew::World& world) {
    auto const nodes = static_cast<std::size_t>(world.nodes().nodes());
    pool.wait_until_workers_up();
    for (int const ports : pool.map<open_ports>(numbers(100)))
        check(ports == 0, text("a worker without a queue listens on ", ports, " ports"));
    std::map<int, sinew::Queue<int>> by_supervisor;
    for (auto const& [supervisor, queue] : pool.map<own_queue>(numbers(400)))
        by_supervisor.emplace(supervisor, queue);
    check(by_supervisor.size() == nodes, text("queues on ", by_supervisor.size(), " nodes"));
    std::vector<sinew::Queue<int>> queues;
    for (auto const& [supervisor, queue] : by_supervisor) queues.push_back(queue);
    std::vector<std::pair<int, std::vector<sinew::Queue<int>>>> tasks;
    for (int i = 0; i < 200; ++i) tasks.emplace_back(i, queues);
    auto const writers = pool.map<put_into_all>(tasks);
    check(std::set(writers.begin(), writers.end()).size() == nodes, "writers of some nodes only");
    for (auto& queue : queues) {
        int sum = 0;
        for (int i = 0; i < 200; ++i) sum += queue.get_for(20s).value_or(-100000);
        check(sum == 19900, text("what came by a worker's queue: ", sum));
    }
}

/// The node's supervisor, and the GPUs and number of cores of a worker there.
std::pair<int, std::string> what_it_has(int) {
    std::this_thread::sleep_for(2ms);
    cpu_set_t cores;
    CPU_ZERO(&cores);
    ::sched_getaffinity(0, sizeof cores, &cores);
    return {::getppid(), text(std::getenv("CUDA_VISIBLE_DEVICES"), " cores:", CPU_COUNT(&cores))};
}
void resources(sinew::Pool& pool, sinew::World& world) {
    pool.wait_until_workers_up();
    std::map<int, std::set<std::string>> by_supervisor;
    for (auto const& [supervisor, has] : pool.map<what_it_has>(numbers(400)))
        by_supervisor[supervisor].insert(has);
    check(static_cast<int>(by_supervisor.size()) == world.nodes().nodes(), "workers of all nodes");
    for (auto const& [supervisor, all] : by_supervisor)
        check(all == std::set<std::string>{"gpu-a cores:1", "gpu-b cores:1"},
              text("a node whose workers have ", *all.begin(), " and ", *all.rbegin()));
}
/// Rank 0 gets the error, and no rank waits for it.
void too_much(sinew::World& world, sinew::PoolOptions options) {
    options.meta = {.gpu = 2};
    try {
        sinew::Pool pool(world.communicator(), options);
        check(world.rank() != 0, "four GPUs of three");
    } catch (sinew::UsageError const& error) {
        check(std::string(error.what()).find("needs 4 GPUs") != std::string::npos, error.what());
    }
}

/// Stops during large results, until the test continues it.
void backlog(sinew::Pool& pool, std::string const& ledger) {
    pool.wait_until_workers_up();
    std::vector<std::pair<int, std::string>> tasks;
    for (int i = 0; i < 24; ++i) tasks.emplace_back(i, ledger);
    int next = 0;
    for (auto const& each : pool.imap<filled>(tasks)) {
        if (next == 0) ::raise(SIGSTOP);
        check(each == std::vector<std::uint8_t>(std::size_t{48} << 20, std::uint8_t(next)),
              text("large result ", next));
        ++next;
    }
    check(next == 24, "all results");
}

/// Runs while processes are killed or disconnected.
void lasting(sinew::Pool& pool, std::string const& ledger, int count, bool at_most_once) {
    pool.wait_until_workers_up();
    std::vector<std::pair<int, std::string>> tasks;
    for (int i = 0; i < count; ++i) tasks.emplace_back(i, ledger);
    auto const calls = pool.with({.at_most_once = at_most_once});
    auto const settled = calls.map_settled<noted>(tasks);
    auto ran = executions(ledger);
    int lost = 0;
    for (std::size_t i = 0; i < settled.size(); ++i) {
        auto const& pids = ran[static_cast<int>(i)];
        check(!pids.empty() || !settled[i], text("task ", i, " has ended without an execution"));
        if (at_most_once) check(pids.size() <= 1, text("task ", i, " was executed twice"));
        if (settled[i]) check(*settled[i] == static_cast<int>(i), text("result ", i));
        else ++lost;
    }
    check_one_at_a_time(ledger);
    check(at_most_once || lost == 0, text(lost, " tasks have failed"));
    std::cout << lost << " lost, " << pool.stats().deaths << " deaths" << std::endl;
}

void act(sinew::Pool& pool, sinew::World& world, std::string const& what,
         std::string const& ledger) {
    if (what == "map") map(pool, world);
    else if (what == "kill") kill_workers(pool);
    else if (what == "large") large(pool);
    else if (what == "queue") queue(pool);
    else if (what == "worker_queues") worker_queues(pool, world);
    else if (what == "resources") resources(pool, world);
    else if (what == "backlog") backlog(pool, ledger);
    else if (what == "lasting") lasting(pool, ledger, 300, false);
    else if (what == "once") lasting(pool, ledger, 300, true);
    else if (what == "idle") pool.wait_until_workers_up();
    else if (what == "leave") {
        pool.wait_until_workers_up();
        std::this_thread::sleep_for(1h);
    } else check(what == "nothing", text("does not know ", what));
}

void serve(sinew::Pool& pool) {
    try {
        pool.map<square>(numbers(3));
        check(false, "a rank that serves may submit");
    } catch (sinew::UsageError const&) {}
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    std::string const what = argc > 1 ? argv[1] : "map";
    sinew::World world(argc, argv);
    {
        auto options = options_for(world, 2);
        if (what == "default") options.workers.reset();
        if (what == "resources") {
            ::setenv("CUDA_VISIBLE_DEVICES", "gpu-a,gpu-b,gpu-c", 1);
            // Simulated nodes on one host each have their own.
            ::setenv("SINEW_GPU_SCOPE", text("test", ::getpid(), ":gpu-a,gpu-b,gpu-c").c_str(), 1);
            too_much(world, options);
            options.meta = {.cpu = 1, .memory_mib = 1000, .gpu = 1};
        }
        sinew::Pool pool(world.communicator(), options);
        std::cout << "there " << world.rank() << " pid " << ::getpid() << std::endl;
        if (world.rank() != 0) serve(pool);
        else act(pool, world, what == "default" ? "map" : what, argc > 2 ? argv[2] : "");
    }
    if (world.rank() == 0) std::cout << "right" << std::endl;
    std::cout << "ended " << world.rank() << std::endl;
}
