// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/transport/socket_transfer.hpp"

namespace sinew::detail {

/// The unmatched receives and messages of one group of ranks. Ranks are those of the job.
struct SocketGroup {
    explicit SocketGroup(GroupId name) : id(name) {}

    void set_members(std::vector<int> ranks);
    /// Returns the rank within the group of a rank of the job; any_source if it is not a member.
    int index(int rank) const;
    /// Removes and returns the oldest receive that matches; null if there is none.
    Receive* take_receive(int source, int tag);
    /// Adds a receive. One that is posted again gets its former place in the order.
    void post(Receive& receive);
    auto find_message(int from, int tag) {
        auto it = messages.begin();
        while (it != messages.end() && !it->is_for(from, tag)) ++it;
        return it;
    }

    GroupId const id;
    std::vector<int> members;  ///< empty: messages came before the group was made here
    std::deque<Receive*> posted;
    std::list<UnexpectedMessage> messages;
    std::vector<std::uint64_t> families;  ///< families of the groups split from this one
    std::uint64_t orders = 0;

private:
    std::unordered_map<int, int> index_;
};

/// All groups of this rank, by their names on the wire.
///
/// Names need no messages: members that split the same parent into the same list for the n-th time
/// refer to the same group. A message that arrives before its group was made here is kept; one that
/// arrives after it was destroyed is dropped. Requires: the engine's lock held.
class SocketGroups {
public:
    using Group = std::shared_ptr<SocketGroup>;

    /// Returns the group of an arriving message; null if the message can never be received.
    Group for_message(GroupId id);
    Group make_world(int size);
    Group split(SocketGroup& parent, std::vector<int> members);
    /// Removes a group whose transport is destroyed. The caller must answer the messages it holds.
    void remove(SocketGroup& group);
    template <class Visit>
    void each(Visit visit) const {
        for (auto const& [name, family] : families_)
            for (auto const& [sequence, group] : family.groups) visit(*group);
    }

private:
    struct Family {
        std::uint32_t made = 0;  ///< groups made by this rank
        bool closed = false;     ///< the parent is destroyed: no further group will be made
        std::map<std::uint32_t, Group> groups;
    };

    Group make(std::uint64_t name, std::vector<int> members);
    void forget_if_over(std::uint64_t name);

    std::unordered_map<std::uint64_t, Family> families_;
    // Families without groups, now or later. The oldest are forgotten; their messages have arrived.
    std::unordered_set<std::uint64_t> over_;
    std::deque<std::uint64_t> over_in_order_;
};

}  // namespace sinew::detail
