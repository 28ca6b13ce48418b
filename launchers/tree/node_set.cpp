// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/node_set.hpp"

#include <algorithm>

namespace sinew::launch {

namespace {

using Range = NodeSet::Range;

std::size_t length(Range range) {
    return static_cast<std::size_t>(static_cast<long>(range.last) - range.first) + 1;
}

/// Calls `with` for each overlap of ranges of `a` and `b`, in order, while it returns true.
template <class With>
void overlaps(std::vector<Range> const& a, std::vector<Range> const& b, With with) {
    auto of_a = a.begin();
    auto of_b = b.begin();
    // Parts of a job are often far apart: skips the ranges of `a` that end before `b` begins.
    if (of_b != b.end())
        of_a = std::lower_bound(a.begin(), a.end(), of_b->first,
                                [](Range const& range, int node) { return range.last < node; });
    while (of_a != a.end() && of_b != b.end()) {
        Range const both{std::max(of_a->first, of_b->first), std::min(of_a->last, of_b->last)};
        if (both.first <= both.last && !with(both)) return;
        if (of_a->last < of_b->last) ++of_a;
        else ++of_b;
    }
}

}  // namespace

NodeSet::NodeSet(std::vector<int> nodes) {
    std::sort(nodes.begin(), nodes.end());
    for (int const node : nodes) push({node, node});
}

NodeSet NodeSet::range(int first, int last) {
    NodeSet set;
    if (first <= last) set.push({first, last});
    return set;
}

bool NodeSet::append(Range range) {
    if (range.first > range.last) return false;
    if (!ranges_.empty() && static_cast<long>(range.first) <= ranges_.back().last + 1L)
        return false;
    push(range);
    return true;
}

// Appends or merges a range. Requires: it begins no earlier than the last range.
void NodeSet::push(Range range) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1L) {
        if (range.last <= ranges_.back().last) return;
        size_ += static_cast<std::size_t>(range.last - ranges_.back().last);
        ranges_.back().last = range.last;
        return;
    }
    size_ += length(range);
    ranges_.push_back(range);
}

bool NodeSet::contains(int node) const {
    auto const found = std::lower_bound(ranges_.begin(), ranges_.end(), node,
                                        [](Range const& range, int n) { return range.last < n; });
    return found != ranges_.end() && found->first <= node;
}

std::vector<int> NodeSet::nodes() const {
    std::vector<int> all;
    all.reserve(size_);
    for (auto const& range : ranges_)
        for (long node = range.first; node <= range.last; ++node)
            all.push_back(static_cast<int>(node));
    return all;
}

NodeSet operator|(NodeSet const& a, NodeSet const& b) {
    NodeSet all;
    all.ranges_.reserve(a.ranges_.size() + b.ranges_.size());
    auto of_a = a.ranges_.begin();
    auto of_b = b.ranges_.begin();
    while (of_a != a.ranges_.end() || of_b != b.ranges_.end()) {
        bool const take_a =
            of_b == b.ranges_.end() || (of_a != a.ranges_.end() && of_a->first <= of_b->first);
        all.push(take_a ? *of_a++ : *of_b++);
    }
    return all;
}

NodeSet operator&(NodeSet const& a, NodeSet const& b) {
    NodeSet both;
    overlaps(a.ranges_, b.ranges_, [&](Range range) {
        both.push(range);
        return true;
    });
    return both;
}

NodeSet operator-(NodeSet const& a, NodeSet const& b) {
    NodeSet rest;
    auto of_b = b.ranges_.begin();
    for (auto range : a.ranges_) {
        while (of_b != b.ranges_.end() && of_b->last < range.first) ++of_b;
        // Cuts the ranges of `b` out of this one; the last of them may reach into the next.
        bool left = true;
        for (auto cut = of_b; left && cut != b.ranges_.end() && cut->first <= range.last; ++cut) {
            if (cut->first > range.first) rest.push({range.first, cut->first - 1});
            left = cut->last < range.last;
            if (left) range.first = cut->last + 1;
        }
        if (left) rest.push(range);
    }
    return rest;
}

std::size_t common(NodeSet const& a, NodeSet const& b) {
    std::size_t count = 0;
    overlaps(a.ranges_, b.ranges_, [&](Range range) {
        count += length(range);
        return true;
    });
    return count;
}

bool meet(NodeSet const& a, NodeSet const& b) {
    bool found = false;
    overlaps(a.ranges_, b.ranges_, [&](Range) {
        found = true;
        return false;
    });
    return found;
}

}  // namespace sinew::launch
