// SPDX-License-Identifier: Apache-2.0
#include "launchers/cli/info_sections.hpp"

#include <gmock/gmock.h>

namespace sinew::launch {
namespace {

using testing::HasSubstr;

TEST(InfoText, AlignsNamesAndValues) {
    Section const report{{"host", {{"name", "node-a"}, {"usable cores", 8}, {"hwloc", true}}}};
    EXPECT_EQ(as_text(report),
              "host\n"
              "  name          node-a\n"
              "  usable cores  8\n"
              "  hwloc         yes\n");
}

TEST(InfoText, MakesTablesOfArraysAndSaysEachGroupOnce) {
    Section const report{{"one", {{"a", nullptr}}},
                         {"nothing", Section::array()},
                         {"algorithms",
                          {{{"collective", "scan"}, {"algorithm", "linear"}},
                           {{"collective", "scan"}, {"algorithm", "tree"}},
                           {{"collective", "barrier"}, {"algorithm", ""}}}}};
    EXPECT_EQ(as_text(report),
              "one\n"
              "  a  -\n"
              "\n"
              "algorithms\n"
              "  collective  algorithm\n"
              "  scan        linear\n"
              "              tree\n"
              "  barrier\n");
}

TEST(InfoText, JoinsLists) {
    EXPECT_THAT(as_text({{"a", {{"b", {"x", "y"}}}}}), HasSubstr("b  x, y\n"));
}

TEST(InfoRing, IsInOrderOfPackagesAndNumaNodes) {
#if !SINEW_HAVE_HWLOC
    GTEST_SKIP() << "needs hwloc";
#endif
    auto const ring = ring_section(synthetic_processors("package:2 numa:2 core:2 pu:2"));
    ASSERT_EQ(ring.size(), 4U);
    EXPECT_EQ(ring[0]["local ranks"], "0-1");
    EXPECT_EQ(ring[1]["cpus"], "4-7");
    EXPECT_EQ(ring[3]["local ranks"], "6-7");
    EXPECT_EQ(ring[3]["package"], 1);
    EXPECT_EQ(ring[3]["NUMA node"], 3);
    EXPECT_EQ(ring[3]["cores"], "6-7");
}

TEST(InfoMachine, IsToldAsValidJson) {
    auto const machine = processors();
    for (auto const& section : {host_section(machine), devices_section(), ring_section(machine),
                                interfaces_section(), limits_section()})
        EXPECT_EQ(Section::parse(section.dump()), section);
    EXPECT_EQ(host_section(machine)["usable cores"], machine.cores.size());
    EXPECT_TRUE(limits_section().contains("open files"));
    EXPECT_GT(waiting_section()["wake-up, us"].get<double>(), 0);
    EXPECT_TRUE(waiting_section().contains("source"));
}

}  // namespace
}  // namespace sinew::launch
