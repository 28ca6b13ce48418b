// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "benchmarks/collectives/results/row.hpp"

namespace sinew::bench {

/// Prints each row at once as a line of a table, with a new head when the collective changes.
class Table {
public:
    /// What has columns, besides those that every table has.
    struct Columns {
        std::vector<std::string> peers = {};
        bool best = false;   ///< the best of all peers, also of those without a column
        bool link = false;   ///< the fraction of the link
        bool limit = false;  ///< the fraction of the machine's limit
        bool tail = false;   ///< the median and the 99th percentile of single calls
    };
    Table(std::ostream& out, Columns columns);

    void print(Row const& row);

private:
    void print_head(Row const& row);

    std::ostream& out_;
    Columns const columns_;
    std::string collective_;
};

}  // namespace sinew::bench
