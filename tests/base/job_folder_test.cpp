// SPDX-License-Identifier: Apache-2.0
#include "src/base/job_folder.hpp"

#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sinew/error.hpp>

#include "src/base/system/this_host.hpp"
#include "src/base/text.hpp"

namespace sinew {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class JobFolders : public testing::Test {
protected:
    JobFolders() {
        base_ = testing::TempDir() + text("sinew-folders-", ::getpid());
        std::filesystem::create_directories(base_);
        ::setenv("SINEW_TMPDIR", base_.c_str(), 1);
    }
    ~JobFolders() override {
        ::unsetenv("SINEW_TMPDIR");
        std::filesystem::remove_all(base_);
    }
    /// Makes a folder whose lock file has the given contents and is not held.
    std::string abandoned(std::string const& name, std::string const& words) {
        auto path = text(base_, "/sinew-", ::getuid(), "-", name);
        std::filesystem::create_directories(path);
        std::ofstream(path + "/lock") << words;
        return path;
    }
    static std::string first_line(std::string const& path) {
        std::string line;
        std::getline(std::ifstream(path), line);
        return line;
    }
    std::string base_;
};

TEST_F(JobFolders, ThatAreHeldAreNotStale) {
    JobFolder const folder("held");
    EXPECT_THAT(stale_folders(), IsEmpty());
    EXPECT_EQ(first_line(folder.path() + "/lock"), boot_id());
}

TEST_F(JobFolders, ThatCannotBeLockedForWantOfDescriptorsLeaveNothing) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    none.rlim_cur = 3;  // lower descriptors are in use
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    std::string problem;
    try {
        JobFolder const folder("few-descriptors");
    } catch (SystemError const& error) {
        problem = error.what();
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_THAT(problem, testing::HasSubstr("ulimit -n"));
    EXPECT_TRUE(std::filesystem::is_empty(base_));
}

TEST_F(JobFolders, OfThisHostThatNobodyHoldsAreStale) {
    auto const now = abandoned("now", boot_id() + "\nanother name\n");
    auto const before = abandoned("before", "00000000-0000\n" + host_name() + "\n");
    EXPECT_THAT(remove_stale_folders(), testing::UnorderedElementsAre(now, before));
    EXPECT_FALSE(std::filesystem::exists(now));
}

// On a file system shared by several hosts, a host may not see the locks of another.
TEST_F(JobFolders, OfAnotherHostAreLeftToIt) {
    auto const far = abandoned("far", "00000000-0000\nfar-away\n");
    auto const making = abandoned("far2.new", "00000000-0000\nfar-away\n");
    EXPECT_THAT(remove_stale_folders(), IsEmpty());
    remove_if_stale(far);
    EXPECT_TRUE(std::filesystem::exists(far));
    EXPECT_TRUE(std::filesystem::exists(making));
}

// The folder may be about to be created on a slow host.
TEST_F(JobFolders, OfNobodyKnownAreLeftAlone) {
    auto const path = abandoned("nobody", "");
    EXPECT_THAT(stale_folders(), IsEmpty());
    EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace sinew
