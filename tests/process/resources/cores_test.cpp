// SPDX-License-Identifier: Apache-2.0
#include "src/process/resources/cores.hpp"
#include "src/base/system/allowed_cpus.hpp"

#include <gmock/gmock.h>

namespace sinew::process {
namespace {

using testing::ElementsAre;

Cpu at(int number, int core, int package, int users = 0) {
    return {.number = number, .core = core, .numa = package, .package = package, .users = users};
}

TEST(Cores, OfOneChildAreCloseAndThoseOfSeveralFarApart) {
    // Two packages of two cores of two threads, numbered as Linux does.
    std::vector<Cpu> machine{at(0, 0, 0), at(1, 1, 0), at(2, 2, 1), at(3, 3, 1),
                             at(4, 0, 0), at(5, 1, 0), at(6, 2, 1), at(7, 3, 1)};
    auto const take = [&](int count) {
        auto const chosen = choose_cpus(machine, count);
        for (int const number : chosen) ++machine[static_cast<std::size_t>(number)].users;
        return chosen;
    };
    EXPECT_THAT(take(1), ElementsAre(0));
    EXPECT_THAT(take(1), ElementsAre(2));     // the other package
    EXPECT_THAT(take(1), ElementsAre(1));     // the other cores
    EXPECT_THAT(take(2), ElementsAre(3, 7));  // both threads of the only core without a child
    EXPECT_THAT(take(3), ElementsAre(4, 5, 6));
    EXPECT_THAT(take(1), ElementsAre(0));  // shared from here on
    EXPECT_THAT(choose_cpus(machine, 20), testing::SizeIs(8));
    EXPECT_THAT(choose_cpus({}, 1), testing::IsEmpty());
}

TEST(Cores, AreThoseOfTheSet) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    CPU_SET(700, &set);
    auto const found = locate(set);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].number, 0);
    EXPECT_EQ(found[1].number, 700);
    EXPECT_EQ(cpu_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

}  // namespace
}  // namespace sinew::process
