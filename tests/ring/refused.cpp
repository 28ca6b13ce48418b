// SPDX-License-Identifier: Apache-2.0
//
// Rings that must not compile, one for each CASE; CASE 0 compiles. See tests/task/refused.cmake.
#include <string>

#include <sinew/ring.hpp>

namespace {

using sinew::Ring;
using sinew::RingMember;

[[maybe_unused]] void by_name(RingMember&) {}

[[maybe_unused]] void make() {
    [[maybe_unused]] int count = 0;
    auto const nothing = [] {};
    Ring(2, nothing);
#if CASE == 1
    Ring(2, [count](RingMember&) { static_cast<void>(count); });
#elif CASE == 2
    Ring(2, by_name);
#elif CASE == 3
    Ring(
        2, [](RingMember&, int) {}, nothing);
#elif CASE == 4
    Ring(
        2, [](RingMember&, int&) {}, nothing, {}, count);
#elif CASE == 5
    Ring(
        2, [](RingMember&, std::string const&) {}, nothing, {}, count);
#elif CASE == 6
    Ring(2, [](int) {});
#endif
}

}  // namespace
