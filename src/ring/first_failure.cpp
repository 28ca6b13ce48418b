// SPDX-License-Identifier: Apache-2.0
#include "src/ring/first_failure.hpp"

#include <algorithm>

#include "src/base/text.hpp"

namespace sinew::ring {
namespace {

/// Whether the member failed because another member had failed.
bool is_consequence(MemberRecord const& member) {
    if (!member.error || !member.attribution.empty()) return false;
    constexpr auto lost = "sinew::PeerLost";
    auto const& causes = member.error->causes;
    return member.error->type == lost ||
           std::any_of(causes.begin(), causes.end(),
                       [&](auto const& cause) { return cause.type == lost; });
}

}  // namespace

std::optional<FirstFailure> first_failure(std::span<MemberRecord const> members) {
    MemberRecord const* first = nullptr;
    auto const before = [](MemberRecord const& a, MemberRecord const& b) {
        bool const follows_a = is_consequence(a), follows_b = is_consequence(b);
        return follows_a != follows_b ? follows_b : a.failed < b.failed;
    };
    for (auto const& member : members)
        if (member.failed > 0 && (first == nullptr || before(member, *first))) first = &member;
    if (first == nullptr) return std::nullopt;
    bool const threw = first->error && first->attribution.empty();
    return FirstFailure{.rank = first->rank,
                        .cause = !threw          ? nullptr
                                 : first->thrown ? first->thrown
                                                 : detail::revive(*first->error),
                        .may_restart = !first->returned && (!threw || is_consequence(*first))};
}

RingStatus status_of(MemberRecord const& member) {
    RingStatus status{member.rank, member.host, member.pid, ""};
    auto const how = member.ended ? member.ended->text() : std::string("still there");
    if (!member.attribution.empty()) status.end = member.attribution;
    else if (member.error)
        status.end = text("threw ", member.error->type, ": ", member.error->what);
    else if (member.has_left() || (member.returned && !member.ended)) status.end = "returned";
    else if (member.signalled)
        status.end =
            text(member.returned ? "returned, but not all others did" : "ended by the ring", " (",
                 how, ")");
    else if (!member.ended) status.end = "not started";
    else if (member.returned) status.end = text(how, " after its target had returned");
    else if (!member.joined) status.end = text(how, " before it had joined");
    else if (member.ended->signal == 0) status.end = text(how, " before its target had returned");
    else status.end = how;
    return status;
}

std::string stderr_tail(MemberRecord const& member) {
    if (member.error || !member.ended || member.ended->log.empty()) return {};
    return ". It wrote:\n" + member.ended->log;
}

}  // namespace sinew::ring
