// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <sinew/communicator.hpp>
#include <string>
#include <vector>

#include "benchmarks/collectives/bare_transfer.hpp"
#include "benchmarks/collectives/options.hpp"
#include "benchmarks/collectives/results/row.hpp"
#include "benchmarks/collectives/timing.hpp"
#include "benchmarks/peers/peer.hpp"
#include "benchmarks/support/machine/flag_barrier.hpp"
#include "benchmarks/support/machine/processors.hpp"
#include "benchmarks/support/machine/shared_page.hpp"
#include "benchmarks/support/progress.hpp"

namespace sinew::bench {

/// Measures everything that the command line asks for, in order. All ranks run it together and get
/// the same rows, except for the state of the cores, which only rank 0 knows.
class Sweep {
public:
    struct Listener {
        std::function<void(Row const&)> row;
        std::function<void(std::string const&)> note;  ///< why something was left out
    };

    Sweep(Communicator& comm, Options const& options, Listener listener);

    void run();
    /// What the figures depend on; complete on rank 0.
    RunInfo const& info() const { return info_; }
    /// The total number of wrong elements in sinew's results.
    std::size_t wrong() const { return wrong_; }
    std::size_t rows() const { return rows_; }

private:
    struct Contender {
        std::string name;
        bool ours;
        std::function<void()> call;
        std::size_t wrong = 0;  ///< elements, before timing or after
    };

    std::vector<std::string> algorithms(Collective collective) const;
    void run_call(Collective collective, DataType type, ReduceOp const& op);
    void measure(Problem const& problem, Variant variant);
    std::vector<Contender> contenders(Workload const& load);
    std::size_t wrong_after(Contender const& contender, Workload const& load);
    std::string used(std::string const& asked, Problem const& problem) const;
    void report(Problem const& problem, Variant variant, std::vector<Contender> const& contenders,
                Measured const& measured, std::optional<std::size_t> bare);
    double fraction_of_link(Problem const& problem, double us) const;
    void check_after(std::vector<Contender>& contenders, Workload const& load);
    void sync();
    RunInfo describe();
    Workload allocate(Problem const& problem);

    Communicator& comm_;
    Options const& options_;
    Listener listener_;
    std::vector<std::unique_ptr<Peer>> peers_;
    Processors processors_;
    SharedPage page_;
    CoreProbe probe_;
    FlagBarrier barrier_;
    BareTransfer bare_;
    bool limits_ = true;  ///< both ranks of the bare transfers have come to all of them
    Pinned pinned_;       ///< after the peers, so that their threads are not pinned
    Progress progress_;
    std::string doing_;
    Timing timing_;
    RunInfo info_;
    std::size_t wrong_ = 0, rows_ = 0;
};

/// Computes the percentiles, ratios and states of one row, from the rounds of the contender `ours`
/// and of the `peers`, and the limit from those of `bare`, if it was timed (indices into the measured times).
void summarize(Measured const& measured, std::size_t ours, std::vector<std::size_t> const& peers,
               std::vector<std::string> const& names, std::optional<std::size_t> bare, Row& row);

}  // namespace sinew::bench
