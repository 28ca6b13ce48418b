// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/place.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "tests/support/refusal.hpp"

namespace sinew::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::refusal;

std::string all_of(Place const& place) {
    return text(place.region, "|", place.zone, "|", place.block, "|", place.rack);
}
std::string parsed(std::string_view words) { return all_of(parse_place(words, "PLACE")); }

TEST(ParsePlace, ReadsFromTheRackOutwards) {
    EXPECT_EQ(parsed("eu/eu-1a/b2/rack.7"), "eu|eu-1a|b2|rack.7");
    EXPECT_EQ(parsed("b2/r7"), "||b2|r7");
    EXPECT_EQ(parsed("  r7\r\n"), "|||r7");
    EXPECT_EQ(parsed("eu///"), "eu|||");
    EXPECT_EQ(parsed("//b2/"), "||b2|");
    EXPECT_EQ(parsed(""), "|||");
}

TEST(ParsePlace, RefusesWhatIsNone) {
    for (std::string const& words :
         {std::string("a/b/c/d/e"), std::string("/////"), std::string(65, 'a'),
          std::string(100'000, '/'), std::string("a b"), std::string("r\xc3\xa9"),
          std::string("r\x1b[2J"), std::string("a\nb"), std::string("r\0s", 3),
          std::string("$r")}) {
        auto const message = refusal([&] { parse_place(words, "PLACE"); });
        EXPECT_THAT(message, AllOf(StartsWith("PLACE: "), HasSubstr("region/zone/block/rack")));
        EXPECT_LT(message.size(), 300U);
        for (unsigned char const c : message) EXPECT_TRUE(c >= ' ' && c < 0x7f);
    }
}

TEST(ParsePlace, TakesLabelsOrRefuses) {
    std::mt19937 random(3);  // fixed seed
    std::string const letters("ab7/._-/ \n\0$\xff", 13);
    for (int round = 0; round < 20'000; ++round) {
        std::string words;
        for (auto left = random() % 12; left > 0; --left)
            words += letters[random() % letters.size()];
        try {
            EXPECT_EQ(parsed(words).find_first_of(" \n$/"), std::string::npos);
        } catch (UsageError const&) {}
    }
}

class PlaceOfThisNode : public testing::Test {
protected:
    PlaceOfThisNode() { ::unsetenv("SINEW_PLACE"); }
    ~PlaceOfThisNode() override {
        ::unsetenv("SINEW_PLACE");
        std::filesystem::remove_all(file_);
    }
    std::string file_ = testing::TempDir() + text("sinew-place-", ::getpid());
};

TEST_F(PlaceOfThisNode, ComesFromTheVariableElseTheFile) {
    EXPECT_EQ(all_of(place_of_this_node(file_)), "|||");
    std::ofstream(file_) << "b1/r2\nmore\n";
    EXPECT_EQ(all_of(place_of_this_node(file_)), "||b1|r2");
    ::setenv("SINEW_PLACE", "r9", 1);
    EXPECT_EQ(all_of(place_of_this_node(file_)), "|||r9");
    ::setenv("SINEW_PLACE", "a b", 1);
    EXPECT_THAT(refusal([&] { place_of_this_node(file_); }), StartsWith("SINEW_PLACE: a b"));
}

TEST_F(PlaceOfThisNode, RefusesAFileThatHoldsNone) {
    std::ofstream(file_) << std::string(5000, 'x');
    EXPECT_THAT(refusal([&] { place_of_this_node(file_); }), StartsWith(file_));
    std::filesystem::remove(file_);
    std::filesystem::create_directory(file_);
    EXPECT_THAT(refusal([&] { place_of_this_node(file_); }), HasSubstr("cannot be read"));
    EXPECT_EQ(all_of(place_of_this_node("/dev/null")), "|||");
    EXPECT_THAT(refusal([&] { place_of_this_node("/dev/zero"); }), StartsWith("/dev/zero"));
}

}  // namespace
}  // namespace sinew::launch
