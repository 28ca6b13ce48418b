// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launchers/blackbox/recorded.hpp"

namespace sinew::launch {

/// The ranks of a communicator that made the same call, or wait at the same place.
struct RankGroup {
    std::vector<int> ranks;
    std::string call;  ///< "allreduce(f32 x 1000, sum)"; empty if they have entered nothing
};

/// Where the ranks of one communicator are, by what each has written.
struct CommunicatorFindings {
    enum class Kind : std::uint8_t {
        agree,     ///< all that is recorded is the same, and all have come equally far
        behind,    ///< some have not entered the last operation of the others
        disagree,  ///< some have made another call with the same number
        stuck,     ///< all are inside the same call
    };

    std::string name;
    std::vector<std::string> hosts;  ///< by rank
    std::vector<int> unknown;        ///< ranks of which nothing is there
    Kind kind = Kind::agree;
    std::uint64_t sequence = 0;     ///< number of the operation in question
    RankGroup with;                 ///< those who are in it; if they disagree, the most
    std::vector<RankGroup> others;  ///< if they disagree: the other calls
    /// If some are behind: their last operation, by its number, and whether they are in it still.
    struct Behind {
        RankGroup group;
        std::uint64_t sequence = 0;
        bool inside = false;
    };
    std::vector<Behind> behind;
    std::optional<std::int64_t> since;  ///< when the first of `with` entered it, if known
    bool compared_all = true;  ///< false: the beginning of what one rank has is lost on another
};

/// Compares what the ranks have written: one entry for each communicator, those with differences
/// first and among them the earliest first.
std::vector<CommunicatorFindings> compare_black_boxes(std::vector<BlackBoxFile> const& files);

}  // namespace sinew::launch
