// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {

using Words = std::vector<std::string>;

/// Memory limit for all processes of a job. Sanitizers keep freed memory and need shadow memory.
#if defined(SINEW_TEST_ASAN) || defined(SINEW_TEST_TSAN)
inline constexpr std::size_t memory_limit = std::size_t{1} << 30;
#else
inline constexpr std::size_t memory_limit = std::size_t{100} << 20;
#endif

/// The end of a `sinew run`.
struct Ended {
    int code = -1;  ///< exit code; 128 + killing signal; -1: not within the limit
    std::string out, err;
    Seconds seconds{};
};

/// The two processes of an agent, from the top.
struct AgentPids {
    pid_t init_process = 0, worker = 0;
};

/// Runs `sinew run` as a child in a separate process group; threads read its output. Every process
/// of its job has a mark in its environment, by which it is found. The destructor kills those that
/// remain.
class Launched {
public:
    enum class Input { none, given, open };  ///< /dev/null; `given` and its end; a pipe left open
    struct Setting {
        std::map<std::string, std::string> env = {};
        Input input = Input::none;
        std::string given = {};
        std::size_t read_per_second = 0;                  ///< of standard output; 0: unlimited
        std::function<void(std::string_view)> read = {};  ///< instead of keeping standard output
        int out = -1;                                     ///< standard output goes there instead
        Words command = {};                               ///< instead of the sinew under test
        bool all_signals = true;                          ///< false: start with SIGHUP ignored
    };

    /// Runs `sinew run arguments...`.
    explicit Launched(Words const& arguments) : Launched(arguments, Setting()) {}
    Launched(Words const& arguments, Setting setting);
    Launched(Launched&&) = delete;
    ~Launched();

    pid_t pid() const { return pid_; }
    std::string const& mark() const { return mark_; }
    void signal(int number) const;
    /// Waits until it has ended; after the limit, kills its whole job and fails the test.
    Ended wait(Seconds limit = Seconds(40));
    /// Whether it ends within this time; not a failure otherwise.
    bool ends_within(Seconds limit);

    std::string out() const;
    std::string err() const;
    /// Waits until standard output has these words; returns false, and fails the test, at the
    /// limit.
    bool says(std::string const& words, int times = 1, Seconds limit = Seconds(30)) const;
    /// The pid of a rank once its program runs; 0, and a failed test, at the limit.
    pid_t rank(int number, Seconds limit = Seconds(20)) const;
    std::vector<AgentPids> agents(std::size_t count, Seconds limit = Seconds(20)) const;
    void write_input(std::string const& bytes) const;
    void close_input();

private:
    void start(Words const& words);
    void read_from(int fd, std::string& into, bool limited);
    bool reap(bool block);

    Setting setting_;
    std::string mark_;
    std::chrono::steady_clock::time_point since_;
    pid_t pid_ = -1;
    int status_ = 0;
    int in_ = -1, out_ = -1, err_ = -1;  ///< this process's ends
    mutable std::mutex mutex_;
    std::string out_text_, err_text_;
    std::vector<std::thread> threads_;
};

/// Runs `sinew run arguments...` to its end.
Ended run(Words const& arguments, Launched::Setting setting = {}, Seconds limit = Seconds(40));

/// How many times `word` occurs.
std::size_t count_of(std::string const& text, std::string const& word);
Words lines_of(std::string const& text);
/// A number from the environment of the tests.
long setting(char const* name, long otherwise);

/// Base of tests that check for leaks.
class RunTest : public testing::Test {
protected:
    LeakCheck leaks;
};

}  // namespace sinew::testing_support
