// SPDX-License-Identifier: Apache-2.0
// Processes, managers, pools and rings on the nodes of a job: `nodes_program WHAT`, under any
// launcher. Rank 0 checks and prints "right"; tests wait for lines of their own.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sinew/sinew.hpp>
#include <sinew/world.hpp>
#include <string>
#include <thread>

#include "src/base/text.hpp"

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
double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}
std::string host_here() {
    char const* const name = std::getenv("SINEW_NODE_NAME");
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    return name != nullptr ? name : host;
}
bool has(std::string const& words, std::string const& part) {
    return words.find(part) != std::string::npos;
}

class Counter {
public:
    int add(int more) { return value_ += more; }
    int pid() const { return ::getpid(); }
    std::string host() const { return host_here(); }
    int slowly(int milliseconds) {
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        return ++value_;
    }
    void die() { ::raise(SIGKILL); }
    std::vector<std::uint8_t> echo(std::vector<std::uint8_t> const& bytes) { return bytes; }
    void keep(Object<Counter> const& other) { kept_ = other; }
    int add_there(int more) { return kept_->call<&Counter::add>(more); }

private:
    int value_ = 0;
    std::optional<Object<Counter>> kept_;
};

/// Writes to its standard output, and ends with a code that says what it found.
void look_around(std::string const& host, std::string const& folder) {
    std::cout << "here " << ::getpid() << std::endl;
    char const* const variable = std::getenv("SINEW_TEST_VARIABLE");
    bool const right = host_here() == host && std::filesystem::current_path() == folder &&
                       variable != nullptr && std::string(variable) == "as told";
    std::exit(right ? 41 : 42);
}

std::string content_of(std::filesystem::path const& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

// A process on each node, with its own environment, folder and output; what it cannot have.
void processes(Nodes const& nodes) {
    auto const folder = std::filesystem::canonical(std::filesystem::temp_directory_path()) /
                        text("sinew-nodes-", ::getpid());
    std::filesystem::create_directory(folder);
    for (auto const& node : nodes.all()) {
        Process process({.node = node,
                         .env = {"SINEW_TEST_VARIABLE=as told"},
                         .folder = folder.string(),
                         .out = "out"},
                        look_around, node.host(), folder.string());
        process.start();
        check(process.pid() > 0, "its pid");
        process.join();
        check(process.exitcode() == 41, text("exit code ", *process.exitcode()));
        pollfd sentinel{process.sentinel(), POLLIN, 0};
        check(::poll(&sentinel, 1, 0) == 1, "its sentinel");
        check(has(content_of(folder / "out"), text("here ", process.pid(), '\n')), "its output");

        Process killed({.node = node}, [] { ::pause(); });
        killed.start();
        pollfd alive{killed.sentinel(), POLLIN, 0};
        check(::poll(&alive, 1, 0) == 0, "the sentinel of one that lives");
        killed.kill();
        killed.join();
        check(killed.exitcode() == -SIGKILL, text("exit code ", *killed.exitcode()));

        Process nowhere({.node = node, .out = "/no/such/folder/out"}, [] {});
        try {
            nowhere.start();
            check(false, "an output that cannot be opened");
        } catch (Error const& error) {  // SystemError of its own host, StartFailed of another's
            check(has(error.what(), "/no/such/folder"), error.what());
        }
    }
    // Regression: start() missed the end of such a process if it came at once, and waited for 60 s.
    for (int i = 0; i < 300; ++i) {
        Process nowhere({.node = nodes[nodes.size() - 1], .out = "/no/such/folder/out"}, [] {});
        try {
            nowhere.start();
            check(false, "an output that cannot be opened, again");
        } catch (Error const& error) {
            check(has(error.what(), "/no/such/folder"), error.what());
        }
    }
    std::filesystem::remove_all(folder);
}

// Pools share the nodes with each other and with all else.
std::string where(int) { return host_here(); }
std::vector<std::uint8_t> reversed(std::vector<std::uint8_t> bytes) {
    std::reverse(bytes.begin(), bytes.end());
    return bytes;
}
void pools(Nodes const& nodes) {
    int const size = 2 * nodes.size();
    Manager manager({.node = nodes[nodes.size() - 1]});
    Pool pool(nodes, {.workers = size}), other(nodes, {.workers = size});
    check(pool.wait_until_workers_up() && other.wait_until_workers_up(), "workers come up");
    std::set<std::string> hosts;
    for (auto const& host : pool.map<where>(range(0, 400))) hosts.insert(host);
    check(static_cast<int>(hosts.size()) == nodes.size(), "workers on all nodes");
    std::vector<std::uint8_t> large(9'000'000);
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::uint8_t>(i * 7);
    std::vector<AsyncResult<std::vector<std::uint8_t>>> results;
    for (int i = 0; i < 2 * size; ++i) results.push_back(other.apply_async(reversed, large));
    auto const expected = reversed(large);
    for (auto& each : results) check(each.get() == expected, "large arguments and results");
    check(manager.create<Counter>().call<&Counter::add>(1) == 1, "a manager beside pools");
}

int prepared = 0;
void prepare(int value) { prepared = value; }
class Prepared {
public:
    int value() const { return prepared; }
};

// Objects on every node are called, hold each other, and live on the right nodes.
void managers(Nodes const& nodes) {
    std::vector<Manager> there;
    std::vector<Object<Counter>> counters;
    for (int node = 0; node < nodes.size(); ++node) {
        there.emplace_back(
            ManagerOptions{.node = nodes[node], .initializer = initializer<prepare>(7 + node)});
        counters.push_back(there.back().create<Counter>());
        check(counters.back().call<&Counter::host>() == nodes[node].host(), "another host");
        check(counters.back().call<&Counter::pid>() == there.back().pid(), "another process");
        check(there.back().create<Prepared>().call<&Prepared::value>() == 7 + node, "initializer");
    }
    for (std::size_t i = 0; i < counters.size(); ++i) {
        auto const& next = counters[(i + 1) % counters.size()];
        counters[i].call<&Counter::keep>(next);
        if (counters.size() == 1) next.call<&Counter::add>(5);  // not within its own call
        else check(counters[i].call<&Counter::add_there>(5) >= 5, "the next one's object");
    }
    std::vector<std::uint8_t> const large(3'000'000, 9);
    for (auto const& counter : counters) {
        check(counter.call<&Counter::add>(1) == 6, "each was called by another");
        check(counter.call<&Counter::echo>(large) == large, "large arguments");
    }
    for (auto& manager : there) manager.shutdown();
}

// A manager on a node that is killed, or that requests more than its node has.
void deaths(Nodes const& nodes) {
    auto const last = nodes[nodes.size() - 1];
    Manager manager({.node = last});
    auto const counter = manager.create<Counter>();
    auto const begin = Clock::now();
    try {
        counter.call<&Counter::die>();
        check(false, "nobody told of a death");
    } catch (ObjectLost const& error) {
        check(error.maybe_executed(), "maybe executed");
        check(has(error.what(), "the manager is gone"), error.what());
    }
    say(text("a death is known after ", since(begin), " s"));
    check(since(begin) < 20, "too late");
    try {
        Manager wants({.node = last, .meta = {.cpu = 100'000}});
        check(false, "a hundred thousand cores");
    } catch (Error const& error) {  // UsageError on this host, StartFailed on another one
        bool const far = !last.is_here();
        check(has(error.what(), "100000") && has(error.what(), "could not be started") == far,
              error.what());
    }
}

struct Rings {
    static void reduce(RingMember& me) {
        check(me.communicator().allreduce_value(1, sum) == me.size(), "a sum over all");
        auto const& self = me.members()[static_cast<std::size_t>(me.rank())];
        check(self.pid == ::getpid(), "its pid");
        check(self.host == host_here(), text(self.host, " is not ", host_here()));
        std::map<std::string, int> on;
        int before = 0;
        for (auto const& each : me.members()) {
            before += each.rank < me.rank() && each.host == self.host ? 1 : 0;
            ++on[each.host];
        }
        check(std::atoi(std::getenv("LOCAL_RANK")) == before, "LOCAL_RANK");
        check(std::atoi(std::getenv("LOCAL_WORLD_SIZE")) == on[self.host], "LOCAL_WORLD_SIZE");
        check(std::getenv("MASTER_ADDR") == me.members()[0].address, "MASTER_ADDR");
        std::vector<float> data(300'000, 1.0F);
        me.communicator().allreduce(std::span(data), sum);
        check(data.back() == static_cast<float>(me.size()), "large sums");
        me.commit(std::vector<int>(50'000, me.rank()));
    }
    static void die_once(RingMember& me) {
        auto const before = me.committed<int>();
        check(before.has_value() == (me.epoch() > 0), "what was committed");
        me.commit(me.rank());
        for (int step = 0; step < 40; ++step) {
            if (me.epoch() == 0 && me.rank() == me.size() - 1 && step == 20) ::raise(SIGKILL);
            me.communicator().allreduce_value(1.0, sum);
        }
    }
    template <int who>
    static void die(RingMember& me) {
        int const rank = who < 0 ? me.size() + who : who;
        for (int step = 0;; ++step) {
            if (me.rank() == rank && step == 20) ::raise(SIGKILL);
            me.communicator().allreduce_value(1.0, sum);
        }
    }
    static void for_ever(RingMember& me) {
        for (int step = 0;; ++step) {
            me.communicator().allreduce_value(1.0, sum);
            if (step == 50 && me.rank() == 0) say("reducing");
        }
    }
};

void rings(Nodes const& nodes) {
    int const size = 2 * nodes.size();
    auto const statuses = Ring(size, task<&Rings::reduce>, {.nodes = nodes.all()}).run();
    for (int rank = 0; rank < size; ++rank) {
        auto const& status = statuses[static_cast<std::size_t>(rank)];
        check(status.host == nodes[rank / 2].host(), text("rank ", rank, " on ", status.host));
        check(status.end == "returned", status.end);
    }
    Ring caller(size, task<&Rings::reduce>, {.nodes = nodes.all(), .member_zero_is_caller = true});
    caller.run();
    Ring again(size, task<&Rings::die_once>, {.nodes = nodes.all(), .max_restarts = 1});
    again.run();
    check(again.restarts() == 1, "it started again");
}

void expect_failure(Ring ring, int rank, std::string const& host, std::string const& why,
                    double limit) {
    auto const begin = Clock::now();
    try {
        ring.run();
        check(false, "nobody told");
    } catch (RingFailed const& error) {
        say(text("after ", since(begin), " s: ", error.what()));
        check(error.rank() == rank || rank < 0, error.what());
        check(error.host() == host || host.empty(), error.what());
        check(has(error.reason(), why), error.what());
        check(since(begin) < limit, "too late");
    }
}

void ring_deaths(Nodes const& nodes) {
    int const size = 2 * nodes.size();
    auto const all = nodes.all();
    expect_failure(Ring(size, task<&Rings::die<-1>>, {.nodes = all}), size - 1, all.back().host(),
                   "killed by signal 9", 20);
    expect_failure(Ring(size, task<&Rings::die<0>>, {.nodes = all}), 0, all.front().host(),
                   "killed by signal 9", 20);
}

// Uses the last node until that or this process is killed, or the network is cut.
void lasting(Nodes const& nodes) {
    auto const last = nodes[nodes.size() - 1];
    Manager manager({.node = last});
    auto const counter = manager.create<Counter>();
    auto const reply = counter.async<&Counter::slowly>(600'000);
    say("waiting");
    try {
        reply.get();
        check(false, "it came back");
    } catch (ObjectLost const& error) {
        say(text("lost, maybe executed ", error.maybe_executed(), ": ", error.what()));
    }
    say("right");
}

void lasting_process(Nodes const& nodes) {
    Process process({.node = nodes[nodes.size() - 1]}, [] {
        for (;;) ::pause();
    });
    process.start();
    say("waiting");
    process.join();
    say(text("exit code ", *process.exitcode()));
    say("right");
}

void lasting_ring(Nodes const& nodes) {
    // The culprit may be either side: both have lost each other, and this one reports.
    expect_failure(Ring(2 * nodes.size(), task<&Rings::for_ever>, {.nodes = nodes.all()}), -1, "",
                   "", 600);
    say("right");
}

std::string broadcast(Communicator& world, std::string words) {
    std::array<std::uint64_t, 1> size{words.size()};
    world.broadcast(size);
    words.resize(size[0]);
    world.broadcast(words);
    return words;
}

// Rank 0's manager, and the last rank as its guest: they do not share a session.
void guests(Communicator& world, bool lasting) {
    std::optional<Manager> manager;
    if (world.rank() == 0) manager.emplace(ManagerOptions{.listen = "0.0.0.0:0"});
    auto const address = broadcast(world, manager ? manager->address() : "");
    auto const key = broadcast(world, manager ? manager->authkey().bytes() : "");
    if (world.rank() == world.size() - 1) {
        auto guest = Manager::connect(address, AuthKey::of(key));
        auto const counter = guest.create<Counter>();
        check(counter.call<&Counter::add>(2) == 2, "its own object");
        if (lasting) {
            auto const reply = counter.async<&Counter::slowly>(600'000);
            say("guest waits");
            try {
                reply.get();
                check(false, "it came back");
            } catch (ObjectLost const& error) {
                say(text("lost, maybe executed ", error.maybe_executed(), ": ", error.what()));
            }
        }
    }
    world.barrier();
    if (world.rank() == 0) say("right");
}

int run(std::string const& what, Communicator& world) {
    if (what == "guests") return guests(world, false), 0;
    if (what == "lasting_guest") return guests(world, true), 0;
    Nodes nodes(world);
    if (nodes.serves()) {
        say(text("agent ", ::getpid(), " of rank ", world.rank()));
        nodes.wait();
        return 0;
    }
    check(nodes.size() == world.nodes().nodes(), "all nodes");
    if (what == "lasting") return lasting(nodes), 0;
    if (what == "lasting_ring") return lasting_ring(nodes), 0;
    if (what == "lasting_process") return lasting_process(nodes), 0;
    if (what == "processes") processes(nodes);
    else if (what == "pools") pools(nodes);
    else if (what == "managers") managers(nodes);
    else if (what == "deaths") deaths(nodes);
    else if (what == "rings") rings(nodes);
    else if (what == "ring_deaths") ring_deaths(nodes);
    else check(false, "what is " + what);
    say("right");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    sinew::World world(argc, argv);
    return run(argc > 1 ? argv[1] : "managers", world.communicator());
}
