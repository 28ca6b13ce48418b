// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "benchmarks/collectives/row.hpp"

namespace sinew::bench {

/// Prints each row at once as a line of a table, with a new head when the collective changes.
class Table {
public:
    /// `peers` have columns; `link`: whether the fraction of the link has one.
    Table(std::ostream& out, std::vector<std::string> peers, bool link);

    void print(Row const& row);

private:
    void print_head(Row const& row);

    std::ostream& out_;
    std::vector<std::string> peers_;
    bool link_;
    std::string collective_;
};

}  // namespace sinew::bench
