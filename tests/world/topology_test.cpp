// SPDX-License-Identifier: Apache-2.0
#include <sinew/comm/topology.hpp>

#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace sinew {
namespace {

TEST(Machine, IsThisOne) {
    Machine const& machine = this_machine();
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    EXPECT_EQ(machine.host, host.data());
    EXPECT_GE(machine.cores, 1);
    EXPECT_GE(machine.packages, 1);
    EXPECT_GE(machine.numa_nodes, 1);
    EXPECT_LE(machine.packages, machine.cores);
    EXPECT_EQ(&this_machine(), &machine);
#if SINEW_HAVE_HWLOC
    EXPECT_THAT(machine.source, testing::MatchesRegex("hwloc [0-9]+\\.[0-9]+\\.[0-9]+"));
#else
    EXPECT_EQ(machine.source, "operating system");
#endif
}

TEST(Machine, KnowsHowManyProcessorsAreOurs) {
    cpu_set_t set;
    CPU_ZERO(&set);
    ASSERT_EQ(::sched_getaffinity(0, sizeof(set), &set), 0);
    EXPECT_EQ(this_machine().allowed_cpus, CPU_COUNT(&set));
}

}  // namespace
}  // namespace sinew
