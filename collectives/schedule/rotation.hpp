// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

namespace sinew::collectives {

/// Ranks renumbered from a root, around the ring: turned(root) = 0.
class Rotation {
public:
    struct Run {
        int first;
        int ranks;
    };

    Rotation(int root, int ranks) : root_(root), ranks_(ranks) {}

    int turned(int rank) const { return (rank - root_ + ranks_) % ranks_; }
    int real(int turned) const { return (turned + root_) % ranks_; }

    /// The turned ranks first .. first + count - 1, cut where the real ranks wrap around, so that
    /// each run is also a run of real ranks. The second may be empty.
    std::array<Run, 2> runs(int first, int count) const {
        int const before = std::clamp(ranks_ - root_ - first, 0, count);
        return {Run{first, before}, Run{first + before, count - before}};
    }

private:
    int root_;
    int ranks_;
};

/// The position of a (turned) rank in the binomial tree of `ranks`: its parent is `rank - reach`,
/// its subtree the ranks rank .. rank + size - 1, with a child at each power of two below `reach`.
struct BinomialPlace {
    BinomialPlace(int rank, int ranks) {
        while (reach < ranks && (rank & reach) == 0) reach *= 2;
        size = std::min(reach, ranks - rank);
    }
    int reach = 1;
    int size = 1;
};

}  // namespace sinew::collectives
