// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctime>

#include <sinew/pipe.hpp>
#include <sinew/queue.hpp>
#include <string>
#include <thread>
#include <vector>

#include "src/process/pipe/fd.hpp"
#include "src/process/pipe/registry.hpp"
#include "src/wire/socket/sockets.hpp"
#include "tests/process/queue/queue_support.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using process::ChildStart;
using process::test::start;
using Bytes = std::vector<char>;

template <class... Values>
std::tuple<Values...> values(ChildStart const& start) {
    Reader reader(start.message);
    return std::tuple<Values...>{decode<Values>(reader)...};
}

/// Sends back what it receives until the pipe ends.
int echo(ChildStart& start) {
    auto [end] = values<PipeEnd<Bytes>>(start);
    try {
        for (;;) end.send(end.recv());
    } catch (PipeClosed const&) {
        return 0;
    }
}

int echo_relayed(ChildStart& start) {
    auto const [handle] = values<process::PipeHandle>(start);
    PipeEnd<Bytes> end(process::open_pipe(handle, process::PipeRegistry::Route::relayed));
    try {
        for (;;) end.send(end.recv());
    } catch (PipeClosed const&) {
        return 0;
    }
}

int send_some(ChildStart& start) {
    auto [end, count] = values<PipeEnd<int>, int>(start);
    for (int i = 0; i < count; ++i) end.send(i);
    return 0;
}

int send_and_stay(ChildStart& start) {
    auto [end] = values<PipeEnd<int>>(start);
    end.send(1);
    std::this_thread::sleep_for(10min);
    return 0;
}

int pass_on(ChildStart& start) {
    auto [ends, next] = values<Queue<PipeEnd<Bytes>>, Queue<PipeEnd<Bytes>>>(start);
    auto end = ends.get();
    if (end.recv() != Bytes{'1'}) return 1;
    next.put(end);
    while (next.size() > 0) std::this_thread::sleep_for(1ms);  // kept here until it is fetched
    std::this_thread::sleep_for(200ms);
    return 0;
}

bool const pipe_roles_added = [] {
    for (process::ChildRole const role : {process::ChildRole{"echo by pipe", echo},
                                          {"echo relayed", echo_relayed},
                                          {"send", send_some},
                                          {"send and stay", send_and_stay},
                                          {"pass a pipe on", pass_on}})
        process::add_role(role);
    return true;
}();

bool readable(int fd, int milliseconds) {
    pollfd one{fd, POLLIN, 0};
    return ::poll(&one, 1, milliseconds) == 1;
}

TEST(Pipe, carries_values_both_ways) {
    auto [left, right] = pipe<std::string>();
    left.send("there");
    right.send("back");
    EXPECT_EQ(right.recv(), "there");
    EXPECT_EQ(left.recv(), "back");
    EXPECT_EQ(left.recv_for(5ms), std::nullopt);
}

TEST(Pipe, of_one_way_has_two_kinds_of_ends) {
    auto [reader, writer] = one_way_pipe<int>();
    writer.send(1);
    EXPECT_EQ(reader.recv(), 1);
    EXPECT_THROW(reader.send(1), UsageError);
    EXPECT_THROW(writer.recv(), UsageError);
}

TEST(Pipe, carries_bytes) {
    auto [left, right] = pipe<int>();
    left.send_bytes(std::as_bytes(std::span("abc", 3)));
    left.send_bytes({});
    EXPECT_EQ(right.recv_bytes(), (std::vector{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}}));
    EXPECT_EQ(right.recv_bytes(), std::vector<std::byte>());
}

TEST(Pipe, is_readable_as_long_as_there_is_a_message) {
    auto [left, right] = pipe<int>();
    EXPECT_FALSE(right.poll());
    EXPECT_FALSE(right.poll(5ms));
    EXPECT_FALSE(readable(right.fileno(), 0));
    left.send(1);
    left.send(2);
    for (int i = 1; i <= 2; ++i) {
        EXPECT_TRUE(right.poll());
        EXPECT_TRUE(readable(right.fileno(), 0));
        EXPECT_EQ(right.recv(), i);
    }
    EXPECT_FALSE(readable(right.fileno(), 0));
    left.close();
    EXPECT_TRUE(right.poll());
}

TEST(Pipe, gives_what_was_sent_and_then_ends) {
    auto [left, right] = pipe<int>();
    left.send(1);
    right.send(2);  // never read
    left.close();
    EXPECT_EQ(right.recv(), 1);
    EXPECT_THROW(right.recv(), PipeClosed);
    EXPECT_THROW(right.recv_for(1min), PipeClosed);
    EXPECT_THROW(right.send(1), PipeClosed);
    EXPECT_THROW(left.recv(), PipeClosed);
    left.close();
}

TEST(Pipe, closed_here_wakes_who_receives) {
    auto ends = pipe<int>();
    auto& left = ends.first;
    std::thread reader([&] { EXPECT_THROW(left.recv(), PipeClosed); });
    std::this_thread::sleep_for(5ms);
    left.close();
    reader.join();
}

TEST(Pipe, end_is_in_one_place_at_a_time) {
    auto [left, right] = pipe<int>();
    left.send(1);
    Writer writer;
    encode(writer, right);
    left.send(2);
    EXPECT_THROW(right.recv(), UsageError);
    Reader reader(writer.bytes());
    auto moved = decode<PipeEnd<int>>(reader);
    EXPECT_EQ(moved.recv(), 1);
    EXPECT_EQ(moved.recv(), 2);
    Reader again(writer.bytes());
    EXPECT_THROW(decode<PipeEnd<int>>(again), PeerLost);
}

TEST(Pipe, end_travels_with_half_a_message) {
    auto [left, right] = pipe<int>();
    auto const write = [fd = left.fileno()](void const* bytes, std::size_t size) {
        ASSERT_EQ(::write(fd, bytes, size), static_cast<ssize_t>(size));
    };
    std::uint64_t const length = 6;
    write(&length, sizeof length);
    write("half", 4);
    EXPECT_EQ(right.recv_for(5ms), std::nullopt);
    Writer writer;
    encode(writer, right);
    write("en", 2);
    Reader reader(writer.bytes());
    auto moved = decode<PipeEnd<int>>(reader);
    auto const message = moved.recv_bytes();
    EXPECT_EQ(process::test::string(message), "halfen");
}

/// Limits open files to the current number plus a given one.
class FileLimit {
public:
    explicit FileLimit(rlim_t more) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        int const next = ::dup(0);
        ::close(next);
        rlimit const less{static_cast<rlim_t>(next) + more, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &less), 0);
    }
    FileLimit(FileLimit const&) = delete;
    ~FileLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

TEST(Pipe, ends_that_nobody_decodes_leave_others_their_descriptors) {
    std::vector<PipeEnd<int>> here;
    std::vector<Writer> sent;
    {
        FileLimit const limit(200);
        try {
            for (int i = 0; i < 190; ++i) {
                auto [left, right] = pipe<int>();
                if (i < 20) here.push_back(std::move(left));
                sent.emplace_back();
                encode(sent.back(), right);
            }
            ADD_FAILURE() << "as many as there are";
        } catch (SystemError const& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("have not been decoded"));
            sent.pop_back();
        }
        ASSERT_GE(sent.size(), 50u);
        auto [left, right] = pipe<int>();
        left.send(1);
        EXPECT_EQ(right.recv(), 1);
    }
    for (std::size_t i = 0; i < sent.size(); ++i) {
        Reader reader(sent[i].bytes());
        auto end = decode<PipeEnd<int>>(reader);
        if (i >= here.size()) continue;
        end.send(static_cast<int>(i));
        EXPECT_EQ(here[i].recv(), static_cast<int>(i));
    }
    auto [left, right] = pipe<int>();
    Writer again;
    encode(again, right);  // there is room again
}

TEST(Pipe, desk_rests_while_there_are_no_descriptors) {
    auto ends = process::connected_sockets();
    auto const handle = process::PipeRegistry::instance().keep(std::move(ends.second));
    UniqueFd const visitor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto const used = [] {
        timespec now{};
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
    };
    {
        FileLimit const limit(0);
        auto const where = wire::unix_address(handle.server);
        ASSERT_EQ(::connect(visitor.get(), where.get(), where.length), 0);
        auto const before = used();
        std::this_thread::sleep_for(2s);
        EXPECT_LT(used() - before, 300ms) << "of processor time";
    }
    ASSERT_EQ(::send(visitor.get(), handle.token.data(), sizeof handle.token, MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof handle.token));
    EXPECT_TRUE(process::receive_fd(visitor.get())) << "it is served all the same";
}

TEST(Pipe, reaches_a_process_and_ends_with_it) {
    auto [left, right] = pipe<int>();
    auto const child = start("send", right, 1000);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(left.recv(), i);
    EXPECT_THROW(left.recv(), PipeClosed);
    process::test::expect_success(*child);
}

TEST(Pipe, ends_when_the_other_process_is_killed) {
    auto [left, right] = pipe<int>();
    auto const child = start("send and stay", right);
    EXPECT_EQ(left.recv(), 1);
    child->signal(SIGKILL);
    EXPECT_THROW(left.recv(), PipeClosed);
    EXPECT_THROW(left.send(1), PipeClosed);
    child->wait_for_end();
}

TEST(Pipe, joins_two_other_processes) {
    auto [left, right] = pipe<Bytes>();
    Queue<PipeEnd<Bytes>> ends, passed;
    auto const child = start("pass a pipe on", ends, passed);
    left.send({'1'});
    left.send({'2'});
    ends.put(right);
    auto back = passed.get();
    EXPECT_EQ(back.recv(), Bytes{'2'});
    auto const other = start("echo by pipe", left);
    back.send({'3'});
    EXPECT_EQ(back.recv(), Bytes{'3'});
    back.close();
    process::test::expect_success(*other);
    process::test::expect_success(*child);
}

struct Case {
    char const* role;
    std::size_t size;
};

class PipeSizes : public testing::TestWithParam<Case> {};

TEST_P(PipeSizes, do_not_matter) {
    auto [left, right] = pipe<Bytes>();
    std::unique_ptr<process::test::Heard> child;
    if (GetParam().role == std::string("echo by pipe")) {
        child = start("echo by pipe", right);
    } else {
        Writer writer;
        encode(writer, right);
        Reader reader(writer.bytes());
        child = start("echo relayed", decode<process::PipeHandle>(reader));
    }
    Bytes item(GetParam().size);
    for (std::size_t i = 0; i < item.size(); i += 61) item[i] = static_cast<char>(i * 7);
    left.send(item);
    EXPECT_TRUE(left.recv() == item);
    left.send({'s'});
    EXPECT_EQ(left.recv(), Bytes{'s'});
    left.close();
    process::test::expect_success(*child);
}

constexpr std::size_t sizes[] = {0, 1, 4096, 65536, 1 << 20, 30'000'000};
std::vector<Case> cases(char const* role) {
    std::vector<Case> all;
    for (auto const size : sizes) all.push_back({role, size});
    return all;
}
INSTANTIATE_TEST_SUITE_P(Direct, PipeSizes, testing::ValuesIn(cases("echo by pipe")));
INSTANTIATE_TEST_SUITE_P(Relayed, PipeSizes, testing::ValuesIn(cases("echo relayed")));

TEST(Pipe, relayed_ends_when_the_process_is_killed) {
    auto [left, right] = pipe<Bytes>();
    Writer writer;
    encode(writer, right);
    Reader reader(writer.bytes());
    auto const child = start("echo relayed", decode<process::PipeHandle>(reader));
    left.send({'1'});
    EXPECT_EQ(left.recv(), Bytes{'1'});
    child->signal(SIGKILL);
    EXPECT_THROW(left.recv(), PipeClosed);
    child->wait_for_end();
}

}  // namespace
}  // namespace sinew
