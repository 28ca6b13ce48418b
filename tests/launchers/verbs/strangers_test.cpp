// SPDX-License-Identifier: Apache-2.0
//
// Whoever connects to a job, and whatever is sent: the job runs on, and answers others.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "src/base/job_folder.hpp"
#include "src/base/system/unique_fd.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/launchers/verbs/verb.hpp"

namespace sinew::testing_support {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class VerbStrangers : public RunTest {
protected:
    static std::string folder_of(std::string const& job) {
        auto const found = living_folders("job-" + job);
        return found.size() == 1 ? found.front() : "";
    }
    static UniqueFd connect(std::string const& job) {
        sockaddr_un name{};
        name.sun_family = AF_UNIX;
        auto const path = folder_of(job) + "/control.sock";
        std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
        UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0)
            << path << ": " << std::strerror(errno);
        timeval const limit{.tv_sec = 15, .tv_usec = 0};
        ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        return fd;
    }
    static void say(UniqueFd const& fd, std::string const& words) {
        [[maybe_unused]] auto const sent =
            ::send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL);
    }
    /// All that comes until the end, or until there is `word`.
    static std::string hear(UniqueFd const& fd, std::string const& word = {}) {
        std::string all;
        std::array<char, 1 << 16> buffer;
        for (;;) {
            auto const count = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
            if (count <= 0) return all;
            auto const before = all.size() < 64 ? 0 : all.size() - 64;
            all.append(buffer.data(), static_cast<std::size_t>(count));
            if (!word.empty() && all.find(word, before) != std::string::npos) return all;
        }
    }
};

TEST_F(VerbStrangers, SendGarbage) {
    Launched job({"-n", "1", "--name", "garbage", rank_program(), "signals"});
    ASSERT_TRUE(job.says("ready"));
    struct ::stat about {};
    ASSERT_EQ(::stat((folder_of("garbage") + "/control.sock").c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777, 0600u);
    ASSERT_EQ(::stat(folder_of("garbage").c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777, 0700u);
    for (auto const& words : {std::string("GET / HTTP/1.0\r\n\r\n"), std::string("\0\0\0\n", 4),
                              std::string("{\n"), std::string("{\"request\":\"reboot\"}\n"),
                              std::string(1 << 20, 'x'), std::string(60'000, '[') + "\n"}) {
        auto const fd = connect("garbage");
        say(fd, words);
        EXPECT_THAT(hear(fd), StartsWith("{\"refused\":")) << words.substr(0, 40);
    }
    { say(connect("garbage"), "{\"request\":"); }  // and goes
    {
        auto const fd = connect("garbage");
        say(fd, "{\"request\":\"logs\",\"follow\":true}\n");
        hear(fd, "ready");
        say(fd, "more");  // nothing may follow
        EXPECT_EQ(hear(fd), "");
    }
    // More than it serves, which say nothing.
    std::vector<UniqueFd> silent;
    for (int i = 0; i < 40; ++i) silent.push_back(connect("garbage"));
    EXPECT_EQ(job_named("garbage").at("state"), "silent");
    silent.clear();
    EXPECT_TRUE(has_state("garbage", "running"));
    EXPECT_EQ(verb({"stop", "garbage"}).code, 0);
    EXPECT_EQ(job.wait().code, 143);
}

TEST_F(VerbStrangers, ThatDoNotReadDelayNoJobAndLearnWhatTheyMissed) {
    Launched::Setting setting{.input = Launched::Input::open};
    setting.read = [](std::string_view) {};
    Launched job({"-n", "1", "--name", "flood", "sh", "-c",
                  "read go; " + rank_program() + " flood 24; echo over >&2; read end"},
                 setting);
    ASSERT_TRUE(has_state("flood", "running"));
    auto const slow = connect("flood"), never = connect("flood");
    for (auto const* fd : {&slow, &never}) say(*fd, "{\"request\":\"attach\"}\n");
    job.write_input("go\n");
    ASSERT_TRUE(eventually([&] { return count_of(job.err(), "over") > 0; }, Seconds(30)));
    auto const heard = hear(slow, "\"text\":\"over\"");
    EXPECT_THAT(heard.substr(0, heard.find("over")), HasSubstr("{\"skipped\":"));
    EXPECT_LT(heard.size(), std::size_t{20} << 20);
    job.write_input("end\n");
    EXPECT_THAT(hear(slow), HasSubstr("{\"ended\":0"));
    EXPECT_EQ(job.wait(Seconds(20)).code, 0);
}

TEST_F(VerbStrangers, OfAnotherUserAreRefusedEvenIfTheyReachTheSocket) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    Launched job({"-n", "1", "--name", "private", rank_program(), "signals"});
    ASSERT_TRUE(job.says("ready"));
    auto const folder = folder_of("private");
    auto const above = std::filesystem::path(folder).parent_path();
    ::chmod(above.c_str(), 0711);
    ::chmod(folder.c_str(), 0711);
    ::chmod((folder + "/control.sock").c_str(), 0666);
    std::array<int, 2> answer{};
    ASSERT_EQ(::pipe(answer.data()), 0);
    auto const path = folder + "/control.sock";
    pid_t const child = ::fork();
    if (child == 0) {
        constexpr uid_t nobody = 65534;
        sockaddr_un name{};
        name.sun_family = AF_UNIX;
        std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
        if (::setresuid(nobody, nobody, nobody) != 0) ::_exit(9);
        int const fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
        if (::connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) ::_exit(8);
        std::array<char, 4096> buffer;
        auto const count = ::recv(fd, buffer.data(), buffer.size(), 0);
        if (count <= 0) ::_exit(7);
        ::_exit(::write(answer[1], buffer.data(), static_cast<std::size_t>(count)) == count ? 0
                                                                                            : 6);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    std::array<char, 4096> buffer{};
    ::close(answer[1]);
    auto const count = ::read(answer[0], buffer.data(), buffer.size() - 1);
    ::close(answer[0]);
    ASSERT_GT(count, 0);
    EXPECT_THAT(std::string(buffer.data()), HasSubstr("belongs to another user"));
    ::chmod(folder.c_str(), 0700);
    ::chmod(above.c_str(), 0700);
    EXPECT_EQ(verb({"stop", "private"}).code, 0);
    EXPECT_EQ(job.wait().code, 143);
}

}  // namespace
}  // namespace sinew::testing_support
