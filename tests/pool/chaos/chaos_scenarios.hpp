// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <sinew/pool.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/pool/chaos/chaos_engine.hpp"

namespace sinew::testing_support {

/// What a scenario finds to be otherwise than promised.
class Broken : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
void expect(bool holds, std::string const& what);

/// Something that pools live through, whatever they are over. Each has a pool of its own, which all
/// ranks make; rank 0 acts on it, and on every rank havoc is played with the workers.
struct Scenario {
    std::string_view name;
    void (*act)(Pool& pool, std::string const& ledger) = nullptr;
    /// Of the pool; nothing: four workers, who may fail to start as often as they like.
    void (*options)(PoolOptions& options, std::string const& ledger) = nullptr;
    Havoc::Plan havoc = {};
};

std::vector<Scenario> const& crash_scenarios();
std::vector<Scenario> const& limit_scenarios();    ///< hangs, poison, bad data, want
std::vector<Scenario> const& endless_scenarios();  ///< for who kills rank 0; only by name

// For both.
int slow_square(int x);
/// All of `slow_square`, again and again until so many workers have died meanwhile.
void map_until_deaths(Pool& pool, unsigned deaths, int tasks);
template <class F>
std::string what_is_thrown(F const& call) {
    try {
        call();
    } catch (std::exception const& error) {
        return error.what();
    }
    return {};
}

}  // namespace sinew::testing_support
