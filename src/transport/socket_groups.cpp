// SPDX-License-Identifier: Apache-2.0
#include "src/transport/socket_groups.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace sinew::detail {

namespace {

constexpr std::uint64_t world_family = 0;
constexpr std::size_t remembered = std::size_t{1} << 16;

/// splitmix64: every bit of the state affects every bit of the result.
std::uint64_t mix(std::uint64_t state, std::uint64_t value) {
    state += value + 0x9e3779b97f4a7c15;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    return state ^ (state >> 31);
}

std::uint64_t family_name(GroupId parent, std::span<int const> members) {
    std::uint64_t name = mix(mix(1, parent.family), parent.sequence);
    for (int const rank : members) name = mix(name, static_cast<std::uint64_t>(rank));
    return name == world_family ? 1 : name;
}

}  // namespace

void SocketGroup::set_members(std::vector<int> ranks) {
    members = std::move(ranks);
    for (std::size_t i = 0; i < members.size(); ++i) index_[members[i]] = static_cast<int>(i);
}

int SocketGroup::index(int rank) const {
    auto const found = index_.find(rank);
    return found == index_.end() ? any_source : found->second;
}

Receive* SocketGroup::take_receive(int source, int tag) {
    auto const found = std::find_if(posted.begin(), posted.end(), [&](Receive const* receive) {
        return receive->wants(source, tag);
    });
    if (found == posted.end()) return nullptr;
    Receive* const receive = *found;
    posted.erase(found);
    return receive;
}

void SocketGroup::post(Receive& receive) {
    if (receive.order == 0) receive.order = ++orders;
    auto place = posted.end();
    while (place != posted.begin() && (*std::prev(place))->order > receive.order) --place;
    posted.insert(place, &receive);
}

SocketGroups::Group SocketGroups::make(std::uint64_t name, std::vector<int> members) {
    Family& family = families_[name];
    GroupId const id{name, family.made++};
    Group& group = family.groups[id.sequence];  // exists already if messages came early
    if (!group) group = std::make_shared<SocketGroup>(id);
    group->set_members(std::move(members));
    return group;
}

SocketGroups::Group SocketGroups::make_world(int size) {
    std::vector<int> all;
    for (int rank = 0; rank < size; ++rank) all.push_back(rank);
    return make(world_family, std::move(all));
}

SocketGroups::Group SocketGroups::split(SocketGroup& parent, std::vector<int> members) {
    auto const name = family_name(parent.id, members);
    if (std::find(parent.families.begin(), parent.families.end(), name) == parent.families.end())
        parent.families.push_back(name);
    return make(name, std::move(members));
}

SocketGroups::Group SocketGroups::for_message(GroupId id) {
    if (over_.contains(id.family)) return nullptr;
    Family& family = families_[id.family];
    if (auto const found = family.groups.find(id.sequence); found != family.groups.end())
        return found->second;
    if (id.sequence < family.made || family.closed) return nullptr;
    return family.groups[id.sequence] = std::make_shared<SocketGroup>(id);
}

void SocketGroups::remove(SocketGroup& group) {
    auto const families = std::move(group.families);
    auto const name = group.id.family;
    families_[name].groups.erase(group.id.sequence);
    forget_if_over(name);
    for (std::uint64_t const child : families) {
        auto const found = families_.find(child);
        if (found == families_.end()) continue;
        Family& family = found->second;
        family.closed = true;
        // Groups that exist only because of early messages will never be made here.
        std::erase_if(family.groups, [&](auto const& entry) { return entry.first >= family.made; });
        forget_if_over(child);
    }
}

void SocketGroups::forget_if_over(std::uint64_t name) {
    auto const found = families_.find(name);
    if (found == families_.end() || !found->second.closed || !found->second.groups.empty()) return;
    families_.erase(found);
    over_.insert(name);
    over_in_order_.push_back(name);
    if (over_in_order_.size() <= remembered) return;
    over_.erase(over_in_order_.front());
    over_in_order_.pop_front();
}

}  // namespace sinew::detail
