// SPDX-License-Identifier: Apache-2.0
// Tests pools under any launcher, or none: `chaos_program bare|job|apart LEDGER NAME...`.
//   bare   a pool of this process
//   job    pools over the ranks of the job
//   apart  the same, each rank as if on a separate node, so that each has workers
// NAMEs are scenarios (all if none is given), or tests that need a process alone:
//   plain few_descriptors few_processes out_of_memory soak stuck
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <sinew/init.hpp>
#include <sinew/pool.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/world.hpp>
#include <string>
#include <thread>

#include "src/base/text.hpp"
#include "tests/pool/chaos/chaos_program.hpp"
#include "tests/pool/chaos/chaos_scenarios.hpp"

namespace {

using namespace std::chrono_literals;
using namespace sinew::testing_support;
using sinew::text;

/// Reports a hang as a failure with a name. A busy machine takes 90 s for 60 starts of workers with a sanitizer.
class Watchdog {
public:
    explicit Watchdog(std::string what)
        : what_(std::move(what)), thread_([this] {
              std::unique_lock lock(mutex_);
              if (changed_.wait_for(lock, 5min, [this] { return over_; })) return;
              std::cout << text("HANGS: ", what_, '\n') << std::flush;
              std::_Exit(8);
          }) {}
    ~Watchdog() {
        {
            std::lock_guard const lock(mutex_);
            over_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    Watchdog(Watchdog const&) = delete;

private:
    std::string const what_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_;
};

sinew::PoolOptions options_of(Scenario const& scenario, std::string const& ledger) {
    sinew::PoolOptions options;
    options.workers = 4;
    options.progress = sinew::Progress::off;
    // Workers are killed at any time; deaths during the start do not mean that none can be started.
    options.failing_starts = 1000;
    if (scenario.options != nullptr) scenario.options(options, ledger);
    return options;
}

void run(Scenario const& scenario, sinew::World* world, std::string const& ledger) {
    Watchdog const watchdog{std::string(scenario.name)};
    bool const acts = world == nullptr || world->rank() == 0;
    if (acts) std::ofstream(ledger).flush();
    auto const begin = std::chrono::steady_clock::now();
    auto const options = options_of(scenario, ledger);
    auto pool = world == nullptr ? std::make_unique<sinew::Pool>(options)
                                 : std::make_unique<sinew::Pool>(world->communicator(), options);
    {
        Havoc const havoc(scenario.havoc);
        if (acts) scenario.act(*pool, ledger);
        else pool->join();
    }
    pool.reset();
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
    if (acts) std::cout << text("ok ", scenario.name, ' ', took.count(), " s\n") << std::flush;
}

std::vector<Scenario> chosen(std::vector<std::string> const& names) {
    std::vector<Scenario> all;
    for (auto const* part : {&crash_scenarios(), &limit_scenarios()})
        all.insert(all.end(), part->begin(), part->end());
    if (names.empty()) return all;
    all.insert(all.end(), endless_scenarios().begin(), endless_scenarios().end());
    std::vector<Scenario> some;
    for (auto const& name : names) {
        auto const found = std::find_if(all.begin(), all.end(),
                                        [&](auto const& each) { return each.name == name; });
        if (found == all.end()) throw Broken("there is no " + name);
        some.push_back(*found);
    }
    return some;
}

// Must be called before the rank is determined.
void be_apart() {
    for (auto const* variable : {"SINEW_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"})
        if (auto const* rank = std::getenv(variable))
            return static_cast<void>(::setenv("SINEW_NODE_NAME", text("apart-", rank).c_str(), 1));
}

}  // namespace

int main(int argc, char** argv) try {
    std::vector<std::string> const words(argv + 1, argv + argc);
    if (!words.empty() && words[0] == "apart") be_apart();
    sinew::init(argc, argv);
    if (words.size() < 2) throw Broken("usage: bare|job|apart LEDGER NAME...");
    if (words.size() == 3 && act_alone(words[2])) return 0;
    std::optional<sinew::World> world;
    if (words[0] != "bare") world.emplace(argc, argv);
    for (auto const& scenario : chosen({words.begin() + 2, words.end()})) try {
            run(scenario, world ? &*world : nullptr, words[1]);
        } catch (std::exception const& error) {
            std::cout << text("FAILED ", scenario.name, ": ", error.what(), '\n') << std::flush;
            std::_Exit(9);  // the others need not wait
        }
    bool const speaks = !world || world->rank() == 0;
    world.reset();
    if (speaks) std::cout << "all right\n" << std::flush;
    return 0;
} catch (std::exception const& error) {
    std::cout << text("FAILED: ", error.what(), '\n') << std::flush;
    return 9;
}
