// SPDX-License-Identifier: Apache-2.0
#include "tests/manager/support/guest.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>

#include "src/base/text.hpp"
#include "src/process/child/child_environment.hpp"
#include "tests/manager/support/counter.hpp"
#include "tests/support/alternative_main.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;

void say(std::string const& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

// Calls an object of the manager and one that it makes.
int call_there(Manager& manager) {
    auto const theirs = manager.lookup<Counter>("counter");
    auto const own = manager.create<Counter>(100);
    own.call<&Counter::add>(theirs.call<&Counter::add>(5));
    say(text(own.call<&Counter::value>(), ' ', theirs.call<&Counter::pid>() == ::getpid()));
    return 0;
}

// Holds an object until this process or the manager is killed.
int hold(Manager& manager, std::string const& file) {
    auto const counter = manager.create<Counter>();
    counter.oneway<&Counter::note_end>(file);
    counter.call<&Counter::add>(1);
    auto const slow = manager.create<Counter>();
    auto const reply = slow.async<&Counter::slowly>(600'000);
    say("held");
    try {
        reply.get();
    } catch (ObjectLost const& error) {
        say(text("lost, maybe executed: ", error.maybe_executed(), ", ", error.what()));
        return 0;
    }
    return 1;
}

int use(Object<Counter> const& counter) { return counter.call<&Counter::add>(1); }

// A child of the guest is not connected to the manager.
int pass_on(Manager& manager) {
    auto const counter = manager.create<Counter>();
    Process process(task<use>, counter);
    process.start();
    process.join();
    say(text("exit ", process.exitcode().value_or(-1)));
    return 0;
}

// Its arguments: flag, role, address, key file.
int be_guest(int argc, char** argv) try {
    std::vector<std::string> const words(argv + 2, argv + argc);
    auto const& role = words.at(0);
    auto manager = Manager::connect(words.at(1), AuthKey::from_file(words.at(2)));
    if (role == "call") return call_there(manager);
    if (role == "pass on") return pass_on(manager);
    return hold(manager, role);
} catch (Error const& error) {
    say(text("error: ", error.what()));
    return 2;
}

AlternativeMain const guest_main("--be-guest", be_guest);

}  // namespace

Guest::Guest(std::string const& role, std::string const& address, AuthKey const& key) {
    static int count = 0;
    key_file_ =
        std::filesystem::temp_directory_path() / text("sinew-guest-key-", ::getpid(), "-", ++count);
    std::filesystem::remove(key_file_);
    key.save(key_file_);
    auto [read_end, write_end] = make_pipe();
    process_ = spawn({.path = "/proc/self/exe",
                      .argv = {"guest", "--be-guest", role, address, key_file_},
                      .env = process::child_environment({}),
                      .folder = {},
                      .cpus = {},
                      .out = write_end.get(),
                      .keep = {},
                      .only_kept = true});
    EXPECT_EQ(process_.error, 0) << process_.step;
    lines_ = ::fdopen(::dup(read_end.get()), "r");
}

Guest::~Guest() {
    kill(SIGKILL);
    wait();
    std::fclose(lines_);
    std::filesystem::remove(key_file_);
}

std::string Guest::line() {
    std::string words;
    pollfd waiting{::fileno(lines_), POLLIN, 0};
    if (::poll(&waiting, 1, 60'000) != 1) return "nothing within a minute";
    for (int message = std::fgetc(lines_); message != EOF && message != '\n';
         message = std::fgetc(lines_))
        words += static_cast<char>(message);
    return words;
}

void Guest::kill(int signal) {
    if (!reaped_) ::kill(process_.pid, signal);
}

int Guest::wait() {
    if (reaped_) return 0;
    pollfd waiting{process_.ended.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 60'000) != 1) return -1000;
    int status = 0;
    reaped_ = reap(process_.pid, status);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace sinew::testing_support
