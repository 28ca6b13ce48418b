// SPDX-License-Identifier: Apache-2.0
#include "tests/launchers/run/launched.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <random>
#include <sstream>
#include <system_error>
#include <utility>

#include "src/base/text.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using Clock = std::chrono::steady_clock;

std::pair<int, int> pipe_pair() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    return {ends[0], ends[1]};
}

void close_fd(int& fd) {
    if (int const old = std::exchange(fd, -1); old >= 0) ::close(old);
}

std::vector<char*> pointers(Words const& words) {
    std::vector<char*> found;
    for (auto const& word : words) found.push_back(const_cast<char*>(word.c_str()));
    found.push_back(nullptr);
    return found;
}

// This process's environment without the variables that would influence `sinew run`.
Words environment_with(std::map<std::string, std::string> more, std::string const& mark) {
    more.insert_or_assign("SINEW_TEST_MARK", mark);
    Words words;
    for (char** word = ::environ; *word != nullptr; ++word) {
        std::string const name(*word, std::string(*word).find('='));
        if (name.starts_with("SINEW_RUN_") || more.contains(name)) continue;
        words.emplace_back(*word);
    }
    for (auto const& [name, value] : more) words.push_back(name + "=" + value);
    return words;
}

}  // namespace

Launched::Launched(Words const& arguments, Setting setting)
    : setting_(std::move(setting)), mark_(text(::getpid(), "-", std::random_device()())),
      since_(Clock::now()) {
    Words words = setting_.command;
    if (words.empty()) words = {::getenv("SINEW_TEST_COMMAND"), "run"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    start(words);
    if (setting_.out < 0) threads_.emplace_back([this] { read_from(out_, out_text_, true); });
    threads_.emplace_back([this] { read_from(err_, err_text_, false); });
    if (setting_.input == Input::given)
        threads_.emplace_back([this] {
            write_input(setting_.given);
            close_input();
        });
}

void Launched::start(Words const& words) {
    auto const argv = pointers(words);
    auto const environment = environment_with(setting_.env, mark_);
    auto const envp = pointers(environment);
    int in_end = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out_end = setting_.out, err_end = -1;
    if (setting_.input != Input::none) {
        close_fd(in_end);
        std::tie(in_end, in_) = pipe_pair();
    }
    if (out_end < 0) std::tie(out_, out_end) = pipe_pair();
    std::tie(err_, err_end) = pipe_pair();
    pid_ = ::fork();
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) {
        ::setpgid(0, 0);
        ::signal(SIGPIPE, SIG_DFL);
        if (!setting_.all_signals) ::signal(SIGHUP, SIG_IGN);
        if (::dup2(in_end, 0) < 0 || ::dup2(out_end, 1) < 0 || ::dup2(err_end, 2) < 0) ::_exit(99);
        ::execve(argv[0], argv.data(), envp.data());
        ::_exit(98);
    }
    ::setpgid(pid_, pid_);
    close_fd(in_end);
    close_fd(err_end);
    if (out_end != setting_.out) close_fd(out_end);
}

Launched::~Launched() {
    if (pid_ > 0) {
        for (auto const& each : processes_with("SINEW_TEST_MARK", mark_)) ::kill(each.pid, SIGKILL);
        reap(true);
    }
    if (setting_.input != Input::given) close_input();  // else its thread does
    for (auto& thread : threads_) thread.join();
    close_fd(out_);
    close_fd(err_);
}

void Launched::read_from(int fd, std::string& into, bool limited) {
    std::vector<char> buffer(64 * 1024);
    std::size_t total = 0;
    for (;;) {
        ssize_t const count = ::read(fd, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;
        std::string_view const piece(buffer.data(), static_cast<std::size_t>(count));
        if (limited && setting_.read) {
            setting_.read(piece);
        } else {
            std::lock_guard const lock(mutex_);
            into += piece;
        }
        total += piece.size();
        if (limited && setting_.read_per_second > 0)
            std::this_thread::sleep_until(
                since_ +
                std::chrono::duration_cast<Clock::duration>(Seconds(
                    static_cast<double>(total) / static_cast<double>(setting_.read_per_second))));
    }
}

void Launched::signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
}

bool Launched::reap(bool block) {
    if (pid_ <= 0) return true;
    pid_t found = 0;
    while ((found = ::waitpid(pid_, &status_, block ? 0 : WNOHANG)) < 0 && errno == EINTR) {}
    if (found != pid_) return false;
    pid_ = -1;
    return true;
}

bool Launched::ends_within(Seconds limit) {
    return eventually([this] { return reap(false); }, limit);
}

Ended Launched::wait(Seconds limit) {
    bool const in_time = ends_within(limit);
    if (!in_time) {
        auto const left = processes_with("SINEW_TEST_MARK", mark_);
        ADD_FAILURE() << "not ended after " << limit.count() << " s; of its job there are\n"
                      << describe(left) << "stdout: " << out().substr(0, 2000)
                      << "\nstderr: " << err().substr(0, 2000);
        for (auto const& each : left) ::kill(each.pid, SIGKILL);
        ::kill(pid_, SIGKILL);
        reap(true);
    }
    Ended ended{.code = -1, .out = {}, .err = {}, .seconds = Clock::now() - since_};
    // Their other ends are closed when the last process of the job has ended.
    if (setting_.input != Input::given) close_input();  // else its thread does
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    ended.out = out();
    ended.err = err();
    if (in_time) ended.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    return ended;
}

std::string Launched::out() const {
    std::lock_guard const lock(mutex_);
    return out_text_;
}

std::string Launched::err() const {
    std::lock_guard const lock(mutex_);
    return err_text_;
}

bool Launched::says(std::string const& words, int times, Seconds limit) const {
    auto const heard = [&] { return count_of(out(), words) >= static_cast<std::size_t>(times); };
    auto const decided = [&] { return heard() || !is_alive(pid_); };
    eventually(decided, limit);
    // The last output may still be in transit.
    if (eventually(heard, Seconds(is_alive(pid_) ? 0 : 1))) return true;
    ADD_FAILURE() << "\"" << words << "\" was not heard " << times << " times within "
                  << limit.count() << " s\nstdout: " << out() << "\nstderr: " << err();
    return false;
}

pid_t Launched::rank(int number, Seconds limit) const {
    pid_t found = 0;
    auto const runs = [&] {
        for (auto const& each : processes_with("SINEW_TEST_MARK", mark_)) {
            auto const variables = environment_of(each.pid);
            auto const rank = variables.find("SINEW_RANK");
            if (rank == variables.end() || rank->second != std::to_string(number)) continue;
            if (each.group == each.pid) found = each.pid;  // not a process that it has started
        }
        return found != 0;
    };
    EXPECT_TRUE(eventually(runs, limit)) << "rank " << number << " does not run\n" << err();
    return found;
}

std::vector<AgentPids> Launched::agents(std::size_t count, Seconds limit) const {
    std::vector<AgentPids> found;
    auto const run = [&] {
        found.clear();
        auto const all = descendants_of(pid_);
        auto const is_agent = [](auto const& each) {
            return each.command.ends_with("sinew agent ");
        };
        for (auto const& init_process : all)
            for (auto const& worker : all)
                if (init_process.parent == pid_ && worker.parent == init_process.pid &&
                    is_agent(init_process) && is_agent(worker))
                    found.push_back({init_process.pid, worker.pid});
        return found.size() >= count;
    };
    EXPECT_TRUE(eventually(run, limit)) << "there are " << found.size() << " agents\n" << err();
    std::sort(found.begin(), found.end(),
              [](auto const& a, auto const& b) { return a.init_process < b.init_process; });
    found.resize(std::max(found.size(), count));
    return found;
}

void Launched::write_input(std::string const& bytes) const {
    ::signal(SIGPIPE, SIG_IGN);
    for (std::size_t at = 0; at < bytes.size();) {
        ssize_t const count = ::write(in_, bytes.data() + at, bytes.size() - at);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return;  // the reader is gone; the test sees what is missing
        at += static_cast<std::size_t>(count);
    }
}

void Launched::close_input() { close_fd(in_); }

Ended run(Words const& arguments, Launched::Setting setting, Seconds limit) {
    Launched job(arguments, std::move(setting));
    return job.wait(limit);
}

std::size_t count_of(std::string const& text, std::string const& word) {
    std::size_t found = 0;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + word.size()))
        ++found;
    return found;
}

Words lines_of(std::string const& text) {
    Words found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) found.push_back(line);
    return found;
}

long setting(char const* name, long otherwise) {
    char const* const value = std::getenv(name);
    return value != nullptr ? std::atol(value) : otherwise;
}

}  // namespace sinew::testing_support
