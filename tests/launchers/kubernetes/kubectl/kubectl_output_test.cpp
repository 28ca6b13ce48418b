// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/kubectl/kubectl_output.hpp"

#include <gtest/gtest.h>

namespace sinew::launch::kubernetes {
namespace {

TEST(ForwardingLine, SaysWhereKubectlListens) {
    auto const v4 = parse_forwarding_line("Forwarding from 127.0.0.1:37713 -> 6006");
    ASSERT_TRUE(v4);
    EXPECT_EQ(v4->address, "127.0.0.1");
    EXPECT_EQ(v4->local, 37713);
    EXPECT_EQ(v4->remote, 6006);
    auto const v6 = parse_forwarding_line("Forwarding from [::1]:1 -> 65535");
    ASSERT_TRUE(v6);
    EXPECT_EQ(v6->address, "::1");
    EXPECT_EQ(v6->local, 1);
    EXPECT_EQ(v6->remote, 65535);
}

TEST(ForwardingLine, IsNoOtherLine) {
    for (char const* line :
         {"", "Forwarding from ", "Forwarding from :1 -> 2", "Forwarding from 127.0.0.1 -> 2",
          "Forwarding from 127.0.0.1:1 -> ", "Forwarding from 127.0.0.1:1-> 2",
          "Forwarding from 127.0.0.1:0 -> 2", "Forwarding from 127.0.0.1:1 -> 0",
          "Forwarding from 127.0.0.1:65536 -> 2", "Forwarding from 127.0.0.1:1 -> 65536",
          "Forwarding from 127.0.0.1:-1 -> 2", "Forwarding from 127.0.0.1:1 -> 2x",
          "Forwarding from [::1:1 -> 2", "Forwarding from ::1:1 -> 2",
          "Handling connection for 8080", " Forwarding from 127.0.0.1:1 -> 2"})
        EXPECT_FALSE(parse_forwarding_line(line)) << line;
}

TEST(KubectlReason, IsOneLineWithoutHeads) {
    EXPECT_EQ(kubectl_reason(""), "");
    EXPECT_EQ(kubectl_reason("\n \n"), "");
    EXPECT_EQ(kubectl_reason("error: lost connection to pod\n"), "lost connection to pod");
    EXPECT_EQ(kubectl_reason("E1125 01:02:03.456789   77 portforward.go:424] \"Unhandled Error\" "
                             "err=\"an error occurred forwarding 1 -> 2: namespace \\\"cni\\\"\"\n"
                             "error: lost connection to pod\n"),
              "an error occurred forwarding 1 -> 2: namespace \"cni\"; lost connection to pod");
    EXPECT_EQ(kubectl_reason("W1125 01:02:03.4 7 x.go:1] plain words"), "plain words");
    EXPECT_EQ(kubectl_reason("E1125"), "E1125");
    EXPECT_EQ(kubectl_reason("E1125 x] err=\""), "err=\"");
    EXPECT_EQ(kubectl_reason("a\nb\na\n"), "a; b");
    EXPECT_EQ(kubectl_reason("red \x1b[31m\x7f"), "red  [31m ");
    EXPECT_EQ(kubectl_reason(std::string(100'000, 'x')).size(), 2000U);
}

TEST(MissingRight, IsNamedAsInARole) {
    EXPECT_EQ(
        missing_right("error upgrading connection: pods \"train-0-x\" is forbidden: User "
                      "\"alice\" cannot create resource \"pods/portforward\" in API group \"\" "
                      "in the namespace \"ml\""),
        "create pods/portforward");
    for (char const* words :
         {"", "is forbidden", " is forbidden: ", "x is forbidden: User cannot ",
          "x is forbidden: cannot get resource \"", "x is forbidden: resource \"a\" cannot get",
          "lost connection to pod"})
        EXPECT_FALSE(missing_right(words)) << words;
}

}  // namespace
}  // namespace sinew::launch::kubernetes
