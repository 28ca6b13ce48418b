// SPDX-License-Identifier: Apache-2.0
#include "src/comm/model_cache.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

namespace fs = std::filesystem;
using collectives::Model;
using detail::load_model;
using detail::save_model;

class ModelCache : public testing::Test {
protected:
    ModelCache() {
        std::string pattern = (fs::temp_directory_path() / "sinew-cache-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    ~ModelCache() override { fs::remove_all(folder_); }

    static Model model() {
        Model unusual;
        unusual.node.segment = 4242;
        return unusual;
    }
    fs::path file() const { return folder_ / "sinew" / "model-key.txt"; }
    void expect_nothing_and_no_harm() {
        EXPECT_FALSE(load_model("key"));
        save_model("key", model());
    }

    fs::path folder_;
};

TEST_F(ModelCache, GivesBackWhatItWasGiven) {
    Variable const cache("XDG_CACHE_HOME", folder_.c_str());
    EXPECT_FALSE(load_model("key"));
    save_model("key", model());
    auto const back = load_model("key");
    ASSERT_TRUE(back);
    EXPECT_EQ(back->to_text(), model().to_text());
    EXPECT_FALSE(load_model("another key"));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "sinew"), {}), 1)
        << "something is left over";
}

TEST_F(ModelCache, IsInTheHomeFolderByDefault) {
    Variable const no_cache("XDG_CACHE_HOME", nullptr), home("HOME", folder_.c_str());
    save_model("key", model());
    EXPECT_TRUE(fs::exists(folder_ / ".cache" / "sinew" / "model-key.txt"));
    EXPECT_TRUE(load_model("key"));
}

TEST_F(ModelCache, IsNoneWithoutAHomeFolder) {
    Variable const no_cache("XDG_CACHE_HOME", nullptr), no_home("HOME", nullptr);
    expect_nothing_and_no_harm();
    EXPECT_FALSE(load_model("key"));
}

TEST_F(ModelCache, IsNoneWhereNothingCanBeWritten) {
    std::ofstream(folder_ / "file") << "not a folder";
    Variable const cache("XDG_CACHE_HOME", (folder_ / "file").c_str());
    expect_nothing_and_no_harm();
    EXPECT_FALSE(load_model("key"));
}

TEST_F(ModelCache, IsNoneInAFolderOfOthers) {
    if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
    fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
    Variable const cache("XDG_CACHE_HOME", folder_.c_str());
    expect_nothing_and_no_harm();
    EXPECT_FALSE(load_model("key"));
    fs::permissions(folder_, fs::perms::owner_all);
}

TEST_F(ModelCache, TakesADamagedFileForNone) {
    Variable const cache("XDG_CACHE_HOME", folder_.c_str());
    save_model("key", model());
    for (std::string const& damaged :
         {std::string(), std::string("\n"), std::string("\0\xff", 2), std::string(100000, 'x'),
          model().to_text().substr(0, 40), model().to_text() + " more"}) {
        std::ofstream(file(), std::ios::trunc) << damaged;
        EXPECT_FALSE(load_model("key")) << damaged.substr(0, 100);
    }
    save_model("key", model());
    EXPECT_TRUE(load_model("key"));
}

}  // namespace
}  // namespace sinew::tests
