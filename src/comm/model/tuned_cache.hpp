// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/tuning/tuned_table.hpp"

namespace sinew::detail {

/// The choices of measured calls (SINEW_TUNE) that are kept from job to job, in one text file for each
/// layout of ranks under $XDG_CACHE_HOME/sinew (by default ~/.cache/sinew). Only its owner can read and
/// write the file. One that is damaged, of another user, or of another version, is not used, and a warning
/// says why.
class TunedCache {
public:
    static constexpr std::chrono::days longest_age{30};
    static constexpr std::size_t most_bytes = std::size_t{1} << 20;

    using Time = std::chrono::system_clock::time_point;

    /// `key` is part of the file's name: it has no other characters than cache_word() leaves.
    explicit TunedCache(std::string key) : key_(std::move(key)) {}

    /// Returns what was saved for this topology (a hash of nodes, processors and network settings) at most
    /// longest_age ago; nothing on any failure.
    collectives::TunedTable load(std::uint64_t topology, Time now) const noexcept;
    /// Replaces the file. Logs a warning on failure.
    void save(collectives::TunedTable const& table, std::uint64_t topology,
              Time now) const noexcept;

    /// A file's contents.
    struct Contents {
        std::uint64_t topology = 0;
        std::int64_t saved = 0;  ///< seconds since 1970
        collectives::TunedTable table;

        std::string text() const;
        /// Throws UsageError unless it is exactly what text() writes.
        static Contents parse(std::string_view text);
    };

private:
    std::string key_;
};

}  // namespace sinew::detail
