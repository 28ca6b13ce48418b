// SPDX-License-Identifier: Apache-2.0
#include "src/base/env.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include <sinew/error.hpp>

namespace sinew {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

constexpr char const* name = "SINEW_TEST_VARIABLE";

class Env : public testing::Test {
protected:
    ~Env() override { ::unsetenv(name); }
    static void set(char const* value) { ::setenv(name, value, 1); }
    template <class Call>
    static std::string refusal(Call const& call) {
        try {
            call();
        } catch (UsageError const& error) {
            return error.what();
        }
        ADD_FAILURE() << "is not refused: " << std::getenv(name);
        return {};
    }
};

TEST_F(Env, TakesEmptyForUnset) {
    EXPECT_EQ(env(name), std::nullopt);
    set("");
    EXPECT_EQ(env(name), std::nullopt);
    set(" ");
    EXPECT_EQ(env(name), " ");
}

TEST_F(Env, ReadsFlags) {
    EXPECT_TRUE(env_flag(name, true));
    EXPECT_FALSE(env_flag(name, false));
    for (char const* yes : {"1", "yes", "on", "true"}) {
        set(yes);
        EXPECT_TRUE(env_flag(name, false));
    }
    for (char const* no : {"0", "no", "off", "false"}) {
        set(no);
        EXPECT_FALSE(env_flag(name, true));
    }
    for (char const* neither : {"2", "YES!", "1 ", "-1"}) {
        set(neither);
        EXPECT_THAT(refusal([] { env_flag(name, true); }),
                    HasSubstr(std::string(name) + "=" + neither));
    }
}

TEST_F(Env, ReadsDurations) {
    EXPECT_EQ(env_duration(name, 7s), 7s);
    for (auto const& [text, time] :
         std::initializer_list<std::pair<char const*, std::chrono::nanoseconds>>{{"30", 30s},
                                                                                 {"30s", 30s},
                                                                                 {"500ms", 500ms},
                                                                                 {"20us", 20us},
                                                                                 {"2m", 2min},
                                                                                 {"5min", 5min},
                                                                                 {"2h", 2h},
                                                                                 {"0.5s", 500ms},
                                                                                 {"1e1s", 10s}}) {
        set(text);
        EXPECT_EQ(env_duration(name, 7s), time) << text;
    }
    for (char const* wrong :
         {"0", "-1s", "soon", "5 s", "5x", "inf", "nan", "1e300s", "1e-20s", "s", "1h30m"}) {
        set(wrong);
        EXPECT_THAT(refusal([] { env_duration(name, 7s); }),
                    AllOf(HasSubstr(std::string(name) + "=" + wrong), HasSubstr("default, 7 s")));
    }
}

TEST(ParseDuration, GivesNothingForWhatIsNoTime) {
    EXPECT_EQ(parse_duration("1.5ms"), 1500us);
    EXPECT_EQ(parse_duration("25us"), 25us);
    EXPECT_EQ(parse_duration("0"), std::nullopt);
    EXPECT_EQ(parse_duration(""), std::nullopt);
}

TEST_F(Env, ReadsSizes) {
    EXPECT_EQ(parse_bytes("0", "--sizes"), 0U);
    EXPECT_EQ(parse_bytes("4096", "--sizes"), 4096U);
    EXPECT_EQ(parse_bytes("64K", "--sizes"), std::size_t{64} << 10);
    EXPECT_EQ(parse_bytes("16M", "--sizes"), std::size_t{16} << 20);
    EXPECT_EQ(parse_bytes("3G", "--sizes"), std::size_t{3} << 30);
    for (char const* wrong :
         {"", "K", "-1", "1.5M", "4 K", "4KB", "99999999999999999999", "99999999999G"}) {
        set(wrong);  // shown in failure messages
        EXPECT_THAT(refusal([&] { parse_bytes(wrong, "--sizes"); }),
                    HasSubstr("--sizes: " + std::string(wrong)));
    }
}

}  // namespace
}  // namespace sinew
