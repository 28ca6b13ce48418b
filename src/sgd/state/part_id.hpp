// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sinew::sgd {

/// A commit of a TrainingState.
struct CommitId {
    std::uint64_t number = 0;  ///< later commits have higher ones
    /// Random, because a job that lost its newest commit uses the number again.
    std::uint64_t nonce = 0;
    std::uint64_t step = 0;
    int ranks = 0;

    auto operator<=>(CommitId const&) const = default;
};

/// A part of a commit, and the name of the file that holds it.
struct PartId {
    static constexpr int shared = -1;

    CommitId commit;
    int owner = shared;  ///< the rank whose own items it holds

    auto operator<=>(PartId const&) const = default;

    /// "12-00c0ffee00c0ffee-step-700-of-4-rank-3", or "...-shared".
    std::string text() const;
    /// Returns nothing if it is not such a name.
    static std::optional<PartId> parse(std::string_view name);
};

}  // namespace sinew::sgd
