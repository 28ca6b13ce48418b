// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace sinew::launch {

/// A set of node numbers as sorted ranges: all of a job is one range however large it is, and what
/// is below an agent costs what it is ragged.
class NodeSet {
public:
    struct Range {
        int first, last;  ///< both inside
        friend bool operator==(Range const&, Range const&) = default;
    };

    NodeSet() = default;
    /// In any order; not explicit, so that a list of nodes can stand where a set is wanted.
    NodeSet(std::vector<int> nodes);
    static NodeSet range(int first, int last);
    /// Ranges that are not in order, or touch each other, make no set: nothing is added then.
    bool append(Range range);

    bool contains(int node) const;
    bool empty() const { return ranges_.empty(); }
    std::size_t size() const { return size_; }
    std::vector<Range> const& ranges() const { return ranges_; }
    std::vector<int> nodes() const;

    friend NodeSet operator|(NodeSet const& a, NodeSet const& b);
    friend NodeSet operator&(NodeSet const& a, NodeSet const& b);
    friend NodeSet operator-(NodeSet const& a, NodeSet const& b);
    /// How many are in both.
    friend std::size_t common(NodeSet const& a, NodeSet const& b);
    /// Whether any is in both: stops at the first.
    friend bool meet(NodeSet const& a, NodeSet const& b);
    friend bool operator==(NodeSet const& a, NodeSet const& b) { return a.ranges_ == b.ranges_; }

private:
    void push(Range range);

    std::vector<Range> ranges_;  ///< sorted, with gaps between them
    std::size_t size_ = 0;
};

}  // namespace sinew::launch
