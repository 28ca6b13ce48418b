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

/// One who runs one case with so many workers, which it has ready.
class Contestant {
public:
    virtual ~Contestant() = default;
    /// Seconds that `size` units took (a case of memory: bytes), or where each is timed, so many times
    /// their median. Throws Error when a result is wrong.
    virtual double cost(std::uint64_t size) = 0;
    /// Seconds that the worst unit of all turns took, where each is timed.
    virtual std::optional<double> worst() const { return {}; }
    /// What is to be said of all turns: "41 kills, 0 results lost, wrong or twice"; else empty.
    virtual std::string note() const { return {}; }
};

/// Who take part. A peer throws Unavailable, saying how to get it, where it is not there; floors, which
/// we are ourselves, always are: null means that the name is a peer's.
struct Entrants {
    using Rival = std::function<std::unique_ptr<Contestant>(std::string_view name, Case const& what,
                                                            int workers)>;
    std::function<std::unique_ptr<Contestant>(Case const& what, int workers)> ours;
    Rival floor, peer;
};

struct TurnOptions {
    std::string program;  ///< in whose name messages are
    int rounds;
    double seconds;  ///< of a turn, where the case does not fix its size
    std::vector<std::string> peers;
};

/// Measures cases, their contestants in turns. Peers that turned out not to be there are told of once,
/// and not asked again.
class Turns {
public:
    /// Prints the table's head. From here on SIGPIPE is ignored: a peer that ended is an error that we
    /// report.
    Turns(TurnOptions options, Entrants entrants);
    /// Prints a row of the table, or why there is none: false.
    bool measure(Case const& what, int workers);
    /// Of all rows.
    std::string json_lines() const;

private:
    struct Runner;
    CaseRow row_of(Case const& what, int workers);
    void add(Rival const& rival, Case const& what, int workers, std::vector<Runner>& runners);
    /// A peer that fails is out of this case; we are not excused.
    void attempt(Runner& runner, std::function<void()> const& work);

    TurnOptions options_;
    Entrants entrants_;
    std::vector<CaseRow> rows_;
};

}  // namespace sinew::bench
