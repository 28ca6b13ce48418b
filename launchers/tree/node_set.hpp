// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace sinew::launch {

/// A set of node numbers as sorted ranges: a whole job is one range however large it is, and a
/// subtree takes as many ranges as it has gaps.
class NodeSet {
public:
    struct Range {
        int first, last;  ///< inclusive
        friend bool operator==(Range const&, Range const&) = default;
    };

    NodeSet() = default;
    /// Takes nodes in any order. Implicit, so that a list of nodes can be passed as a set.
    NodeSet(std::vector<int> nodes);
    static NodeSet range(int first, int last);
    /// Adds a range; false, adding nothing, if it is empty, out of order or touches the last.
    bool append(Range range);

    bool contains(int node) const;
    bool empty() const { return ranges_.empty(); }
    std::size_t size() const { return size_; }
    std::vector<Range> const& ranges() const { return ranges_; }
    std::vector<int> nodes() const;

    friend NodeSet operator|(NodeSet const& a, NodeSet const& b);
    friend NodeSet operator&(NodeSet const& a, NodeSet const& b);
    friend NodeSet operator-(NodeSet const& a, NodeSet const& b);
    /// The number of nodes in both.
    friend std::size_t common(NodeSet const& a, NodeSet const& b);
    /// Whether any node is in both; stops at the first.
    friend bool meet(NodeSet const& a, NodeSet const& b);
    friend bool operator==(NodeSet const& a, NodeSet const& b) { return a.ranges_ == b.ranges_; }

private:
    void push(Range range);

    std::vector<Range> ranges_;  ///< sorted, with gaps between them
    std::size_t size_ = 0;
};

}  // namespace sinew::launch
