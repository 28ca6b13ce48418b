// SPDX-License-Identifier: Apache-2.0
// A program that was started alone and acquires nodes: `acquire_program WHAT`. It checks, and prints
// "right"; tests wait for lines of their own.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <sinew/sinew.hpp>
#include <string>
#include <thread>

#include "src/base/text.hpp"
#include "tests/support/processes.hpp"

namespace {

using namespace std::chrono_literals;
using namespace sinew;
using Clock = std::chrono::steady_clock;

void check(bool holds, std::string const& what) {
    if (holds) return;
    std::cout << "WRONG: " << what << std::endl;
    std::_Exit(9);
}
void say(std::string const& line) { std::cout << line << std::endl; }
bool has(std::string const& words, std::string const& part) {
    return words.find(part) != std::string::npos;
}
double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}
std::string node_here() {
    char const* const name = std::getenv("SINEW_NODE_NAME");
    return name != nullptr ? name : "";
}

// The processes of node agents on this host that belong to this program.
std::vector<pid_t> agents() {
    std::vector<pid_t> found;
    for (auto const& each : testing_support::descendants_of(::getpid())) {
        auto const parent = testing_support::process_info(each.parent);
        if (each.state != 'Z' && has(parent.command, "sinew acquire")) found.push_back(each.pid);
    }
    return found;
}

int square(int x) { return x * x; }
std::string where(int) { return node_here(); }
std::string variable(int) {
    char const* const value = std::getenv("SINEW_TEST_VARIABLE");
    return value != nullptr ? value : "";
}

template <class Call>
std::string error_of(Call const& call) {
    try {
        call();
    } catch (Error const& error) {
        return error.what();
    }
    return "nothing was thrown";
}

NodesOptions local(int count, int cpu = 1) {
    return {.count = count, .backend = "local", .meta = {.cpu = cpu}, .start_timeout = 20s};
}

void pools() {
    auto options = local(3, 2);
    options.env = {"SINEW_TEST_VARIABLE=as told"};
    options.minimum = 3;
    auto const nodes = Nodes::acquire(options);
    check(nodes.size() == 3 && !nodes.serves(), "three nodes");
    Pool pool(nodes);
    check(pool.wait_until_workers_up(), "workers come up");
    check(pool.stats().workers == 6, text(pool.stats().workers, " workers"));
    std::set<std::string> hosts;
    for (auto const& host : pool.map<where>(range(0, 600))) hosts.insert(host);
    check(hosts == std::set<std::string>({"nodes-0", "nodes-1", "nodes-2"}), "all nodes");
    check(pool.map<variable>(range(0, 2)).front() == "as told", "the environment");
    // A pool of a number of workers, beside the other.
    Pool four(nodes, {.workers = 4});
    check(four.map<square>(range(0, 1000))[999] == 999 * 999, "squares");
    check(four.stats().workers == 4, "four workers");
}

class Counter {
public:
    int add(int more) { return value_ += more; }
    std::string host() const { return node_here(); }

private:
    int value_ = 0;
};

struct Members {
    static void reduce(RingMember& me) {
        check(me.communicator().allreduce_value(1, sum) == me.size(), "a sum over all");
        auto const& self = me.members()[static_cast<std::size_t>(me.rank())];
        check(self.host == node_here(), text(self.host, " is not ", node_here()));
    }
};

// Processes, managers and rings on acquired nodes.
void others() {
    auto options = local(2, 2);
    options.minimum = 2;
    auto const nodes = Nodes::acquire(options);
    for (auto const& node : nodes.all()) {
        check(!node.is_here(), "an acquired node is not this process");
        Process process(
            {.node = node},
            [](std::string const& host) { std::exit(node_here() == host ? 41 : 42); }, node.host());
        process.start();
        process.join();
        check(process.exitcode() == 41, text("exit code ", *process.exitcode()));
        Manager manager({.node = node});
        auto const counter = manager.create<Counter>();
        check(counter.call<&Counter::add>(5) == 5, "an object");
        check(counter.call<&Counter::host>() == node.host(), "its host");
    }
    auto const statuses = Ring(4, task<&Members::reduce>, {.nodes = nodes.all()}).run();
    check(statuses.size() == 4 && statuses[3].host == nodes[1].host(), "a ring");
}

// Nodes that are killed are replaced, and Node values of the lost ones say so.
void replaced() {
    auto options = local(2);
    options.minimum = 2;
    auto const nodes = Nodes::acquire(options);
    auto const before = nodes.all();
    auto const known = nodes.changes();
    for (auto const pid : agents()) ::kill(-pid, SIGKILL);
    check(nodes.wait_for_change(known, 10s), "the loss is known");
    auto const begin = Clock::now();
    while (nodes.changes() < known + 4) {
        check(since(begin) < 15, text("they are replaced: ", nodes.changes() - known, " changes"));
        std::this_thread::sleep_for(10ms);
    }
    check(nodes.wait_for(2, 10s), "two nodes again");
    say(text("replaced after ", since(begin), " s"));
    Process process({.node = before[0]}, [] {});
    auto const error = error_of([&] { process.start(); });
    check(has(error, "lost"), error);
    Pool pool(nodes);
    check(pool.map<square>(range(0, 100))[99] == 99 * 99, "a pool on the new ones");
}

// Results are exact although node agents are killed all the time.
void chaos() {
    auto options = local(3, 2);
    auto const nodes = Nodes::acquire(options);
    Pool pool(nodes, {.progress = Progress::off});
    std::atomic<bool> over{false};
    std::atomic<int> killed{0};
    std::thread killer([&] {
        for (unsigned turn = 0; !over; ++turn) {
            std::this_thread::sleep_for(700ms);
            auto const all = agents();
            if (all.empty() || over) continue;
            ::kill(-all[turn % all.size()], SIGKILL);
            ++killed;
        }
    });
    constexpr int count = 100'000;
    auto const slow_square = [](int x) {
        std::this_thread::sleep_for(100us);
        return x * static_cast<long>(x);
    };
    auto const begin = Clock::now();
    int maps = 0;
    for (; killed < 3; ++maps) {  // a fast machine has done the first one before
        auto const squares = pool.map(slow_square, range(0, count));
        for (int i = 0; i < count; ++i)
            check(squares[static_cast<std::size_t>(i)] == i * static_cast<long>(i),
                  text("task ", i));
    }
    auto const took = since(begin);
    over = true;
    killer.join();
    auto const stats = pool.stats();
    check(stats.done == static_cast<std::uint64_t>(maps) * count && stats.failed == 0,
          text(stats.done, " done"));
    say(text(killed.load(), " agents killed in ", took, " s, ", stats.retried, " tasks retried, ",
             stats.started, " workers"));
}

// A pool becomes larger and smaller with its nodes, and waits while there are none.
void resized() {
    auto options = local(1, 2);
    auto nodes = Nodes::acquire(options);
    Pool pool(nodes);
    auto const squares = [&] {
        auto const all = pool.map<square>(range(0, 2000));
        check(all[1999] == 1999 * 1999, "squares");
    };
    auto const workers = [&](int wanted) {
        auto const begin = Clock::now();
        while (pool.stats().ready != wanted || pool.stats().workers != wanted) {
            check(since(begin) < 15, text(pool.stats().workers, " workers, not ", wanted));
            std::this_thread::sleep_for(5ms);
        }
    };
    squares();
    say("squares");
    workers(2);
    say("workers 2");
    nodes.resize(3);
    workers(6);
    say("workers 6");
    squares();
    say("squares");
    nodes.resize(1);
    workers(2);
    say("workers 2");
    squares();
    say("squares");
    nodes.resize(0);
    workers(0);
    say("workers 0");
    check(nodes.size() == 0, "no nodes");
    auto result = pool.map_async<square>(range(0, 1000));
    check(!result.wait_for(300ms), "a pool without nodes waits");
    nodes.resize(2);
    check(result.get()[999] == 999 * 999, "it goes on");
    workers(4);
    say("workers 4");
    auto const error = error_of([&] { nodes.resize(-1); });
    check(has(error, "-1 nodes (must be from 0"), error);
}

void refused() {
    auto options = local(2);
    options.minimum = 3;
    auto error = error_of([&] { Nodes::acquire(options); });
    check(has(error, "minimum = 3 of 2"), error);
    options = local(1);
    options.backend = "pigeon";
    error = error_of([&] { Nodes::acquire(options); });
    check(has(error, "there is no backend pigeon for nodes (there are: local, ssh"), error);
    options = local(1);
    options.env = {"no value"};
    error = error_of([&] { Nodes::acquire(options); });
    check(has(error, "\"no value\""), error);
    options = local(64);
    options.meta.gpu = 99;
    error = error_of([&] { Nodes::acquire(options); });
    check(has(error, "64 nodes with 99 GPUs each"), error);
    options = local(1);
    options.backend = "ssh";
    options.hosts = {"nowhere"};
    options.launch_agent = "/no/such/program {host} {command}";
    error = error_of([&] { Nodes::acquire(options); });
    check(has(error, "/no/such/program cannot be executed") && has(error, "5 times in a row"),
          error);
    ::setenv("SINEW_COMMAND", "/no/such/sinew", 1);
    error = error_of([&] { Nodes::acquire(local(1)); });
    check(has(error, "SINEW_COMMAND=/no/such/sinew cannot be executed"), error);
}

// Nodes that never come: the pool and acquire() say what the backend says. The launch template
// starts something that is no agent.
void late() {
    auto options = local(1);
    options.backend = "ssh";
    options.hosts = {"a"};
    options.launch_agent = "sh -c 'exec sleep 100' {command}";
    options.start_timeout = 1s;
    auto error = error_of([&] { Nodes::acquire(options); });
    check(has(error, "0 of 1 nodes came within 1 s") || has(error, "no node came within 1 s"),
          error);
    check(has(error, "its agent is starting"), error);
    options.minimum = 0;
    auto const nodes = Nodes::acquire(options);
    check(nodes.size() == 0, "returns at once");
    Pool pool(nodes);
    error = error_of([&] { pool.map<square>(range(0, 10)); });
    check(has(error, "no node came within 1 s (its agent is starting)"), error);
    check(!nodes.all().size(), "none");
    error = error_of([&] { nodes.wait_for(1, 1h); });
    check(has(error, "no node came within 1 s"), error);
}

// When `sinew acquire` is killed, that is said, and its nodes end.
void orphaned() {
    auto const nodes = Nodes::acquire(local(1));
    Pool pool(nodes);
    check(pool.map<square>(range(0, 10))[9] == 81, "squares");
    for (auto const& each : testing_support::descendants_of(::getpid()))
        if (has(each.command, "sinew acquire")) ::kill(each.pid, SIGKILL);
    auto const error = error_of([&] {
        for (int i = 0; i < 10'000; ++i) {
            pool.map<square>(range(0, 10));
            std::this_thread::sleep_for(5ms);
        }
    });
    check(has(error, "sinew acquire (pid ") && has(error, "killed by signal 9"), error);
}

// Uses its nodes until it is killed.
void lasting() {
    auto options = local(2, 2);
    options.minimum = 2;
    auto const nodes = Nodes::acquire(options);
    Pool pool(nodes);
    check(pool.wait_until_workers_up(), "workers");
    say("waiting");
    std::this_thread::sleep_for(1h);
}

// Nodes on the hosts that are named, by a launch template: `acquire_program hosts TEMPLATE HOST...`.
void hosts(std::vector<std::string> const& words) {
    NodesOptions options{.count = static_cast<int>(words.size()) - 1,
                         .backend = "ssh",
                         .hosts = {words.begin() + 1, words.end()},
                         .launch_agent = words.front(),
                         .meta = {.cpu = 1},
                         .start_timeout = 30s,
                         .minimum = static_cast<int>(words.size()) - 1};
    auto const nodes = Nodes::acquire(options);
    Pool pool(nodes);
    check(pool.wait_until_workers_up(), "workers come up");
    std::set<std::string> found;
    for (auto const& host : pool.map<where>(range(0, 1000))) found.insert(host);
    check(found == std::set<std::string>(words.begin() + 1, words.end()), "all hosts");
    // By TCP between the nodes.
    Ring(options.count, task<&Members::reduce>, {.nodes = nodes.all()}).run();
    if (options.launch_agent != "env") return;
    auto const known = nodes.changes();
    ::kill(agents().front(), SIGTERM);
    check(nodes.wait_for_change(known, 10s), "a node that leaves");
    check(pool.map<square>(range(0, 1000))[999] == 999 * 999, "squares");
    check(nodes.wait_for(options.count, 10s), "it is replaced");
    auto const begin = Clock::now();
    auto result = pool.map_async(
        [](int x) {
            std::this_thread::sleep_for(10ms);
            return x;
        },
        range(0, 200));
    std::this_thread::sleep_for(100ms);
    ::kill(agents().front(), SIGKILL);
    check(result.get()[199] == 199, "results");
    auto const took = since(begin);
    check(took > 8 && took < 15, text("after the lease: ", took, " s"));
}

int long_square(int x) {
    std::this_thread::sleep_for(2ms);
    return x * x;
}
int process_number(int) { return static_cast<int>(::getpid()); }

// Nodes of the Slurm job in which this runs: `acquire_program allocation HOST...`. The pool grows onto
// the others; workers and an agent are killed while it maps.
void allocation(std::vector<std::string> const& words) {
    NodesOptions options{.count = 1, .meta = {.cpu = 2}, .start_timeout = 30s, .minimum = 1};
    auto nodes = Nodes::acquire(options);
    Pool pool(nodes, {.progress = Progress::off});
    check(pool.map<square>(range(0, 100))[99] == 99 * 99, "squares on one node");
    int const count = static_cast<int>(words.size());
    nodes.resize(count);
    check(nodes.wait_for(count, 20s), text("the nodes come: ", nodes.waiting_for()));
    check(pool.wait_until_workers_up(), "workers come up");
    std::set<std::string> found;
    for (auto const& host : pool.map<where>(range(0, 1000))) found.insert(host);
    check(found == std::set<std::string>(words.begin(), words.end()), "all hosts");
    for (auto const& node : nodes.all()) {
        Manager manager({.node = node});
        auto const counter = manager.create<Counter>();
        check(counter.call<&Counter::add>(5) == 5, "an object");
        check(counter.call<&Counter::host>() == node.host(), "its host");
    }
    // All hosts of the lab share their process numbers.
    std::set<int> workers;
    for (auto const pid : pool.map<process_number>(range(0, 200))) workers.insert(pid);
    auto const known = nodes.changes();
    auto result = pool.map_async<long_square>(range(0, 3000));
    int killed = 0;
    for (int const pid : workers) {
        std::this_thread::sleep_for(100ms);
        if (++killed % 2 == 0) ::kill(pid, SIGKILL);
    }
    auto const agent = testing_support::process_info(*workers.begin()).parent;
    ::kill(agent, SIGKILL);
    auto const squares = result.get();
    for (int i = 0; i < 3000; ++i)
        check(squares[static_cast<std::size_t>(i)] == i * i, text("task ", i));
    check(nodes.wait_for_change(known, 20s), "an agent that was killed is a lost node");
    check(nodes.wait_for(count, 20s), "it is replaced");
    check(pool.map<square>(range(0, 100))[99] == 99 * 99, "squares afterwards");
    say(text(killed / 2, " workers and an agent were killed"));
}

// Nodes in containers, as SINEW_BACKEND and SINEW_IMAGE say. One is killed while the pool maps.
void containers() {
    auto const nodes =
        Nodes::acquire({.count = 2, .meta = {.cpu = 1}, .start_timeout = 20s, .minimum = 2});
    Pool pool(nodes, {.progress = Progress::off});
    check(pool.wait_until_workers_up(), "workers come up");
    std::set<std::string> found;
    for (auto const& host : pool.map<where>(range(0, 1000))) found.insert(host);
    check(found == std::set<std::string>({"nodes-0", "nodes-1"}), "all containers");
    check(node_here().empty(), "the master is on the host");
    auto const known = nodes.changes();
    auto result = pool.map_async<long_square>(range(0, 2000));
    say("mapping");
    auto const squares = result.get();
    for (int i = 0; i < 2000; ++i)
        check(squares[static_cast<std::size_t>(i)] == i * i, text("task ", i));
    check(nodes.wait_for_change(known, 20s), "a container that was killed is a lost node");
    check(nodes.wait_for(2, 20s), text("it is replaced: ", nodes.waiting_for()));
    check(pool.map<square>(range(0, 100))[99] == 99 * 99, "squares afterwards");
    say("waiting");
    if (std::getenv("LASTING") != nullptr) std::this_thread::sleep_for(1h);
}

int run(std::string const& what, std::vector<std::string> const& more) {
    if (what == "pools") pools();
    else if (what == "others") others();
    else if (what == "replaced") replaced();
    else if (what == "chaos") chaos();
    else if (what == "resized") resized();
    else if (what == "refused") refused();
    else if (what == "late") late();
    else if (what == "orphaned") orphaned();
    else if (what == "lasting") lasting();
    else if (what == "hosts") hosts(more);
    else if (what == "containers") containers();
    else if (what == "allocation") allocation(more);
    else check(false, "what is " + what);
    say("right");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty()) words = {"pools"};
    if (words[0] == "no_init") {
        auto const error = error_of([] { Nodes::acquire({}); });
        check(has(error, "sinew::init(argc, argv) was not called"), error);
        say("right");
        return 0;
    }
    sinew::init(argc, argv);
    try {
        return run(words[0], {words.begin() + 1, words.end()});
    } catch (std::exception const& problem) {
        std::cerr << problem.what() << std::endl;
        return 8;
    }
}
