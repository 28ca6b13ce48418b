// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "collectives/tuning/tuner.hpp"

namespace sinew::collectives {

/// The algorithms that measured calls have chosen, by kind of call. It holds for communicators whose
/// ranks lie as those did that were measured.
class TunedTable {
public:
    /// A file has no more rows.
    static constexpr std::size_t most_rows = 4096;

    void set(Tuner::Kind const& kind, Algorithm const& algorithm) { rows_[kind] = &algorithm; }
    /// Null if nothing was measured.
    Algorithm const* find(Tuner::Kind const& kind) const {
        auto const found = rows_.find(kind);
        return found == rows_.end() ? nullptr : found->second;
    }
    std::size_t size() const { return rows_.size(); }
    std::map<Tuner::Kind, Algorithm const*> const& rows() const { return rows_; }
    friend bool operator==(TunedTable const&, TunedTable const&) = default;

    /// One line for each row: the collective, whether ranks share memory by node, how free the order is, the
    /// bucket of the size, the algorithm.
    std::string to_text() const;
    /// Throws UsageError, which names the line, unless every row is that of a collective and of one of
    /// its algorithms, in the order in which to_text writes them.
    static TunedTable from_text(std::string_view text);

private:
    std::map<Tuner::Kind, Algorithm const*> rows_;
};

}  // namespace sinew::collectives
