// SPDX-License-Identifier: Apache-2.0
#include "src/comm/model/model_cache.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace fs = std::filesystem;
using collectives::Model;
using detail::CachedModel;

class ModelCache : public testing::Test {
protected:
    ModelCache() {
        std::string pattern = (fs::temp_directory_path() / "sinew-cache-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    ~ModelCache() override { fs::remove_all(folder_); }

    static constexpr std::uint64_t here = 17;
    static constexpr std::chrono::sys_seconds today{std::chrono::days(20000)};

    static CachedModel model(std::size_t segment = 4242, std::chrono::sys_seconds fitted = today) {
        CachedModel unusual{.model = {}, .topology = here, .fitted = fitted};
        unusual.model.node.segment = segment;
        return unusual;
    }
    /// The segments of the models that are found.
    std::set<std::size_t> found(std::chrono::sys_seconds now = today) const {
        std::set<std::size_t> segments;
        for (CachedModel const& one : cache_.load(here, now))
            segments.insert(one.model.node.segment);
        return segments;
    }
    fs::path file() const { return folder_ / "sinew" / "model-key-1.txt"; }
    void expect_nothing_and_no_harm() {
        EXPECT_THAT(found(), IsEmpty());
        cache_.save(model());
    }

    fs::path folder_;
    detail::ModelCache cache_{"key"};
};

TEST_F(ModelCache, GivesBackWhatItWasGiven) {
    Variable const cache("XDG_CACHE_HOME", folder_.c_str());
    EXPECT_THAT(found(), IsEmpty());
    cache_.save(model());
    auto const back = cache_.load(here, today);
    ASSERT_EQ(back.size(), 1U);
    EXPECT_EQ(back[0].model.to_text(), model().model.to_text());
    EXPECT_EQ(back[0].fitted, today);
    EXPECT_THAT(detail::ModelCache("another-key").load(here, today), IsEmpty());
    EXPECT_THAT(cache_.load(here + 1, today), IsEmpty()) << "another topology";
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "sinew"), {}), 1)
        << "something is left over";
}

TEST_F(ModelCache, IsInTheHomeFolderByDefault) {
    Variable const no_cache("XDG_CACHE_HOME", nullptr), home("HOME", folder_.c_str());
    cache_.save(model());
    EXPECT_TRUE(fs::exists(folder_ / ".cache" / "sinew" / "model-key-1.txt"));
    EXPECT_THAT(found(), ElementsAre(4242));
}

TEST_F(ModelCache, IsNoneWithoutAHomeFolder) {
    Variable const no_cache("XDG_CACHE_HOME", nullptr), no_home("HOME", nullptr);
    expect_nothing_and_no_harm();
    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(ModelCache, IsNoneWhereNothingCanBeWritten) {
    std::ofstream(folder_ / "file") << "not a folder";
    Variable const cache("XDG_CACHE_HOME", (folder_ / "file").c_str());
    expect_nothing_and_no_harm();
    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(ModelCache, IsNoneInAFolderOfOthers) {
    if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
    fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
    Variable const cache("XDG_CACHE_HOME", folder_.c_str());
    expect_nothing_and_no_harm();
    EXPECT_THAT(found(), IsEmpty());
    fs::permissions(folder_, fs::perms::owner_all);
}

TEST_F(ModelCache, TakesADamagedFileForNone) {
    Variable const cache("XDG_CACHE_HOME", folder_.c_str());
    cache_.save(model());
    std::string line;
    std::getline(std::ifstream(file()), line);
    for (std::string const& damaged :
         {std::string(), std::string("\n"), std::string("\0\xff", 2), std::string(100000, 'x'),
          line.substr(0, 40), line + " more", "x" + line, line.substr(line.find("topology")),
          "fitted=" + line}) {
        std::ofstream(file(), std::ios::trunc) << damaged;
        EXPECT_THAT(found(), IsEmpty()) << damaged.substr(0, 100);
    }
    cache_.save(model());
    EXPECT_THAT(found(), ElementsAre(4242));
}

TEST_F(ModelCache, ForgetsWhatIsOldOrFromTheFuture) {
    Variable const cache("XDG_CACHE_HOME", folder_.c_str());
    cache_.save(model());
    EXPECT_THAT(found(today + std::chrono::days(29)), ElementsAre(4242));
    EXPECT_THAT(found(today + std::chrono::days(31)), IsEmpty());
    EXPECT_THAT(found(today - std::chrono::days(1)), IsEmpty());
}

TEST_F(ModelCache, KeepsTheTwoNewest) {
    Variable const cache("XDG_CACHE_HOME", folder_.c_str());
    using std::chrono::hours;
    cache_.save(model(1, today - hours(3)));
    cache_.save(model(2, today - hours(2)));
    EXPECT_THAT(found(), ElementsAre(1, 2));
    cache_.save(model(3, today - hours(1)));
    EXPECT_THAT(found(), ElementsAre(2, 3));
    CachedModel elsewhere = model(4);
    elsewhere.topology = here + 1;
    cache_.save(elsewhere);  // the others are of no use there
    EXPECT_EQ(cache_.load(here + 1, today).size(), 1U);
    EXPECT_EQ(found().size(), 1U);
}

}  // namespace
}  // namespace sinew::tests
