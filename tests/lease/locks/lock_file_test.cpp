// SPDX-License-Identifier: Apache-2.0
// The folder and the file, and what other users, limits and accidents may do to them.
#include "src/lease/locks/lock_file.hpp"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <sinew/error.hpp>
#include <sinew/gpu_lease.hpp>

#include "tests/lease/support/lessee.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::lease::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;
using testing_support::message_of;

constexpr ::uid_t nobody = 65534;

class LockFileTest : public testing::Test {
protected:
    LockFileTest() {
        options_.gpus_of_host = 2;
        fs::permissions(temporary_.path(), fs::perms::all);
    }
    std::string refusal() const {
        return message_of<Error>([&] { GpuLease::acquire(1, options_); });
    }
    static ::mode_t mode(fs::path const& path) {
        struct ::stat about {};
        return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
    }
    /// Runs `body` in a child process of another user. Its result is the number that it returns.
    static int as_nobody(std::function<int()> const& body) {
        auto child = fork_child(
            [&] { return ::setgid(nobody) == 0 && ::setuid(nobody) == 0 ? body() : 100; });
        int const status = child.wait();
        return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
    }

    Environment environment_{{"FAKE_NVML", "fails 9"}};
    testing_support::TempFolder temporary_;
    LeaseOptions options_{.folder = temporary_.path() / "leases"};
    std::string const file_ = options_.folder + "/leases";
};

TEST_F(LockFileTest, LocksRanges) {
    LockFile const one(options_.folder), other(options_.folder);
    EXPECT_TRUE(one.try_lock({10, 20}));
    EXPECT_TRUE(one.try_lock({15, 25})) << "of its own";
    EXPECT_FALSE(other.try_lock({24, 30}));
    EXPECT_EQ(other.lock_of_others({0, 12}), (ByteRange{10, 12}));
    EXPECT_EQ(one.lock_of_others({0, 100}), std::nullopt);
    EXPECT_EQ(other.highest_of_others({0, 100}), 24);
    EXPECT_EQ(other.highest_of_others({0, 15}), 14);
    EXPECT_TRUE(other.try_lock({30, 31}, LockKind::shared));
    EXPECT_TRUE(one.try_lock({30, 31}, LockKind::shared));
    EXPECT_FALSE(one.try_lock({30, 31}));
    one.unlock({10, 20});
    EXPECT_TRUE(other.try_lock({0, 20}));
    one.unlock_all();
    EXPECT_TRUE(other.try_lock({20, 100}));
}

TEST_F(LockFileTest, IsForAllUsersWhateverTheUmask) {
    auto const before = ::umask(077);
    { LockFile const file(options_.folder); }
    ::umask(before);
    EXPECT_EQ(mode(options_.folder), 01777U);
    EXPECT_EQ(mode(file_), 0666U);
    EXPECT_EQ(fs::file_size(file_), 0U);
}

TEST_F(LockFileTest, IsOpenedToAllByItsOwnerIfThatWasKilledWhileItCreatedIt) {
    ASSERT_EQ(::mkdir(options_.folder.c_str(), 01700), 0);
    std::ofstream(file_).close();
    fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
    { LockFile const file(options_.folder); }
    EXPECT_EQ(mode(options_.folder), 01777U);
    EXPECT_EQ(mode(file_), 0666U);
}

TEST_F(LockFileTest, IsSharedByUsersWhoeverCameFirst) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    for (bool const root_first : {true, false}) {
        fs::remove_all(options_.folder);
        auto const lease_one = [&] { return GpuLease::acquire(1, options_).held() ? 0 : 1; };
        if (root_first) lease_one();
        else EXPECT_EQ(as_nobody(lease_one), 0);
        Lessee root(1, options_);
        ASSERT_THAT(root.answer(), Optional(std::string("0")));
        EXPECT_EQ(as_nobody([&] {
                      auto const second = GpuLease::acquire(1, options_);
                      return second.gpus()[0].index;
                  }),
                  1);
        EXPECT_EQ(as_nobody([&] { return GpuLease::try_acquire(2, options_) ? 1 : 0; }), 0);
    }
}

TEST_F(LockFileTest, KeepsAPrivateFolderPrivate) {
    fs::create_directory(options_.folder);
    fs::permissions(options_.folder, fs::perms::owner_all);
    { LockFile const file(options_.folder); }
    EXPECT_EQ(mode(options_.folder), 0700U);
}

TEST_F(LockFileTest, IsNeverReadNorWritten) {
    Lessee one(1, options_);
    ASSERT_TRUE(one.answer());
    std::ofstream(file_) << std::string(10'000, '\xff');
    EXPECT_FALSE(LockFile(options_.folder).try_lock(layout::gpu_number(0)));
    Lessee other(1, options_);
    EXPECT_THAT(other.answer(), Optional(std::string("1")));
    fs::resize_file(file_, 3);
    EXPECT_EQ(count_locks(options_.folder, layout::holders), 2);
    other.end();
    EXPECT_EQ(fs::file_size(file_), 3U);
}

TEST_F(LockFileTest, RefusesLinks) {
    fs::create_directory(temporary_.path() / "real");
    fs::create_directory_symlink(temporary_.path() / "real", options_.folder);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(options_.folder), HasSubstr("symbolic link")));
    fs::remove(options_.folder);
    fs::create_directory(options_.folder);
    temporary_.write("precious", "x");
    fs::create_symlink(temporary_.path() / "precious", file_);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(file_), HasSubstr("symbolic link")));
}

TEST_F(LockFileTest, RefusesWhatIsNotAFile) {
    fs::create_directory(options_.folder);
    ASSERT_EQ(::mkfifo(file_.c_str(), 0666), 0);
    EXPECT_THAT(refusal(), HasSubstr("not a regular file"));
    fs::remove_all(options_.folder);
    temporary_.write("leases", "");
    EXPECT_THAT(refusal(), AllOf(HasSubstr("Not a directory"), HasSubstr("SINEW_LEASE_DIR")));
}

TEST_F(LockFileTest, RefusesAFolderInWhichAnybodyMayReplaceFiles) {
    fs::create_directory(options_.folder);
    fs::permissions(options_.folder, fs::perms::all);
    EXPECT_THAT(refusal(), HasSubstr("chmod +t"));
}

TEST_F(LockFileTest, NamesAFolderThatIsMissingOrForbidden) {
    options_.folder = temporary_.path() / "no" / "leases";
    EXPECT_THAT(refusal(), AllOf(HasSubstr("No such file"), HasSubstr("SINEW_LEASE_DIR")));
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    options_.folder = temporary_.path() / "forbidden";
    fs::create_directory(options_.folder);
    for (auto const rights : {fs::perms::owner_all, fs::perms(0555)}) {
        fs::permissions(options_.folder, rights);
        EXPECT_EQ(as_nobody([&] {
                      auto const words = refusal();
                      return words.find("Permission denied") != words.npos &&
                                     words.find("1777") != words.npos
                                 ? 0
                                 : 1;
                  }),
                  0);
    }
}

TEST_F(LockFileTest, TellsThatTheDiskIsFullOrReadOnly) {
    auto child = fork_child([&] {
        fs::create_directory(options_.folder);
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", options_.folder.c_str(), "tmpfs", 0, "nr_inodes=1,mode=1777") != 0)
            return 77;
        auto words = refusal();
        if (words.find("No space left") == words.npos || words.find("Free some") == words.npos)
            return 1;
        if (::mount(nullptr, options_.folder.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) !=
            0)
            return 77;
        words = refusal();
        return words.find("Read-only") != words.npos ? 0 : 2;
    });
    int const status = child.wait();
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no right to mount a file system";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(LockFileTest, LacksDescriptorsWithAnErrorAndKeepsNothing) {
    auto child = fork_child([&] {
        int const next = ::dup(0);
        ::close(next);
        int failures = 0;
        for (int more = 0; more < 20; ++more) {
            ::rlimit limit{};
            ::getrlimit(RLIMIT_NOFILE, &limit);
            auto const before = limit;
            limit.rlim_cur = static_cast<::rlim_t>(next + more);
            ::setrlimit(RLIMIT_NOFILE, &limit);
            std::string words;
            bool leased = false;
            try {
                leased = GpuLease::acquire(2, options_).held();
            } catch (SystemError const& error) {
                words = error.what();
            }
            ::setrlimit(RLIMIT_NOFILE, &before);
            if (leased) return failures > 0 ? 0 : 1;
            if (words.find("ulimit -n") == words.npos) return 2;
            if (!GpuLease::try_acquire(2, options_)) return 3;
            ++failures;
        }
        return 4;
    });
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(LockFileTest, FollowsAFileThatWasReplaced) {
    { LockFile const file(options_.folder); }
    fs::remove(file_);
    LockFile const one(options_.folder), other(options_.folder);
    EXPECT_TRUE(one.try_lock({0, 1}));
    EXPECT_FALSE(other.try_lock({0, 1}));
}

}  // namespace
}  // namespace sinew::lease::test
