// SPDX-License-Identifier: Apache-2.0
// Names of servers: of a registry, and of a file.
#include "launchers/service/service_table.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "tests/support/message_of.hpp"

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ServiceTable::Time const noon{1000h};

TEST(ServiceTable, ForgetsWhoIsSilent) {
    ServiceTable table(6s);
    ServiceEntry const a{.address = "a:1", .names = {"x"}},
        b{.address = "b:1", .names = {"x", "y"}};
    table.announce(a, noon);
    table.announce(b, noon + 3s);
    EXPECT_THAT(table.services(noon + 5999ms), ElementsAre(a, b));
    EXPECT_THAT(table.services(noon + 6s), ElementsAre(b));
    table.announce(b, noon + 8s);
    EXPECT_THAT(table.services(noon + 13s), ElementsAre(b));
    EXPECT_THAT(table.services(noon + 14s), IsEmpty());
}

TEST(ServiceTable, ReplacesTheNamesOfAnAddress) {
    ServiceTable table(6s);
    table.announce({.address = "a:1", .names = {"old"}}, noon);
    table.announce({.address = "a:1", .names = {"new"}}, noon);
    EXPECT_EQ(names_of(table.services(noon)), "new");
}

TEST(ServiceTable, HasALimit) {
    ServiceTable table(6s);
    for (std::size_t i = 0; i < ServiceTable::most_services; ++i)
        table.announce({.address = text("h:", i + 1), .names = {"x"}}, noon);
    EXPECT_THROW(table.announce({.address = "more:1", .names = {"x"}}, noon), UsageError);
    table.announce({.address = "h:1", .names = {"x"}}, noon + 1s);
    table.announce({.address = "more:1", .names = {"x"}}, noon + 6s);
    EXPECT_THAT(table.services(noon + 6s), SizeIs(2));
}

TEST(ServiceNames, AreFoundInAnyCase) {
    auto const services = parse_services(
        "# ours\nbox:7420 TensorFlow tensorflow-2.1 # old\n\n"
        "[fd00::3]:7 torch\nbox2:1 TENSORFLOW\n",
        "services");
    EXPECT_THAT(services, SizeIs(3));
    EXPECT_THAT(find_services(services, "tensorFLOW"), ElementsAre(services[0], services[2]));
    EXPECT_THAT(find_services(services, "Tensorflow-2.1"), ElementsAre(services[0]));
    EXPECT_THAT(find_services(services, "tensor"), IsEmpty());
    EXPECT_EQ(names_of(services), "tensorflow, tensorflow-2.1, torch");
    EXPECT_EQ(names_of({}), "none");
}

TEST(ServiceNames, OfAFileAreCheckedByLine) {
    auto const refusal = [](std::string_view content) {
        return testing_support::message_of<UsageError>(
            [&] { static_cast<void>(parse_services(content, "/etc/s")); });
    };
    EXPECT_THAT(refusal("box:1 a\nbox b\n"), HasSubstr("/etc/s:2: the address box"));
    EXPECT_THAT(refusal("box:1\n"), HasSubstr("/etc/s:1: no name"));
    EXPECT_THAT(refusal("box:70000 a\n"), HasSubstr("box:70000"));
    EXPECT_THAT(refusal("box:0 a\n"), HasSubstr("box:0"));
    EXPECT_THAT(refusal("box:1 1a\n"), HasSubstr("1a"));
    EXPECT_THAT(refusal("box:1 \x1b[31m\n"), testing::Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace sinew::launch::service
