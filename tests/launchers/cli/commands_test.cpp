// SPDX-License-Identifier: Apache-2.0
//
// Runs `sinew info` and `sinew doctor` on this machine.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "launchers/cli/doctor.hpp"
#include "launchers/cli/info.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

using Main = int (*)(std::vector<std::string> const&, std::ostream&, std::ostream&);

struct Result {
    int code;
    std::string out, err;
};

Result run(Main main, std::vector<std::string> const& arguments) {
    std::ostringstream out, err;
    int const code = main(arguments, out, err);
    return {code, out.str(), err.str()};
}

class Commands : public testing::TestWithParam<Main> {};

TEST_P(Commands, JsonIsValid) {
    auto const result = run(GetParam(), {"--json"});
    EXPECT_THAT(result.code, AnyOf(0, 1)) << result.err;
    EXPECT_TRUE(nlohmann::json::parse(result.out).is_object());
}

TEST_P(Commands, HelpAndMistakes) {
    EXPECT_EQ(run(GetParam(), {"--help"}).code, 0);
    EXPECT_THAT(run(GetParam(), {"--help"}).out, HasSubstr("--json"));
    auto const slip = run(GetParam(), {"--jsn"});
    EXPECT_EQ(slip.code, 2);
    EXPECT_THAT(slip.err, AllOf(HasSubstr("--jsn"), HasSubstr("Did you mean --json?")));
    EXPECT_EQ(run(GetParam(), {"word"}).code, 2);
    EXPECT_EQ(run(GetParam(), {"--js"}).code, 2) << "no guessing";
}

INSTANTIATE_TEST_SUITE_P(Both, Commands, testing::Values(info_main, doctor_main));

TEST(InfoCommand, TellsEachSection) {
    auto const text = run(info_main, {}).out;
    for (char const* const title : {"sinew\n", "host\n", "ring order\n", "interfaces\n", "limits\n",
                                    "backends\n", "transports\n", "algorithms\n"})
        EXPECT_THAT(text, HasSubstr(title));
    EXPECT_THAT(text, AllOf(HasSubstr("allreduce"), HasSubstr("recursive_doubling")));
}

/// Replaces ssh by a script.
class DoctorHosts : public testing::Test {
protected:
    void SetUp() override {
        folder_ = testing::TempDir() + text("sinew-fake-ssh-", ::getpid());
        std::filesystem::create_directories(folder_);
        path_ = std::getenv("PATH");
        ::setenv("PATH", text(folder_, ":", path_).c_str(), 1);
    }
    void TearDown() override {
        ::setenv("PATH", path_.c_str(), 1);
        std::filesystem::remove_all(folder_);
    }
    void ssh(std::string const& script) const {
        std::ofstream(folder_ + "/ssh") << "#!/bin/sh\n" << script << '\n';
        ::chmod((folder_ + "/ssh").c_str(), 0755);
    }
    /// The result of this check for the host 127.0.0.1, as "error: text".
    static std::string found(std::string const& check, std::string const& timeout = "5s") {
        auto const result = run(doctor_main, {"-H", "127.0.0.1:4", "--json", "--timeout", timeout});
        auto const report = nlohmann::json::parse(result.out);
        for (auto const& finding : report["findings"])
            if (finding["check"] == check && finding["host"] == "127.0.0.1")
                return text(finding["severity"].get<std::string>(), ": ",
                            finding["found"].get<std::string>());
        return {};
    }
    std::string folder_, path_;
};

TEST_F(DoctorHosts, AreAskedForTheirTimeAndVersion) {
    ssh("echo Welcome; date +%s.%N; echo sinew 0.0.1");
    EXPECT_EQ(found("reach"), "ok: reached by ssh");
    EXPECT_THAT(found("version"), HasSubstr("error: sinew 0.0.1 there"));
    EXPECT_THAT(found("clock"), HasSubstr("ok: its clock agrees with ours"));
    EXPECT_THAT(found("names"), HasSubstr("127.0.0.1"));
}

TEST_F(DoctorHosts, WithoutSinewAreTold) {
    ssh("date +%s; exit 127");
    EXPECT_EQ(found("version"), "error: sinew is not found there");
}

TEST_F(DoctorHosts, ThatRefuseAreTold) {
    ssh("echo 'x@y: Permission denied (publickey).' >&2; exit 255");
    EXPECT_EQ(found("reach"), "error: it refused the login (x@y: Permission denied (publickey).)");
}

TEST_F(DoctorHosts, ThatDoNotAnswerCostTheTimeLimitOnly) {
    ssh("sleep 1000");
    EXPECT_EQ(found("reach", "300ms"), "error: no answer in time");
}

TEST_F(DoctorHosts, CannotBeOptionsOfSsh) {
    ssh("echo called >&2; exit 255");
    auto const result = run(doctor_main, {"--host=-oProxyCommand=x", "--json"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("-oProxyCommand=x"));
}

TEST(DoctorCommand, RefusesBadValues) {
    EXPECT_THAT(run(doctor_main, {"--timeout", "soon"}).err, HasSubstr("--timeout soon"));
    EXPECT_EQ(run(doctor_main, {"--hostfile", "/no/such/file"}).code, 2);
}

}  // namespace
}  // namespace sinew::launch
