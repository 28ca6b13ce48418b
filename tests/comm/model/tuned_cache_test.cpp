// SPDX-License-Identifier: Apache-2.0
// SINEW_TUNE: the file in which choices of measured calls are kept, and jobs that make and use them.
#include "src/comm/model/tuned_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "src/base/text.hpp"
#include "src/comm/tune_mode.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/support/socket_ranks.hpp"

namespace sinew::tests {
namespace {

namespace fs = std::filesystem;
using collectives::TunedTable;
using collectives::Tuner;
using detail::TuneMode;
using testing::HasSubstr;
using Contents = detail::TunedCache::Contents;

constexpr std::uint64_t here = 17;
constexpr detail::TunedCache::Time today{std::chrono::days(20000)};

TunedTable some_table() {
    TunedTable table;
    for (std::size_t bytes : {8UL, 4096UL, 1UL << 20})
        for (Collective const collective : {Collective::allreduce, Collective::allgather})
            table.set(Tuner::kind_of(collective, {.ranks = 8, .bytes = bytes}, true),
                      collectives::find_algorithm(collective, "ring"));
    return table;
}

class TunedCacheFile : public testing::Test {
protected:
    TunedCacheFile() {
        std::string pattern = (fs::temp_directory_path() / "sinew-tuned-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        variable_.emplace("XDG_CACHE_HOME", folder_.c_str());
    }
    ~TunedCacheFile() override { fs::remove_all(folder_); }

    fs::path file() const { return folder_ / "sinew" / "tuned-key.txt"; }
    std::string contents() const {
        std::ifstream in(file());
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void write(std::string const& words) const { std::ofstream(file()) << words; }
    /// What is warned of while nothing is found.
    std::string refusal(std::uint64_t topology = here, detail::TunedCache::Time now = today) const {
        testing::internal::CaptureStderr();
        EXPECT_EQ(cache_.load(topology, now), TunedTable());
        return testing::internal::GetCapturedStderr();
    }

    fs::path folder_;
    std::optional<Variable> variable_;
    detail::TunedCache cache_{"key"};
};

TEST_F(TunedCacheFile, GivesBackWhatItWasGiven) {
    EXPECT_EQ(refusal(), "");
    cache_.save(some_table(), here, today);
    EXPECT_EQ(cache_.load(here, today + std::chrono::days(29)), some_table());
    EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(std::distance(fs::directory_iterator(file().parent_path()), {}), 1);
}

TEST_F(TunedCacheFile, IsNotUsedForOtherNodesOrTooLate) {
    cache_.save(some_table(), here, today);
    EXPECT_THAT(refusal(here + 1), HasSubstr("of other nodes"));
    EXPECT_THAT(refusal(here, today + std::chrono::days(31)), HasSubstr("older than 30 days"));
    EXPECT_THAT(refusal(here, today - std::chrono::days(1)), HasSubstr("from the future"));
}

TEST_F(TunedCacheFile, IsRefusedIfOthersMayHaveWrittenIt) {
    cache_.save(some_table(), here, today);
    fs::permissions(file(), fs::perms::group_write, fs::perm_options::add);
    EXPECT_THAT(refusal(), HasSubstr("other users may write it"));
    fs::permissions(file(), fs::perms::group_write, fs::perm_options::remove);
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(file().c_str(), 12345, 12345), 0);
        EXPECT_THAT(refusal(), HasSubstr("belongs to user 12345"));
    }
    fs::rename(file(), folder_ / "elsewhere");
    fs::create_symlink(folder_ / "elsewhere", file());
    EXPECT_THAT(refusal(), HasSubstr("symbolic link"));
    fs::remove(file());
    ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
    EXPECT_THAT(refusal(), HasSubstr("no regular file"));
    fs::remove(file());
    write(std::string(detail::TunedCache::most_bytes + 1, 'x'));
    EXPECT_THAT(refusal(), HasSubstr("bytes (at most"));
}

TEST_F(TunedCacheFile, IsRefusedIfItIsDamaged) {
    cache_.save(some_table(), here, today);
    std::string const whole = contents();
    for (std::string const& damaged :
         {std::string(), std::string("\n"), whole.substr(0, whole.size() / 2), whole + "x",
          "sinew-tuned 2" + whole.substr(13)}) {
        write(damaged);
        EXPECT_THAT(refusal(), HasSubstr("is not used")) << damaged;
    }
    cache_.save(some_table(), here, today);
    EXPECT_EQ(cache_.load(here, today), some_table());
}

// Property: the parser accepts only what text() writes, whatever the file contains.
TEST(TunedCacheText, IsAcceptedOnlyAsItWasWritten) {
    std::string const whole = Contents{here, 1234567, some_table()}.text();
    EXPECT_EQ(Contents::parse(whole).text(), whole);
    std::minstd_rand random(1);
    int accepted = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string words = whole;
        for (unsigned edits = 1 + random() % 3; edits > 0; --edits) {
            std::size_t const at = random() % (words.size() + 1);
            switch (random() % 4) {
                case 0:
                    words.insert(at, 1, static_cast<char>(random()));
                    break;
                case 1:
                    words.erase(at, random() % 4);
                    break;
                case 2:
                    if (at < words.size())
                        words[at] = static_cast<char>("0123456789 \n-"[random() % 13]);
                    break;
                default:
                    words.insert(at, whole.substr(random() % whole.size(), random() % 40));
            }
        }
        // As if its author knew the check sum.
        if (random() % 2 == 0) {
            std::size_t const end = words.rfind("\ncheck ");
            if (end != words.npos) {
                std::uint64_t hash = 0xcbf29ce484222325u;
                for (char const c : words.substr(0, end + 1))
                    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
                words = text(words.substr(0, end + 1), "check ", hash, '\n');
            }
        }
        try {
            ASSERT_EQ(Contents::parse(words).text(), words);
            ++accepted;
        } catch (UsageError const&) {}
    }
    EXPECT_GT(accepted, 0);
}

TEST(TuneMode, IsOneOfThree) {
    EXPECT_EQ(detail::tune_mode("off"), TuneMode::off);
    EXPECT_EQ(detail::tune_mode("cache"), TuneMode::cache);
    EXPECT_EQ(detail::tune_mode("online"), TuneMode::online);
    EXPECT_EQ(thrown_by<UsageError>([] { (void)detail::tune_mode("on"); }),
              "SINEW_TUNE=on (must be off, cache or online)");
}

/// Settings without a model of this machine.
detail::CommonSettings settings_with(TuneMode tune) {
    return {.deadlines = {long_time, long_time},
            .check = false,
            .calibrate = false,
            .forced_algorithms = "",
            .tune = tune};
}

constexpr Collective collectives_of_job[] = {Collective::allreduce, Collective::allgather,
                                             Collective::broadcast,
                                             Collective::reduce_scatter_block};
constexpr std::size_t sizes_of_job[] = {8, 30000};

std::vector<float> sums_of_calls(Communicator& comm) {
    std::vector<float> all;
    auto const ranks = static_cast<std::size_t>(comm.size());
    for (std::size_t const bytes : sizes_of_job)
        for (int call = 0; call < 20; ++call) {
            std::size_t const count = bytes / sizeof(float);
            std::minstd_rand random(static_cast<unsigned>(comm.rank() + 31 * call) + 1);
            std::uniform_real_distribution<float> any(-1e6F, 1e6F);
            std::vector<float> in(count), out(count), blocks(count * ranks), one(count);
            for (float& value : in) value = any(random);
            if (call % 2 == 0) comm.allreduce(in, out, sum);
            else comm.iallreduce(in, out, sum).wait();
            comm.allgather(out, blocks);
            comm.reduce_scatter_block(blocks, one, sum);
            std::vector<float> from_root = out;
            if (comm.rank() != call % comm.size())
                std::fill(from_root.begin(), from_root.end(), 0.F);
            comm.broadcast(from_root, call % comm.size());
            EXPECT_EQ(std::memcmp(from_root.data(), out.data(), bytes), 0);
            for (std::size_t r = 0; r < ranks; ++r)
                EXPECT_EQ(std::memcmp(blocks.data() + r * count, out.data(), bytes), 0);
            all.insert(all.end(), out.begin(), out.end());
            all.insert(all.end(), one.begin(), one.end());
        }
    return all;
}

/// What one rank sees in a job.
struct Seen {
    std::vector<float> sums;
    std::string algorithms;  ///< after the calls
    std::string explained;
};

std::vector<Seen> job(std::vector<int> const& node_of, std::function<TuneMode(int)> const& mode) {
    std::vector<Seen> seen(node_of.size());
    testing_support::run_socket_ranks(
        node_of,
        [&](Communicator& comm) {
            Seen& mine = seen[static_cast<std::size_t>(comm.rank())];
            mine.sums = sums_of_calls(comm);
            for (Collective const collective : collectives_of_job) {
                for (std::size_t const bytes : sizes_of_job)
                    mine.algorithms += text(comm.algorithm_for(collective, bytes), ' ');
                mine.explained += comm.explain(collective);
            }
        },
        [&](int rank) { return settings_with(mode(rank)); });
    return seen;
}

class TunedJobs : public TunedCacheFile {
protected:
    std::vector<fs::path> files() const {
        std::vector<fs::path> found;
        if (fs::exists(folder_ / "sinew"))
            for (auto const& entry : fs::directory_iterator(folder_ / "sinew"))
                if (entry.path().filename().string().starts_with("tuned-"))
                    found.push_back(entry.path());
        return found;
    }
};

TEST_F(TunedJobs, ChooseAlikeOnAllRanksAndNeverChangeBits) {
    for (std::vector<int> const& node_of : {std::vector{0, 1, 2}, {0, 0, 1, 1, 1}}) {
        auto const plain = job(node_of, [](int) { return TuneMode::off; });
        EXPECT_TRUE(files().empty());
        auto const online = job(node_of, [](int) { return TuneMode::online; });
        ASSERT_EQ(files().size(), 1U);
        EXPECT_EQ(fs::status(files().front()).permissions(),
                  fs::perms::owner_read | fs::perms::owner_write);
        auto const cached = job(node_of, [](int) { return TuneMode::cache; });
        for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
            EXPECT_EQ(plain[rank].explained.find("SINEW_TUNE"), std::string::npos);
            EXPECT_THAT(online[rank].explained, HasSubstr(" is used;"));
            EXPECT_THAT(cached[rank].explained, HasSubstr("measured by an earlier job"));
            for (auto const* const other : {&online, &cached}) {
                EXPECT_EQ((*other)[rank].algorithms, online[0].algorithms);
                ASSERT_EQ((*other)[rank].sums.size(), plain[rank].sums.size());
                EXPECT_EQ(std::memcmp((*other)[rank].sums.data(), plain[rank].sums.data(),
                                      plain[rank].sums.size() * sizeof(float)),
                          0);
            }
        }
        // A file that is damaged changes nothing, and is replaced.
        std::ofstream(files().front()) << "nonsense";
        testing::internal::CaptureStderr();
        auto const refused = job(node_of, [](int) { return TuneMode::cache; });
        EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("is not used"));
        EXPECT_EQ(refused[0].algorithms, plain[0].algorithms);
        fs::remove_all(folder_ / "sinew");
    }
}

TEST_F(TunedJobs, MeasureInPartsOfTheirRanksToo) {
    testing_support::run_socket_ranks(
        {0, 1, 2, 3},
        [](Communicator& comm) {
            sums_of_calls(comm);
            EXPECT_THAT(comm.explain(Collective::allgather), HasSubstr(" is used;"));
            Communicator part = comm.split(comm.rank() % 2);
            sums_of_calls(part);
            EXPECT_THAT(part.explain(Collective::broadcast),
                        testing::Not(HasSubstr("earlier job")));
        },
        [](int) { return settings_with(TuneMode::online); });
}

}  // namespace
}  // namespace sinew::tests
