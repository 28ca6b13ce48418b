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

/// Thrown by a scenario that finds a broken guarantee.
class Broken : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
void expect(bool holds, std::string const& what);

/// A situation that pools must survive, on processes of any launcher. Each has a separate pool,
/// which all ranks make; rank 0 uses it, and every rank disturbs its workers.
struct Scenario {
    std::string_view name;
    void (*act)(Pool& pool, std::string const& ledger) = nullptr;
    /// Options of the pool; null: four workers, which may fail to start any number of times.
    void (*options)(PoolOptions& options, std::string const& ledger) = nullptr;
    Havoc::Plan havoc = {};
};

std::vector<Scenario> const& crash_scenarios();
std::vector<Scenario> const& limit_scenarios();    ///< hangs, repeated crashes, bad data, shortages
std::vector<Scenario> const& endless_scenarios();  ///< for tests that kill rank 0; only by name

// Used by both files.
int slow_square(int x);
/// Maps `slow_square` repeatedly until that many workers have died.
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
