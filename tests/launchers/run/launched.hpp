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

/// Of all processes of a job together. Sanitizers keep what was freed, and shadow the rest.
#if defined(SINEW_TEST_ASAN) || defined(SINEW_TEST_TSAN)
inline constexpr std::size_t memory_limit = std::size_t{1} << 30;
#else
inline constexpr std::size_t memory_limit = std::size_t{100} << 20;
#endif

/// How a `sinew run` ended.
struct Ended {
    int code = -1;  ///< of the exit; 128 + the signal that killed it; -1: not within the limit
    std::string out, err;
    Seconds seconds{};
};

/// An agent's two processes, from above.
struct AgentPids {
    pid_t init_process = 0, worker = 0;
};

/// One `sinew run` as a child in a process group of its own, its output read by threads. Every
/// process of its job carries a mark in its environment, by which it is found. The destructor kills
/// what is left of it.
class Launched {
public:
    enum class Input { none, given, open };  ///< /dev/null; `given` and its end; a pipe left open
    struct Setting {
        std::map<std::string, std::string> env = {};
        Input input = Input::none;
        std::string given = {};
        std::size_t read_per_second = 0;  ///< of standard output; 0: as fast as it comes
        std::function<void(std::string_view)> read = {};  ///< instead of keeping standard output
        int out = -1;                                     ///< standard output goes there instead
        Words command = {};                               ///< instead of the sinew under test
        bool all_signals = true;                          ///< false: started with SIGHUP ignored
    };

    /// `sinew run arguments...`
    explicit Launched(Words const& arguments) : Launched(arguments, Setting()) {}
    Launched(Words const& arguments, Setting setting);
    Launched(Launched&&) = delete;
    ~Launched();

    pid_t pid() const { return pid_; }
    std::string const& mark() const { return mark_; }
    void signal(int number) const;
    /// Until it has ended; kills all of its job, and fails the test, when it takes longer.
    Ended wait(Seconds limit = Seconds(40));
    /// Whether it has ended within this time; no failure otherwise.
    bool ends_within(Seconds limit);

    std::string out() const;
    std::string err() const;
    /// Until standard output holds these words; false, and a failed test, when it takes too long.
    bool says(std::string const& words, int times = 1, Seconds limit = Seconds(30)) const;
    /// The pid of a rank once its program runs; 0 and a failed test if it does not come to that.
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
    int in_ = -1, out_ = -1, err_ = -1;  ///< our ends
    mutable std::mutex mutex_;
    std::string out_text_, err_text_;
    std::vector<std::thread> threads_;
};

/// `sinew run arguments...` to its end.
Ended run(Words const& arguments, Launched::Setting setting = {}, Seconds limit = Seconds(40));

/// How many times `word` occurs.
std::size_t count_of(std::string const& text, std::string const& word);
Words lines_of(std::string const& text);
/// A number from the environment of the tests.
long setting(char const* name, long otherwise);

/// Every test in these programs looks for leaks.
class RunTest : public testing::Test {
protected:
    LeakCheck leaks;
};

}  // namespace sinew::testing_support
