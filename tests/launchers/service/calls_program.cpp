// SPDX-License-Identifier: Apache-2.0
// A program that calls its functions on a service: `calls_program WHAT SERVER FOLDER`. It prints
// "right" or what is wrong; tests wait for lines of their own.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sinew/init.hpp>
#include <sinew/nodes.hpp>
#include <sinew/pool.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/service.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace sinew;

void check(bool holds, std::string const& what) {
    if (holds) return;
    std::cout << "WRONG: " << what << std::endl;
    std::_Exit(9);
}

int square(int x) { return x * x; }
void refuse(std::string const& why) { throw std::out_of_range(why); }
std::string gpus() {
    char const* const value = std::getenv("CUDA_VISIBLE_DEVICES");
    return value != nullptr ? value : "";
}
std::string variable() { return std::getenv("SINEW_TEST_VARIABLE"); }

// Fails if another call has the same GPU at this time. Returns the GPU.
std::string alone(std::string const& folder) {
    auto const mine = gpus();
    auto const path = folder + "/gpu-" + mine;
    int const file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0)
        throw std::runtime_error("GPU " + mine + " is used by two calls");
    std::this_thread::sleep_for(200ms);
    return mine;  // the lock lasts as long as this process
}

// Tells its pid, and sleeps.
void linger(std::string const& folder) {
    std::ofstream(folder + "/pid.new") << ::getpid() << std::endl;
    std::filesystem::rename(folder + "/pid.new", folder + "/pid");
    std::this_thread::sleep_for(600s);
}

// Tells that it has begun, and waits for a file.
int ordered(std::string const& folder) {
    std::ofstream(folder + "/begun");
    while (!std::filesystem::exists(folder + "/go")) std::this_thread::sleep_for(10ms);
    return 7;
}

struct Arguments {
    std::string server, folder;
};
ServiceOptions with_gpus(int count) {
    ServiceOptions options;
    options.gpus = count;
    options.address = "127.0.0.1";
    return options;
}

void values(Arguments const& given) {
    auto options = with_gpus(1);
    options.env = {"SINEW_TEST_VARIABLE=as told"};
    Service const service(given.server, options);
    check(service.call<&square>(12) == 144, "a value");
    check(service.call<&variable>() == "as told", "a variable");
    auto later = service.call_async<&square>(3);
    check(later.wait_for(60s) && later.ready() && later.get() == 9, "a value later");
    try {
        service.call<&refuse>(std::string("no such cell"));
        check(false, "nothing was thrown");
    } catch (std::out_of_range const& problem) {
        check(std::string(problem.what()) == "no such cell", problem.what());
    }
}

void many(Arguments const& given) {
    Service const service(given.server, with_gpus(1));
    std::vector<AsyncResult<std::string>> results;
    for (int i = 0; i < 6; ++i) results.push_back(service.call_async<&alone>(given.folder));
    std::map<std::string, int> seen;
    for (auto const& result : results) ++seen[result.get()];
    for (auto const& [gpu, count] : seen)
        check(gpu == "0" || gpu == "1", "GPUs \"" + gpu + "\" of a call with one");
    check(seen.size() == 2, "both GPUs are used");
}

void cancelled(Arguments const& given) {
    Service const service(given.server, with_gpus(2));
    auto const first = service.call_async<&linger>(given.folder);
    while (!std::filesystem::exists(given.folder + "/pid")) std::this_thread::sleep_for(10ms);
    auto const second = service.call_async<&square>(1);  // waits in the queue
    check(!second.wait_for(300ms), "no GPU is free");
    first.cancel();
    check(second.get() == 1 && first.cancelled(), "the second has the GPUs of the first");
}

// Pools work on such nodes as on others, and nodes that are lost are replaced.
void pools(Arguments const& given) {
    auto const nodes = Nodes::acquire({.count = 2,
                                       .backend = "service",
                                       .hosts = {given.server},
                                       .meta = {.cpu = 1, .gpu = 1},
                                       .minimum = 2,
                                       .address = "127.0.0.1"});
    Pool pool(nodes);
    auto const squares = pool.map<square>(range(0, 100));
    check(squares[99] == 99 * 99, "squares");
    auto const known = nodes.changes();
    std::cout << "two nodes" << std::endl;
    while (nodes.changes() < known + 2)
        check(nodes.wait_for_change(nodes.changes(), 60s), "changes");
    check(nodes.wait_for(2, 60s), "two nodes again");
    check(pool.map<square>(range(0, 100))[98] == 98 * 98, "squares of the node that replaces it");
}

void restarted(Arguments const& given) {
    Service const service(given.server, with_gpus(1));
    check(service.call<&ordered>(given.folder) == 7, "the value of a call before the restart");
    check(service.call<&square>(2) == 4, "a call after it");
}

// What a call throws is printed.
void fails(Arguments const& given, ServiceOptions const& options) {
    try {
        Service const service(given.server, options);
        service.call<&linger>(given.folder);
        std::cout << "nothing" << std::endl;
    } catch (WorkerDied const& problem) {
        std::cout << "WorkerDied: " << problem.what() << std::endl;
    } catch (Unavailable const& problem) {
        std::cout << "Unavailable: " << problem.what() << std::endl;
    } catch (UsageError const& problem) {
        std::cout << "UsageError: " << problem.what() << std::endl;
    }
}

void lingers(Arguments const& given) { fails(given, with_gpus(2)); }
void five_gpus(Arguments const& given) { fails(given, with_gpus(5)); }
void limited(Arguments const& given) {
    auto options = with_gpus(1);
    options.time_limit = 1s;
    fails(given, options);
}
void impatient(Arguments const& given) {
    auto options = with_gpus(1);
    options.queue_limit = 1s;
    fails(given, options);
}
void wrong_address(Arguments const& given) {
    auto options = with_gpus(1);
    options.address = "192.0.2.7";
    fails(given, options);
}

}  // namespace

int main(int argc, char** argv) try {
    sinew::init(argc, argv);
    std::map<std::string, void (*)(Arguments const&)> const all{
        {"restarted", restarted}, {"pools", pools},         {"values", values},
        {"many", many},           {"cancelled", cancelled}, {"lingers", lingers},
        {"limited", limited},     {"five_gpus", five_gpus}, {"wrong_address", wrong_address},
        {"impatient", impatient}};
    check(argc == 4, "calls_program WHAT SERVER FOLDER");
    all.at(argv[1])({argv[2], argv[3]});
    std::cout << "right" << std::endl;
} catch (std::exception const& problem) {
    std::cout << "WRONG: " << problem.what() << std::endl;
    return 1;
}
