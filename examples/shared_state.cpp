// SPDX-License-Identifier: Apache-2.0
//
// Processes that share objects in a manager: they meet at a barrier, take jobs from a queue and
// store results in a dictionary. One process is killed while it holds the lock.
//
//   build/release/examples/shared_state
#include <csignal>
#include <cstdio>
#include <exception>
#include <mutex>
#include <sinew/init.hpp>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>
#include <string>
#include <vector>

namespace {

namespace managed = sinew::managed;

void count(managed::Barrier const& start, managed::Queue<std::string> const& words,
           managed::Dict<std::string, int> const& counts, managed::Lock const& lock,
           managed::Value<std::string> const& longest) {
    start.wait();
    while (auto const word = words.try_get()) {
        counts.add(*word, 1);              // a single method is atomic
        std::lock_guard const held(lock);  // several methods need a lock
        if (word->size() > longest.get().size()) longest.set(*word);
    }
}

void take_and_die(managed::Lock const& lock) {
    lock.lock();
    std::raise(SIGKILL);
}

void share() {
    sinew::Manager manager;
    auto const start = manager.barrier(3);
    auto const words = manager.queue<std::string>();
    auto const counts = manager.dict<std::string, int>();
    auto const lock = manager.lock();
    auto const longest = manager.value<std::string>();
    for (char const* const each : {"a", "rose", "is", "a", "rose", "is", "a", "flower"})
        words.put(each);

    sinew::Process killed(sinew::task<take_and_die>, lock);
    killed.start();
    std::vector<sinew::Process> workers;
    for (int i = 0; i < 2; ++i)
        workers.emplace_back(sinew::task<count>, start, words, counts, lock, longest);
    for (auto& each : workers) each.start();
    start.wait();
    killed.join();
    for (auto& each : workers) each.join();
    for (auto const& [word, times] : counts.items()) std::printf("%s %d\n", word.c_str(), times);
    std::printf("the longest is %s\n", longest.get().c_str());
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);  // must come first: processes run this same program and end inside it
    try {
        share();
    } catch (std::exception const& error) {
        std::fprintf(stderr, "shared_state: %s\n", error.what());
        return 1;
    }
}
