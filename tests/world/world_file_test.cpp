// SPDX-License-Identifier: Apache-2.0
#include "src/world/world_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <sinew/error.hpp>

namespace sinew {
namespace {

using testing::HasSubstr;

WorldFile example() {
    auto const unix_socket = [](char const* path) { return wire::Address::unix_socket(path); };
    return {"job-7",
            3,
            wire::Secret::from_hex(std::string(62, '0') + "ab"),
            {"node-a", "node b"},
            {{0, 0, unix_socket("/run/x y/0"), wire::Address::tcp("10.0.0.3", 4711)},
             {1, 0, unix_socket("/run/1"), wire::Address::tcp("fd00::3", 4712)},
             {1, 1, unix_socket("/run/2"), std::nullopt}}};
}

std::string why(std::string const& text) {
    try {
        WorldFile::parse(text);
    } catch (UsageError const& error) {
        return error.what();
    }
    return "no error";
}

/// The example with one line replaced.
std::string with(std::string const& line, std::string const& other) {
    std::string text = example().text();
    auto const at = text.find(line + "\n");
    EXPECT_NE(at, std::string::npos) << line;
    return text.replace(at, line.size(), other);
}

TEST(WorldFile, ReadsWhatItWrites) {
    WorldFile const file = example(), again = WorldFile::parse(file.text());
    EXPECT_EQ(again.job, "job-7");
    EXPECT_EQ(again.epoch, 3U);
    EXPECT_EQ(again.key.hex(), file.key.hex());
    EXPECT_EQ(again.nodes, file.nodes);
    EXPECT_EQ(again.ranks, file.ranks);
    EXPECT_EQ(again.text(), file.text());
}

TEST(WorldFile, KnowsHowARankReachesAnother) {
    WorldFile const file = example();
    EXPECT_EQ(file.address(1, 2).text(), "unix:/run/2");
    EXPECT_EQ(file.address(2, 0).text(), "tcp:10.0.0.3:4711");
    EXPECT_THROW(file.address(0, 2), UsageError);
}

TEST(WorldFile, NamesTheLineThatIsWrong) {
    EXPECT_THAT(why(""), HasSubstr("line 1 does not say 'sinew-world'"));
    EXPECT_THAT(why(with("sinew-world 1", "sinew-world 2")), HasSubstr("line 1 has version '2'"));
    EXPECT_THAT(why(with("epoch 3", "epoch -3")), HasSubstr("line 3 has '-3'"));
    EXPECT_THAT(why(with("nodes 2", "nodes 0")), HasSubstr("line 5 has '0'"));
    EXPECT_THAT(why(with("ranks 3", "ranks 4")), HasSubstr("line 17 does not say 'rank'"));
    EXPECT_THAT(why(with("ranks 3", "ranks 2")), HasSubstr("line 15 is not a last line 'end'"));
    EXPECT_THAT(why(with("rank 0 0", "rank 2 0")), HasSubstr("line 9 has '2'"));
    EXPECT_THAT(why(with("rank 0 0", "rank 0")), HasSubstr("line 9 has ''"));
    EXPECT_THAT(why(with("local unix:/run/1", "local post:/run/1")), HasSubstr("line 13 has no"));
    EXPECT_THAT(why(example().text() + "more\n"), HasSubstr("last line"));
    std::string const text = example().text();
    EXPECT_THAT(why(text.substr(0, text.size() - 1)), HasSubstr("last line"));
}

TEST(WorldFile, DoesNotRepeatTheKey) {
    std::string const wrong = "deadbeef";
    auto const said = why(with("key " + std::string(62, '0') + "ab", "key " + wrong));
    EXPECT_THAT(said, HasSubstr("line 4 has no key"));
    EXPECT_THAT(said, testing::Not(HasSubstr(wrong)));
}

TEST(WorldFile, RefusesNamesThatWouldBreakALine) {
    WorldFile file = example();
    file.nodes[0] = "node\nkey 0";
    EXPECT_THROW(file.text(), UsageError);
    file.nodes[0] = "";
    EXPECT_THROW(file.text(), UsageError);
}

class WorldFileOnDisk : public testing::Test {
protected:
    WorldFileOnDisk() {
        std::string pattern = std::filesystem::temp_directory_path() / "sinew-test-XXXXXX";
        folder = ::mkdtemp(pattern.data());
        path = folder / "world";
        example().write(path);
    }
    ~WorldFileOnDisk() override { std::filesystem::remove_all(folder); }
    std::string why_not() {
        try {
            WorldFile::read(path);
        } catch (Error const& error) {
            return error.what();
        }
        return "no error";
    }
    std::filesystem::path folder, path;
};

TEST_F(WorldFileOnDisk, IsForItsUserAlone) {
    struct ::stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    EXPECT_EQ(WorldFile::read(path).text(), example().text());
    example().write(path);  // replaces the file
    auto const files = std::distance(std::filesystem::directory_iterator(folder),
                                     std::filesystem::directory_iterator());
    EXPECT_EQ(files, 1);  // no temporary file is left
    ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
    EXPECT_THAT(why_not(), HasSubstr("others may read or write it"));
}

TEST_F(WorldFileOnDisk, IsAPlainFileOfThisUser) {
    auto const link = folder / "link";
    std::filesystem::create_symlink(path, link);
    path = link;
    EXPECT_THAT(why_not(), HasSubstr("cannot open the world file"));
    path = folder / "pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(why_not(), HasSubstr("it is not a plain file"));
    path = folder;
    EXPECT_THAT(why_not(), HasSubstr("it is not a plain file"));
    if (::geteuid() != 0) return;  // only root can make another user's file
    path = folder / "world";
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    EXPECT_THAT(why_not(), HasSubstr("it belongs to user 65534"));
}

}  // namespace
}  // namespace sinew
