// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/admission.hpp"

#include <sinew/version.hpp>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::launch {

void Admission::expect(int node, std::uint32_t incarnation) {
    auto& seat = seats_[node];
    seat.expected = true;
    seat.by_itself = false;
    seat.incarnation = incarnation;
}

void Admission::expect_by_itself(int node) {
    auto& seat = seats_[node];
    seat.expected = seat.by_itself = true;
}

void Admission::dismiss(int node) {
    auto const seat = seats_.find(node);
    if (seat != seats_.end()) seat->second.expected = false;
}

void Admission::gone(int node) {
    auto const seat = seats_.find(node);
    if (seat != seats_.end() && !seat->second.by_itself) seat->second.expected = false;
}

Admission::Verdict Admission::judge(int node, Hello const& hello, bool present) {
    auto const found = seats_.find(node);
    if (found == seats_.end() || !found->second.expected || hello.node != node)
        return {.refused = text("no node ", node, " is expected in this job"), .later = true};
    auto& seat = found->second;
    if (!seat.by_itself && seat.incarnation != hello.incarnation)
        return {.refused = text("another incarnation of node ", node, " is expected (",
                                seat.incarnation, ", this one is ", hello.incarnation, ")")};
    if (hello.version != sinew::version())
        return {.refused = text("it is sinew ", hello.version, ", `sinew run` is ",
                                sinew::version(), ". Install the same version on ", hello.name)};
    if (!seat.by_itself) return {};
    if (hello.process == seat.process && seat.process != 0) {
        // It looks for another parent, or had lost its root, and so its ranks, and dials again.
        bool const again = hello.incarnation != std::exchange(seat.incarnation, hello.incarnation);
        return {.refused = {}, .later = false, .replaces = present && again};
    }
    if (seat.replaced.contains(hello.process))
        return {.refused = text("another agent has taken the place of this one as node ", node)};
    if (present && hello.began_ms < seat.began_ms)
        return {.refused = text("an agent of node ", node, " that began later is present"),
                .later = true};
    if (seat.process != 0) seat.replaced.insert(seat.process);
    seat.process = hello.process;
    seat.incarnation = hello.incarnation;
    seat.began_ms = hello.began_ms;
    return {.refused = {}, .later = false, .replaces = present};
}

}  // namespace sinew::launch
