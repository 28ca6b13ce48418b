// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <sinew/error.hpp>
#include <vector>

#include "src/base/text.hpp"
#include "src/wire/frame.hpp"
#include "src/wire/link_handshake.hpp"
#include "src/wire/socket/sockets.hpp"
#include "tests/wire/stubborn_listener.hpp"
#include "tests/wire/support.hpp"

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;
using test::bytes;
using test::Door;
using test::run_until;
using testing::HasSubstr;

constexpr auto unix_socket = Address::Family::unix_socket;
constexpr auto tcp = Address::Family::tcp;

/// Everything until the other end closes or resets the connection.
std::string read_all(int fd) {
    std::string all;
    char buffer[4096];
    for (;;) {
        ssize_t const got = ::read(fd, buffer, sizeof buffer);
        if (got <= 0) return all;
        all.append(buffer, static_cast<std::size_t>(got));
    }
}

class ListenerTest : public testing::TestWithParam<Address::Family> {};

// G16 (Fiber)
TEST_P(ListenerTest, TellsADiallerThatItsSecretIsWrong) {
    Door door(GetParam());
    auto const error = door.dial_with(Secret::random());
    EXPECT_THAT(error, HasSubstr(door.listener->address().text() +
                                 ": the other end does not know this job's secret"));
    EXPECT_TRUE(run_until(door.loop, [&] { return door.listener->refused() == 1; }));
    EXPECT_EQ(door.end.link, nullptr);
    EXPECT_EQ(door.dial_with(door.secret), "");  // accepts the right secret
}

TEST_P(ListenerTest, ClosesOnGarbage) {
    Door door(GetParam());
    for (std::string const& garbage :
         {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(100'000, '\xff'),
          std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(600, '\0'),
          std::string("\xff\xff\xff\x7f\xf0\x00\x00\x00 a long frame", 21)}) {
        UniqueFd const stranger = door.knock();
        auto const before = door.listener->refused();
        ::fcntl(stranger.get(), F_SETFL, O_NONBLOCK);
        (void)!::send(stranger.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
        EXPECT_TRUE(run_until(door.loop, [&] { return door.listener->refused() > before; }));
        ::fcntl(stranger.get(), F_SETFL, 0);
        EXPECT_LT(read_all(stranger.get()).size(), 200u);  // a TLS alert at most
    }
    EXPECT_EQ(door.dial_with(door.secret), "");
}

TEST_P(ListenerTest, ClosesOnSilence) {
    Listener::Options options;
    options.link.handshake = 100ms;
    Door door(GetParam(), options);
    UniqueFd const stranger = door.knock();
    EXPECT_TRUE(run_until(door.loop, [&] { return door.listener->refused() == 1; }));
    EXPECT_EQ(read_all(stranger.get()), "");
}

TEST_P(ListenerTest, TellsWhoWasRefusedAndWhy) {
    std::vector<std::string> told;
    Listener::Options options;
    options.link.handshake = 100ms;
    options.refused = [&](std::string const& peer, std::string const& why) {
        told.push_back(text(peer, ": ", why));
    };
    Door door(GetParam(), options);
    EXPECT_NE(door.dial_with(Secret::random()), "");
    UniqueFd const silent = door.knock();
    EXPECT_TRUE(run_until(door.loop, [&] { return told.size() == 2; }));
    EXPECT_EQ(door.dial_with(door.secret), "");
    ASSERT_EQ(told.size(), 2u);
    for (auto const& each : told)
        EXPECT_THAT(each, testing::StartsWith(GetParam() == tcp ? "127.0.0.1: " : ": "));
    EXPECT_NE(told[0], told[1]);
}

TEST_P(ListenerTest, LetsItsOwnInPastAThousandIdleConnections) {
    Door door(GetParam());
    int const before = test::open_descriptors();
    int ready[2];
    ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    testing_support::Child idle([&] {
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        std::vector<UniqueFd> many;
        for (int i = 0; i < 1000; ++i) {
            many.push_back(door.knock());
            if (i == 300) (void)!::write(ready[1], "x", 1);  // more than are accepted
        }
        ::pause();
        return 0;
    });
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    int most = 0;
    auto const count =
        door.loop.every(10ms, [&] { most = std::max(most, test::open_descriptors()); });
    EXPECT_EQ(door.dial_with(door.secret), "");
    test::run_for(door.loop, 200ms);
    EXPECT_LE(most, before + 64 + 10);
    ::close(ready[0]);
    ::close(ready[1]);
}

// One byte is enough not to count as silent.
TEST_P(ListenerTest, LetsItsOwnInPastThoseWhoSayAByteOnly) {
    Listener::Options options;
    options.link.handshake = 10min;
    Door door(GetParam(), options);
    std::vector<UniqueFd> many;
    for (std::size_t i = 0; i < options.max_unauthenticated; ++i) {
        many.push_back(door.knock());
        // A byte that begins a hello, or a TLS record.
        char const byte = GetParam() == tcp ? '\x16' : '\x10';
        ASSERT_EQ(::send(many.back().get(), &byte, 1, MSG_NOSIGNAL), 1);
    }
    EXPECT_EQ(door.dial_with(door.secret, 60s), "");
    EXPECT_GE(door.listener->refused(), 1u);
}

TEST_P(ListenerTest, RefusesWhoTakesNoFramesOfUse) {
    Door door(GetParam());
    for (std::size_t const limit : {0, 1, 100, 65'535}) {
        LinkOptions options;
        options.max_frame = limit;
        std::string error;
        auto const handle =
            dial(door.loop, door.listener->address(), {door.secret, {1, 0, 0, "tiny"}}, options,
                 30s, [&](Dialled outcome) { error = outcome.error; });
        ASSERT_TRUE(run_until(door.loop, [&] { return !error.empty(); }));
        EXPECT_THAT(error, HasSubstr(text("takes frames of at most ", limit, " bytes")));
    }
    EXPECT_EQ(door.end.link, nullptr);
}

// The dialled process may have ended, and another process with the same secret may have its port.
TEST_P(ListenerTest, IsNotTakenForAnother) {
    test::PrivateFolder folder;
    Loop loop;
    std::vector<std::unique_ptr<Link>> links;
    auto const secret = Secret::random();
    auto const self = [](char const* name, std::uint64_t origin) {
        Identity identity;
        identity.name = name;
        identity.origin = origin;
        return identity;
    };
    Listener const listener(loop, test::address_of(GetParam(), folder), {secret, self("here", 7)},
                            {},
                            [&](std::unique_ptr<Link> link) { links.push_back(std::move(link)); });
    auto const try_as = [&](std::uint64_t origin, std::uint64_t expected) {
        std::unique_ptr<Dialled> result;
        auto const handle =
            dial(loop, listener.address(), {secret, self("there", origin), expected}, {}, 30s,
                 [&](Dialled outcome) { result = std::make_unique<Dialled>(std::move(outcome)); });
        if (!run_until(loop, [&] { return result != nullptr; })) return std::string("nothing");
        if (result->link) {
            EXPECT_EQ(result->link->peer().origin, 7u);
        }
        return result->error;
    };
    EXPECT_EQ(try_as(8, 7), "");
    EXPECT_EQ(try_as(8, 0), "");
    EXPECT_THAT(try_as(8, 9), HasSubstr("another process answers there (here)"));
    EXPECT_THAT(try_as(7, 0), HasSubstr("this process itself"));  // its own bytes, sent back
}

TEST_P(ListenerTest, RestsWhenThereAreNoDescriptors) {
    Door door(GetParam());
    std::vector<UniqueFd> strangers;
    for (int i = 0; i < 3; ++i) strangers.push_back(door.knock());
    rlimit former{};
    ::getrlimit(RLIMIT_NOFILE, &former);
    rlimit none = former;
    none.rlim_cur = static_cast<rlim_t>(test::open_descriptors());  // all in use
    while (true) {
        int const fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd < 0) break;
        bool const last = static_cast<rlim_t>(fd) + 1 >= none.rlim_cur;
        strangers.emplace_back(fd);
        if (last) break;
    }
    ::setrlimit(RLIMIT_NOFILE, &none);
    auto const clock_before = ::clock();
    test::run_for(door.loop, 500ms);
    auto const busy = ::clock() - clock_before;
    ::setrlimit(RLIMIT_NOFILE, &former);
    EXPECT_GT(door.listener->refused(), 0u);
    EXPECT_LT(busy, CLOCKS_PER_SEC / 4);  // it does not retry in a busy loop
    EXPECT_EQ(door.dial_with(door.secret), "");
}

TEST_P(ListenerTest, MayBeDestroyedWhenItHasAccepted) {
    test::PrivateFolder folder;
    Loop loop;
    Secret const secret = Secret::random();
    std::unique_ptr<Link> accepted, dialled;
    std::unique_ptr<Listener> listener;
    listener = std::make_unique<Listener>(loop, test::address_of(GetParam(), folder),
                                          Credentials{secret, {}}, Listener::Options{},
                                          [&](std::unique_ptr<Link> link) {
                                              accepted = std::move(link);
                                              listener.reset();
                                          });
    auto const handle = dial(loop, listener->address(), {secret, {}}, {}, 30s,
                             [&](Dialled result) { dialled = std::move(result.link); });
    EXPECT_TRUE(run_until(loop, [&] { return accepted && dialled; }));
}

INSTANTIATE_TEST_SUITE_P(Over, ListenerTest, testing::Values(unix_socket, tcp),
                         [](auto const& each) { return each.param == tcp ? "tcp" : "unix"; });

TEST(UnixListener, WantsAFolderOfItsOwn) {
    test::PrivateFolder folder;
    Loop loop;
    ::chmod(folder.path().c_str(), 0750);
    try {
        Listener const listener(loop, folder.socket(), {Secret::random(), {}}, {}, {});
        ADD_FAILURE();
    } catch (UsageError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("mode 750 (must be 700)"));
    }
    if (::geteuid() != 0) return;
    ::chmod(folder.path().c_str(), 0700);
    ASSERT_EQ(::chown(folder.path().c_str(), 12345, 12345), 0);
    EXPECT_THROW(Listener(loop, folder.socket(), {Secret::random(), {}}, {}, {}), UsageError);
}

TEST(UnixListener, RemovesItsFileAndReplacesOneThatIsAbandoned) {
    test::PrivateFolder folder;
    Loop loop;
    auto const path = folder.socket().host;
    { UniqueFd const abandoned = listening_socket(folder.socket()); }
    ASSERT_TRUE(std::filesystem::exists(path));
    {
        Listener const listener(loop, folder.socket(), {Secret::random(), {}}, {}, {});
        EXPECT_THROW(Listener(loop, folder.socket(), {Secret::random(), {}}, {}, {}), SystemError);
        EXPECT_TRUE(std::filesystem::exists(path));  // that of the first listener
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UnixListener, NamesAPathThatIsTooLong) {
    Loop loop;
    auto const address = Address::unix_socket("/tmp/" + std::string(120, 'x'));
    EXPECT_THROW(Listener(loop, address, {Secret::random(), {}}, {}, {}), UsageError);
}

TEST(UnixListener, TellsAnotherVersionSo) {
    Door door(unix_socket);
    UniqueFd const stranger = door.knock();
    Hello hello{3, Hello::mark_of(door.secret), {}, 0};
    auto const text = hello.encode();
    auto const header = encode({static_cast<std::uint32_t>(text.size()), frame_kind::hello, 0, 0});
    ASSERT_EQ(::write(stranger.get(), header.data(), header.size()), 8);
    ASSERT_EQ(::write(stranger.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_TRUE(run_until(door.loop, [&] { return door.listener->refused() == 1; }));
    EXPECT_THAT(read_all(stranger.get()), HasSubstr("versions of the protocol differ (3 and 2)"));
}

TEST(TcpListener, NamesAnAddressThatIsTaken) {
    Door door(tcp);
    try {
        Listener const second(door.loop, door.listener->address(), {Secret::random(), {}}, {}, {});
        ADD_FAILURE();
    } catch (SystemError const& error) {
        EXPECT_THAT(error.what(), HasSubstr(door.listener->address().text()));
    }
}

}  // namespace
}  // namespace sinew::wire
