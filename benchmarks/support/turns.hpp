// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/support/case.hpp"
#include "benchmarks/support/report.hpp"

namespace sinew::bench {

/// A contestant in one case, with its workers ready.
class Contestant {
public:
    virtual ~Contestant() = default;
    /// Returns the seconds for `size` units (bytes in cases of memory), or `size` times the median
    /// if each unit is timed. Throws Error if a result is wrong.
    virtual double cost(std::uint64_t size) = 0;
    /// The seconds of the worst unit of all turns, if each unit is timed.
    virtual std::optional<double> worst() const { return {}; }
    /// A note on all turns: "41 kills, 0 results lost, wrong or twice"; may be empty.
    virtual std::string note() const { return {}; }
};

/// Makes the contestants. `peer` throws Unavailable, with how to install it, if the peer is
/// missing. `floor` returns null if the name is that of a peer; floors are always available.
struct Entrants {
    using Rival = std::function<std::unique_ptr<Contestant>(std::string_view name, Case const& what,
                                                            int workers)>;
    std::function<std::unique_ptr<Contestant>(Case const& what, int workers)> ours;
    Rival floor, peer;
};

struct TurnOptions {
    std::string program;  ///< prefix of messages
    int rounds;
    double seconds;  ///< of a turn, if the case does not fix its size
    std::vector<std::string> peers;
};

/// Measures cases, with their contestants in alternation. A missing peer is reported once and not
/// tried again.
class Turns {
public:
    /// Prints the table's head and makes the process ignore SIGPIPE: a peer that has ended is
    /// reported as an error.
    Turns(TurnOptions options, Entrants entrants);
    /// Prints a row of the table and returns true, or prints an error and returns false.
    bool measure(Case const& what, int workers);
    /// Formats all rows, one line each.
    std::string json_lines() const;

private:
    struct Runner;
    CaseRow row_of(Case const& what, int workers);
    void add(Rival const& rival, Case const& what, int workers, std::vector<Runner>& runners);
    /// Does `work`. Drops a peer that throws from this case, but rethrows for sinew's contestant.
    void attempt(Runner& runner, std::function<void()> const& work);

    TurnOptions options_;
    Entrants entrants_;
    std::vector<CaseRow> rows_;
};

}  // namespace sinew::bench
