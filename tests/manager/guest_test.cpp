// SPDX-License-Identifier: Apache-2.0
// Managers that processes of another session connect to.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>

#include "src/base/text.hpp"
#include "tests/manager/support/counter.hpp"
#include "tests/manager/support/guest.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Over TCP, and over a Unix socket.
class Guests : public testing::TestWithParam<char const*> {
protected:
    static Manager host() { return Manager({.listen = GetParam(), .grace = 100ms}); }
    LeakCheck leaks;
};

TEST_P(Guests, CallAndMakeObjects) {
    auto manager = host();
    auto counter = manager.create<Counter>(1);
    counter.publish("counter");
    Guest guest("call", manager.address(), manager.authkey());
    EXPECT_EQ(guest.line(), "106 0");
    EXPECT_EQ(guest.wait(), 0);
    EXPECT_EQ(counter.call<&Counter::value>(), 6);
}

TEST_P(Guests, MustKnowTheKey) {
    auto manager = host();
    Guest guest("call", manager.address(), AuthKey::random());
    EXPECT_THAT(guest.line(),
                AllOf(HasSubstr(manager.address()), HasSubstr("does not know this job's secret"),
                      HasSubstr("authkey()")));
    EXPECT_EQ(guest.wait(), 2);
    // A right key does not admit a wrong one from the same process.
    auto const right = Manager::connect(manager.address(), manager.authkey());
    EXPECT_THROW(Manager::connect(manager.address(), AuthKey::random()), ConnectFailed);
    EXPECT_EQ(manager.create<Counter>().call<&Counter::add>(1), 1);
}

TEST_P(Guests, HearOfItsDeath) {
    auto manager = host();
    auto const file = std::filesystem::temp_directory_path() / text("sinew-guest-", ::getpid());
    Guest guest(file.string(), manager.address(), manager.authkey());
    ASSERT_EQ(guest.line(), "held");
    auto const begin = std::chrono::steady_clock::now();
    ::kill(manager.pid(), SIGKILL);
    EXPECT_THAT(guest.line(),
                AllOf(HasSubstr("lost, maybe executed: 1"), HasSubstr("the manager is gone")));
    RecordProperty("ms", static_cast<int>((std::chrono::steady_clock::now() - begin) / 1ms));
    EXPECT_EQ(guest.wait(), 0);
}

TEST_P(Guests, LetGoOfWhatTheyHeldWhenTheyAreKilled) {
    auto manager = host();
    auto const file = std::filesystem::temp_directory_path() / text("sinew-guest-", ::getpid());
    std::filesystem::remove(file);
    Guest guest(file.string(), manager.address(), manager.authkey());
    ASSERT_EQ(guest.line(), "held");
    auto const begin = std::chrono::steady_clock::now();
    guest.kill(SIGKILL);
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file); }));
    RecordProperty("ms", static_cast<int>((std::chrono::steady_clock::now() - begin) / 1ms));
    EXPECT_EQ(guest.wait(), -SIGKILL);
    std::filesystem::remove(file);
}

TEST_P(Guests, KeepTheirHandlesToThemselves) {
    auto manager = host();
    ::testing::internal::CaptureStderr();
    Guest guest("pass on", manager.address(), manager.authkey());
    EXPECT_EQ(guest.line(), "exit 1");
    EXPECT_EQ(guest.wait(), 0);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr(manager.address()), HasSubstr("Manager::connect")));
}

class Keeper {
public:
    void keep(Object<Counter> const& counter) { kept_ = counter; }
    Object<Counter> kept() const { return *kept_; }

private:
    std::optional<Object<Counter>> kept_;
};

// Handles of the manager's objects can be sent to it and back.
TEST_P(Guests, PassObjectsToTheirManager) {
    auto manager = host();
    auto guest = Manager::connect(manager.address(), manager.authkey());
    auto keeper = guest.create<Keeper>();
    keeper.call<&Keeper::keep>(guest.create<Counter>(7));
    EXPECT_EQ(keeper.call<&Keeper::kept>().call<&Counter::add>(1), 8);
}

TEST_P(Guests, DoNotEndIt) {
    auto manager = host();
    {
        auto guest = Manager::connect(manager.address(), manager.authkey());
        EXPECT_EQ(guest.pid(), 0);
        EXPECT_EQ(guest.address(), manager.address());
        EXPECT_EQ(guest.authkey(), manager.authkey());
        EXPECT_THAT(message_of<UsageError>([&] { guest.shutdown(); }),
                    HasSubstr("only by the process"));
    }
    EXPECT_EQ(manager.create<Counter>().call<&Counter::add>(2), 2);
}

TEST_P(Guests, MayCallAsynchronously) {
    auto manager = host();
    auto guest = AsyncManager::connect(manager.address(), manager.authkey());
    auto const counter = guest.create<Counter>();
    std::vector<Reply<int>> replies;
    for (int i = 0; i < 1000; ++i) replies.push_back(counter.call<&Counter::add>(1));
    EXPECT_EQ(replies.back().get(), 1000);
    auto const large = std::vector<std::uint8_t>(5'000'000, 7);
    EXPECT_EQ(counter.call<&Counter::echo>(large).get(), large);
}

TEST_P(Guests, FindItsKeyNowhere) {
    auto manager = host();
    auto const folder = text("/proc/", manager.pid());
    auto const& key = manager.authkey().bytes();
    for (auto const* const file : {"/cmdline", "/environ"})
        EXPECT_THAT(read_whole(folder + file), Not(HasSubstr(key))) << file;
}

INSTANTIATE_TEST_SUITE_P(By, Guests, testing::Values("127.0.0.1:0", "unix:/"),
                         [](auto const& each) {
                             return std::string(each.param)[0] == 'u' ? "Unix" : "Tcp";
                         });

struct GuestsTest : testing::Test {
    LeakCheck leaks;
};

TEST_F(GuestsTest, AreToldThatNobodyIsThere) {
    std::string address;
    auto key = AuthKey::random();
    {
        Manager manager({.listen = "127.0.0.1:0", .authkey = key});
        EXPECT_EQ(manager.authkey(), key);
        address = manager.address();
    }
    EXPECT_THAT(
        message_of<ConnectFailed>([&] { Manager::connect(address, key, {.timeout = 200ms}); }),
        AllOf(HasSubstr(address), HasSubstr("not reached within 0.2")));
    EXPECT_THROW(Manager::connect("127.0.0.1", key), UsageError);
}

TEST_F(GuestsTest, DoNotWaitForOneThatIsStopped) {
    Manager manager({.listen = "unix:/"});
    ASSERT_TRUE(stop_process(manager.pid()));
    EXPECT_THROW(Manager::connect(manager.address(), manager.authkey(), {.timeout = 300ms}),
                 ConnectFailed);
    ::kill(manager.pid(), SIGCONT);
    auto guest = Manager::connect(manager.address(), manager.authkey());
    EXPECT_EQ(guest.create<Counter>().call<&Counter::add>(1), 1);
}

TEST_F(GuestsTest, NeedAnAddress) {
    Manager manager;
    EXPECT_THAT(message_of<UsageError>([&] { static_cast<void>(manager.address()); }),
                HasSubstr("ManagerOptions::listen"));
    EXPECT_THROW(Manager({.listen = "nonsense"}), UsageError);
    EXPECT_THAT(message_of<StartFailed>([] { Manager({.listen = "192.0.2.1:1"}); }),
                HasSubstr("192.0.2.1"));
}

int prepared = 0;
void prepare(int value) {
    if (value < 0) throw std::invalid_argument("not prepared for that");
    prepared = value;
}
class Prepared {
public:
    int value() const { return prepared; }
};

TEST_F(GuestsTest, ComeAfterTheInitializer) {
    Manager manager({.initializer = initializer<prepare>(7)});
    EXPECT_EQ(manager.create<Prepared>().call<&Prepared::value>(), 7);
    EXPECT_THAT(message_of<StartFailed>([] { Manager({.initializer = initializer<prepare>(-1)}); }),
                AllOf(HasSubstr("exited with code 1"), HasSubstr("not prepared for that")));
}

class KeyFile : public testing::Test {
protected:
    KeyFile() { std::filesystem::remove(path); }
    ~KeyFile() override { std::filesystem::remove(path); }
    std::string const path =
        std::filesystem::temp_directory_path() / text("sinew-key-", ::getpid());
};

TEST_F(KeyFile, GivesBackWhatWasSaved) {
    auto const key = AuthKey::random();
    key.save(path);
    EXPECT_EQ(AuthKey::from_file(path), key);
    EXPECT_NE(AuthKey::random(), key);
    EXPECT_THROW(key.save(path), SystemError);  // the file exists
}

TEST_F(KeyFile, MustBeItsOwnersAlone) {
    AuthKey::of("sixteen bytes at least").save(path);
    std::filesystem::permissions(path, std::filesystem::perms(0640));
    EXPECT_THAT(message_of<UsageError>([&] { AuthKey::from_file(path); }), HasSubstr("0600"));
    EXPECT_THROW(AuthKey::from_file("/dev/null"), UsageError);
    EXPECT_THROW(AuthKey::from_file(path + "-none"), SystemError);
    EXPECT_THROW(AuthKey::of("short"), UsageError);
}

}  // namespace
}  // namespace sinew::testing_support
