// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "launchers/common/encoding.hpp"
#include "launchers/common/job_name.hpp"
#include "launchers/common/timestamp.hpp"

namespace sinew::launch {
namespace {

TEST(JobName, IsALabelOfRfc1123) {
    for (auto const* good : {"a", "7", "a-b", "train-x7k2p"})
        EXPECT_TRUE(is_job_name(good)) << good;
    EXPECT_TRUE(is_job_name(std::string(63, 'a')));
    for (auto const* bad : {"", "-", "-a", "a-", "A", "a_b", "a.b", "a/b", "\xc3\xa4"})
        EXPECT_FALSE(is_job_name(bad)) << bad;
    EXPECT_FALSE(is_job_name(std::string(64, 'a')));
}

TEST(JobName, IsMadeOfAnyProgram) {
    for (auto const* program :
         {"./train", "/usr/bin/My Program.sh", "", "..", "///", "\xff\xfe", "-x-"}) {
        auto const name = make_job_name(program);
        EXPECT_TRUE(is_job_name(name)) << program << " gives " << name;
        EXPECT_NE(name, make_job_name(program));
    }
    EXPECT_TRUE(is_job_name(make_job_name(std::string(300, 'a'))));
    EXPECT_TRUE(make_job_name("/usr/bin/My Program.sh").starts_with("my-program-sh-"));
    EXPECT_EQ(make_job_name("./train").size(), std::string("train-x7k2p").size());
}

TEST(Timestamp, IsReadAsItIsWritten) {
    using namespace std::chrono;
    for (auto const ms : {0LL, 1LL, 999LL, 1700000000123LL, 4102444799999LL}) {
        auto const when = system_clock::time_point(milliseconds(ms));
        EXPECT_EQ(parse_timestamp(timestamp(when)), when) << timestamp(when);
    }
    EXPECT_EQ(timestamp(system_clock::time_point(milliseconds(1700000000007))),
              "2023-11-14T22:13:20.007Z");
    EXPECT_EQ(parse_timestamp("1970-01-01T00:00:01.5Z"), system_clock::time_point(1500ms));
    for (auto const* bad :
         {"", "now", "2023-13-01T00:00:00Z", "2023-01-01T00:00:00", "2023-01-01T24:00:00Z",
          "2023-01-01T00:00:00.Z", "2023-01-01T00:00:00.x1Z", "9999-01-01T00:00:00Z",
          "1554-01-01T00:00:00Z"})
        EXPECT_FALSE(parse_timestamp(bad)) << bad;
}

TEST(Base64, IsReadAsItIsWritten) {
    std::mt19937 random(3);
    for (std::size_t size = 0; size < 60; ++size) {
        std::string bytes(size, '\0');
        for (char& c : bytes) c = static_cast<char>(random());
        EXPECT_EQ(from_base64(base64(bytes)), bytes);
    }
    for (auto const* bad : {"a", "ab=", "a===", "ab=c", "=abc", "ab==abcd", "a b="})
        EXPECT_FALSE(from_base64(bad)) << bad;
}

}  // namespace
}  // namespace sinew::launch
