// SPDX-License-Identifier: Apache-2.0
#include "src/base/state_folder.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sinew/error.hpp>
#include <sinew/task/codec.hpp>

#include "tests/support/message_of.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::message_of;

class StateFolders : public testing::Test {
protected:
    fs::path path() const { return parent_.path() / "states"; }

    static void write(StateFolder const& folder, std::string const& name, std::string_view bytes) {
        std::array<std::span<std::byte const>, 1> const parts{std::as_bytes(std::span(bytes))};
        folder.write(name, parts);
    }
    static std::string read(StateFolder const& folder, std::string const& name) {
        auto const bytes = folder.read(name);
        return bytes ? std::string(reinterpret_cast<char const*>(bytes->data()), bytes->size())
                     : "none";
    }

private:
    testing_support::TempFolder parent_;
};

TEST_F(StateFolders, KeepWhatWasWritten) {
    {
        StateFolder const folder(path());
        EXPECT_EQ(read(folder, "a"), "none");
        write(folder, "a", "first");
        write(folder, "a", "second");
        write(folder, "empty", "");
        std::string_view const one = "in ", two = "two parts";
        std::array<std::span<std::byte const>, 2> const parts{std::as_bytes(std::span(one)),
                                                              std::as_bytes(std::span(two))};
        folder.write("parts", parts);
    }
    StateFolder const again(path());
    EXPECT_EQ(read(again, "a"), "second");
    EXPECT_EQ(read(again, "empty"), "");
    EXPECT_EQ(read(again, "parts"), "in two parts");
    EXPECT_THAT(again.names(), ElementsAre("a", "empty", "parts"));
    again.remove("a");
    again.remove("a");
    EXPECT_THAT(again.names(), ElementsAre("empty", "parts"));
}

TEST_F(StateFolders, AreTheUsersAlone) {
    StateFolder const folder(path());
    write(folder, "a", "secret");
    struct stat info {};
    ASSERT_EQ(::stat(path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0700u);
    ASSERT_EQ(::stat((path() / "a").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(StateFolders, ThatOthersMayWriteToAreRefused) {
    fs::create_directory(path());
    ASSERT_EQ(::chmod(path().c_str(), 0770), 0);
    auto const words = message_of<UsageError>([&] { StateFolder const folder(path()); });
    EXPECT_THAT(words, HasSubstr("mode 0770"));
    EXPECT_THAT(words, HasSubstr("chmod go-w"));
}

TEST_F(StateFolders, OfSomebodyElseAreRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    fs::create_directory(path());
    ASSERT_EQ(::chown(path().c_str(), 65534, 65534), 0);
    EXPECT_THAT(message_of<UsageError>([&] { StateFolder const folder(path()); }),
                HasSubstr("belongs to user 65534"));
}

TEST_F(StateFolders, AreForOneAtATime) {
    {
        StateFolder const folder(path());
        EXPECT_THAT(message_of<UsageError>([&] { StateFolder const other(path()); }),
                    HasSubstr("a folder of its own"));
    }
    StateFolder const later(path());
}

TEST_F(StateFolders, WithoutAParentSayWhy) {
    EXPECT_THAT(message_of<SystemError>([&] { StateFolder const folder(path() / "below"); }),
                HasSubstr("No such file or directory"));
}

TEST_F(StateFolders, TellWhatIsDamaged) {
    StateFolder const folder(path());
    write(folder, "a", "all of it");
    auto const file = path() / "a";
    auto const whole = fs::file_size(file);

    fs::resize_file(file, whole - 1);
    EXPECT_THAT(message_of<DecodeError>([&] { (void)folder.read("a"); }),
                HasSubstr("it has 8 bytes of 9"));
    fs::resize_file(file, whole);  // appends a zero byte
    EXPECT_THAT(message_of<DecodeError>([&] { (void)folder.read("a"); }), HasSubstr("SHA-256"));
    for (auto const size : {0, 1, 47}) {
        fs::resize_file(file, static_cast<std::uintmax_t>(size));
        EXPECT_THAT(message_of<DecodeError>([&] { (void)folder.read("a"); }),
                    HasSubstr("does not begin like one"));
    }
    std::ofstream(file) << std::string(200, 'x');
    EXPECT_THAT(message_of<DecodeError>([&] { (void)folder.read("a"); }), HasSubstr("Remove it"));
}

// Runs in a separate process, because the limit applies to a process.
TEST_F(StateFolders, DoNotWaitForANamedPipe) {
    StateFolder const folder(path());
    ASSERT_EQ(::mkfifo((path() / "a").c_str(), 0600), 0);
    EXPECT_THAT(message_of<DecodeError>([&] { (void)folder.read("a"); }),
                HasSubstr("not a regular file"));
}

TEST_F(StateFolders, KeepWhatTheyHadWhereThereIsNoRoom) {
    auto const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        StateFolder const folder(path());
        write(folder, "a", "first");
        rlimit const small{100, 100};
        ::setrlimit(RLIMIT_FSIZE, &small);
        auto const words =
            message_of<SystemError>([&] { write(folder, "a", std::string(1000, 'x')); });
        bool const good = words.find("File too large") != std::string::npos &&
                          read(folder, "a") == "first" && folder.names().size() == 1 &&
                          !fs::exists(path() / "a.new");
        ::_exit(good ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

// If the writer is killed at any moment, the file is whole: old or new.
TEST_F(StateFolders, AreWholeWhenTheirProcessIsKilled) {
    for (int turn = 0; turn < 20; ++turn) {
        auto const child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            StateFolder const folder(path());
            for (char letter = 'a';; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1))
                write(folder, "a", std::string(100'000, letter));
        }
        ::usleep(static_cast<useconds_t>(2'000 + 700 * turn));
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        ASSERT_EQ(::waitpid(child, nullptr, 0), child);
        StateFolder const folder(path());
        auto const found = read(folder, "a");
        if (found == "none") continue;
        ASSERT_EQ(found.size(), 100'000u);
        ASSERT_EQ(found.find_first_not_of(found.front()), std::string::npos);
    }
}

}  // namespace
}  // namespace sinew
