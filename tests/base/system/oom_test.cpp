// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/oom.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "src/base/text.hpp"

namespace sinew {
namespace {

namespace fs = std::filesystem;

/// A fake file system to read the counters from.
class OomKills : public testing::Test {
protected:
    OomKills() { fs::create_directories(root); }
    ~OomKills() override { fs::remove_all(root); }
    void file(std::string const& path, std::string const& words) const {
        fs::create_directories(fs::path(root + path).parent_path());
        std::ofstream(root + path) << words;
    }
    std::string const root =
        text(fs::temp_directory_path().string(), "/sinew-oom-test-", ::getpid());
};

TEST_F(OomKills, AreNoneWhereNothingIsKnown) {
    EXPECT_EQ(oom_kills(root), 0U);
    file("/proc/self/cgroup", "rubbish\n:\n4:memory\n0::/nowhere\n");
    EXPECT_EQ(oom_kills(root), 0U);
}

TEST_F(OomKills, AreCountedByVersion2) {
    file("/proc/self/cgroup", "0::/a/b\n");
    file("/sys/fs/cgroup/a/b/memory.events", "low 0\noom 7\noom_kill 5\n");
    EXPECT_EQ(oom_kills(root), 5U);
}

TEST_F(OomKills, AreCountedByVersion1BesideAnEmptyVersion2) {
    file("/proc/self/cgroup", "9:cpu,cpuacct:/\n4:memory:/a\n0::/\n");
    file("/sys/fs/cgroup/memory/a/memory.oom_control",
         "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    EXPECT_EQ(oom_kills(root), 3U);
}

TEST_F(OomKills, AreCountedInAContainerOfVersion1) {
    file("/proc/self/cgroup", "4:hugetlb,memory:/docker/4711\n");
    file("/sys/fs/cgroup/memory/memory.oom_control",
         "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    EXPECT_EQ(oom_kills(root), 2U);
}

}  // namespace
}  // namespace sinew
