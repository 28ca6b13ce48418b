// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/sgd/state/part_id.hpp"

namespace sinew::sgd {

/// Which rank holds which parts of which commits. All ranks compute the same from the same names.
class HeldParts {
public:
    /// `names` has the files of each rank; what is no part is ignored.
    explicit HeldParts(std::vector<std::vector<std::string>> const& names);

    /// All commits, the newest first, whether complete or not.
    std::vector<CommitId> commits() const;
    /// The rank that reads a part: its owner if it has it, else the lowest that has. -1: none.
    int reader_of(PartId const& part) const;
    /// The rank could not read the part.
    void strike(PartId const& part, int rank);
    /// The parts of a commit that a program needs.
    static std::vector<PartId> needed(CommitId const& commit, bool shared, bool own);
    /// The first of the parts that no rank has, or nothing.
    std::optional<PartId> missing(std::vector<PartId> const& parts) const;

private:
    std::map<PartId, std::set<int>> holders_;
};

}  // namespace sinew::sgd
