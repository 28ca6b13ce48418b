// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/transport/socket_transfer.hpp"

namespace sinew::detail {

/// What waits in one group of ranks: receives and messages that have not met. Ranks are the job's.
struct SocketGroup {
    explicit SocketGroup(GroupId name) : id(name) {}

    void set_members(std::vector<int> ranks);
    /// The group's number of a rank of the job.
    int index(int rank) const;
    /// The oldest receive that wants such a message, taken out; null when there is none.
    Receive* take_receive(int source, int tag);
    /// By the order in which they were posted, also when one comes back.
    void post(Receive& receive);
    auto find_message(int from, int tag) {
        auto it = messages.begin();
        while (it != messages.end() && !it->is_for(from, tag)) ++it;
        return it;
    }

    GroupId const id;
    std::vector<int> members;  ///< empty: no transport yet, messages came early
    std::deque<Receive*> posted;
    std::list<UnexpectedMessage> messages;
    std::vector<std::uint64_t> families;  ///< of the groups split from this one
    std::uint64_t orders = 0;

private:
    std::unordered_map<int, int> index_;
};

/// All groups of this rank, by the names that they have on the wire.
///
/// The names come about without messages: members that split the same parent into the same list for
/// the n-th time mean the same group. A message may arrive before its group was made here, and is
/// kept then; or after it was destroyed, and is dropped.
class SocketGroups {
public:
    using Group = std::shared_ptr<SocketGroup>;

    /// The group of a message that arrives; null when nobody will ever receive it.
    Group for_message(GroupId id);
    Group make_world(int size);
    Group split(SocketGroup& parent, std::vector<int> members);
    /// Nobody receives in it any more. What it holds is the caller's to answer.
    void remove(SocketGroup& group);
    template <class Visit>
    void each(Visit visit) const {
        for (auto const& [name, family] : families_)
            for (auto const& [sequence, group] : family.groups) visit(*group);
    }

private:
    struct Family {
        std::uint32_t made = 0;  ///< by this rank
        bool closed = false;     ///< its parent is gone: no more will be made
        std::map<std::uint32_t, Group> groups;
    };

    Group make(std::uint64_t name, std::vector<int> members);
    void forget_if_over(std::uint64_t name);

    std::unordered_map<std::uint64_t, Family> families_;
    // Families that are over; the oldest are forgotten, when their messages have long arrived.
    std::unordered_set<std::uint64_t> over_;
    std::deque<std::uint64_t> over_in_order_;
};

}  // namespace sinew::detail
