// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sinew/error.hpp>

#include "launchers/job/summary/summary_file.hpp"
#include "launchers/pods/pod_config.hpp"
#include "launchers/pods/pod_identity.hpp"
#include "src/base/system/secret_file.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string const secret(64, 'a');

std::string line(std::string const& change = {}, std::string const& to = {}) {
    auto words = text(R"({"job":"abcdef012345","secret":")", secret,
                      R"(","nodes":4,"port":7077,"discovery":"vip",)",
                      R"("run":["-n","8","--","./train"],"root_patience_ms":300000})");
    if (!change.empty()) words.replace(words.find(change), change.size(), to);
    return words;
}

std::string problem(std::string const& words) {
    try {
        parse_pod_config(words);
    } catch (UsageError const& error) {
        return error.what();
    }
    return "accepted";
}

TEST(PodConfig, IsReadAsItIsWritten) {
    auto const config = parse_pod_config(line());
    EXPECT_EQ(config.job, "abcdef012345");
    EXPECT_EQ(config.secret, secret);
    EXPECT_EQ(config.nodes, 4);
    EXPECT_EQ(config.port, 7077);
    EXPECT_EQ(config.discovery, "vip");
    EXPECT_EQ(config.run, (std::vector<std::string>{"-n", "8", "--", "./train"}));
    EXPECT_EQ(config.root_patience, std::chrono::minutes(5));
    EXPECT_TRUE(is_pod_config(line()));
    EXPECT_FALSE(is_pod_config(R"({"job":"a","roots":[]})")) << "of one agent";
}

TEST(PodConfig, ErrorsNameTheKeyAndNeverTheSecret) {
    EXPECT_THAT(problem("[]"), HasSubstr("not a JSON object"));
    EXPECT_THAT(problem("{"), HasSubstr("not a JSON object"));
    EXPECT_THAT(problem(line("abcdef012345", "../x")), HasSubstr("key job"));
    EXPECT_THAT(problem(line("\"abcdef012345\"", "7")), HasSubstr("key job (must be a string"));
    EXPECT_THAT(problem(line(secret, "aa")), HasSubstr("key secret (must be 64"));
    EXPECT_THAT(problem(line("\"nodes\":4", "\"nodes\":0")), HasSubstr("key nodes"));
    EXPECT_THAT(problem(line("\"nodes\":4", "\"nodes\":4.5")), HasSubstr("key nodes"));
    EXPECT_THAT(problem(line("\"nodes\":4,", "")), HasSubstr("key nodes (must be present"));
    EXPECT_THAT(problem(line("7077", "70770")), HasSubstr("key port"));
    EXPECT_THAT(problem(line("7077", "18446744073709551615")), HasSubstr("key port"));
    EXPECT_THAT(problem(line("vip", "broadcast")), HasSubstr("vip, dns or api"));
    EXPECT_THAT(problem(line("[\"-n\",\"8\",\"--\",\"./train\"]", "[]")), HasSubstr("key run"));
    EXPECT_THAT(problem(line("\"8\"", "8")), HasSubstr("key run"));
    EXPECT_THAT(problem(line("300000", "-1")), HasSubstr("key root_patience_ms"));
    EXPECT_THAT(problem(line("\"job\"", "\"jobs\"")), HasSubstr("key jobs (must be absent"));
    EXPECT_THAT(problem(line("7077", "0")), Not(HasSubstr(secret)));
}

using Variables = std::map<std::string, std::string>;

std::string identity_problem(Variables const& variables) {
    try {
        pod_identity(variables, "host");
    } catch (UsageError const& error) {
        return error.what();
    }
    return "accepted";
}

TEST(PodIdentity, NeedsAnIndexAndARoot) {
    EXPECT_THAT(identity_problem({}), HasSubstr("JOB_COMPLETION_INDEX is not set"));
    for (auto const* bad : {"", "x", "-1", "100000", "1 ", "99999999999"})
        EXPECT_THAT(identity_problem({{"JOB_COMPLETION_INDEX", bad}}),
                    HasSubstr(text("JOB_COMPLETION_INDEX=", bad)));
    EXPECT_THAT(identity_problem({{"JOB_COMPLETION_INDEX", "1"}}), HasSubstr("SINEW_ROOT"));
    EXPECT_THAT(identity_problem({{"JOB_COMPLETION_INDEX", "1"}, {"SINEW_ROOT", "here"}}),
                HasSubstr("SINEW_ROOT=here"));
    EXPECT_EQ(identity_problem({{"JOB_COMPLETION_INDEX", "0"}}), "accepted");
}

TEST(PodIdentity, IsThatOfThePodsIndex) {
    auto const name = [](std::string const& pod, std::string const& host, char const* index) {
        return pod_identity({{"JOB_COMPLETION_INDEX", index},
                             {"SINEW_ROOT", "10.96.0.7:7077,root:7077,[fd00::1]:7077"},
                             {"SINEW_POD_NAME", pod}},
                            host)
            .name;
    };
    EXPECT_EQ(name("train-3-x7k2p", "host", "3"), "train-3");
    EXPECT_EQ(name("train-3-3", "host", "3"), "train-3-3");
    EXPECT_EQ(name("a-b-12-abcde", "host", "12"), "a-b-12");
    EXPECT_EQ(name("", "train-3", "3"), "train-3");
    EXPECT_EQ(name("", "host", "3"), "host-3");
    EXPECT_EQ(name("odd", "host", "3"), "odd-3");
    auto const identity = pod_identity({{"JOB_COMPLETION_INDEX", "3"},
                                        {"SINEW_ROOT", "10.96.0.7:7077,root:7077"},
                                        {"SINEW_POD_NAME", "train-3-x7k2p"},
                                        {"SINEW_POD_NODE", "worker-7.example"},
                                        {"SINEW_PLACE_ZONE", "eu-1a"},
                                        {"SINEW_PLACE_RACK", "r9"}},
                                       "host");
    EXPECT_EQ(identity.roots, (std::vector<std::string>{"tcp:10.96.0.7:7077", "tcp:root:7077"}));
    EXPECT_EQ(identity.name_of(11), "train-11");
    EXPECT_EQ(identity.place, (Place{.region = "",
                                     .zone = "eu-1a",
                                     .block = "",
                                     .rack = "r9",
                                     .machine = "worker-7.example"}));
}

TEST(PodIdentity, AWrongPlaceIsNotAFailure) {
    Variables variables{{"JOB_COMPLETION_INDEX", "0"},
                        {"SINEW_PLACE", "a/b/c/d/e"},
                        {"SINEW_POD_NODE", "two words"}};
    EXPECT_EQ(pod_identity(variables, "host").place, Place{});
    variables["SINEW_PLACE"] = "eu//b1/";
    EXPECT_EQ(pod_identity(variables, "host").place.region, "eu");
    EXPECT_EQ(pod_identity(variables, "host").place.block, "b1");
}

class SecretFile : public testing::Test {
protected:
    SecretFile() {
        std::filesystem::create_directories(folder + "/..data_1");
        write("config", "secret\nrest", 0600);
    }
    ~SecretFile() override { std::filesystem::remove_all(folder); }
    void write(std::string const& name, std::string const& words, mode_t mode) const {
        std::ofstream(folder + "/" + name, std::ios::trunc) << words;
        ::chmod((folder + "/" + name).c_str(), mode);
    }
    std::string read(std::string const& name) const {
        try {
            return read_secret_file(folder + "/" + name);
        } catch (Error const& problem) {
            return problem.what();
        }
    }
    std::string const folder =
        text(std::filesystem::temp_directory_path().string(), "/sinew-secret-", ::getpid());
};

TEST_F(SecretFile, IsOursAlone) {
    EXPECT_EQ(read("config"), "secret\n");
    write("config", "secret", 0644);
    EXPECT_THAT(read("config"), HasSubstr("must be yours alone"));
    EXPECT_THAT(read("none"), HasSubstr("cannot be read"));
    EXPECT_THAT(read("..data_1"), HasSubstr("is not a file"));
    write("config", std::string(2 << 20, 'x'), 0600);
    EXPECT_THAT(read("config"), HasSubstr("longer than"));
}

TEST_F(SecretFile, OrOfAVolumeThatKubernetesHasMounted) {
    write("config", "secret", 0444);
    EXPECT_THAT(read("config"), HasSubstr("must be yours alone")) << "there is no link ..data";
    std::filesystem::create_symlink("..data_1", folder + "/..data");
    EXPECT_EQ(read("config"), "secret");
    ::chmod(folder.c_str(), 01777);  // as kubelet makes it
    EXPECT_EQ(read("config"), "secret");
    ::chmod(folder.c_str(), 0777);
    EXPECT_THAT(read("config"), HasSubstr("must be yours alone")) << "anybody may put files there";
    ::chmod(folder.c_str(), 0755);
    write("config", "secret", 0664);
    EXPECT_THAT(read("config"), HasSubstr("must be yours alone")) << "others may write it";
}

TEST(Summary, FitsIntoATerminationMessage) {
    EXPECT_EQ(summary_line({.exit_code = 3, .cause = "rank 3: \"x\"", .restarts = 1}),
              "{\"exit_code\":3,\"cause\":\"rank 3: \\\"x\\\"\",\"restarts\":1}\n");
    for (std::string const piece : {"x", "\"", "\n", "\x01", "\xff", "\xc3\xa4"}) {
        std::string cause;
        while (cause.size() < 20'000) cause += piece;
        auto const summary = summary_line({.exit_code = 3, .cause = cause, .restarts = 1});
        EXPECT_LE(summary.size(), 4096U);
        EXPECT_GT(summary.size(), 600U);
        EXPECT_THAT(summary, testing::EndsWith("...\",\"restarts\":1}\n"));
    }
}

}  // namespace
}  // namespace sinew::launch
