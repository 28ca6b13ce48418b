// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/dashboard_main.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sinew/error.hpp>

#include "launchers/common/host_name.hpp"
#include "launchers/dashboard/dashboard.hpp"
#include "launchers/dashboard/pool_report.hpp"
#include "launchers/dashboard/pool_reports.hpp"
#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using std::chrono::system_clock;

constexpr char dashboard_help[] =
    "sinew dashboard [--port=PORT]\n\n"
    "Serves a page about the pools of a program, which starts it if SINEW_DASHBOARD is 1 or a "
    "port,\n"
    "and reports by lines of JSON on standard input. It ends with its standard input. The page of "
    "a\n"
    "whole job is that of sinew run --dashboard.\n";

std::uint16_t port_of(std::vector<std::string> const& arguments) {
    std::uint16_t port = 0;
    for (auto const& word : arguments) {
        std::string const flag = "--port=";
        auto const* const end = word.data() + word.size();
        if (!word.starts_with(flag) ||
            std::from_chars(word.data() + flag.size(), end, port).ptr != end)
            throw UsageError(text("sinew dashboard does not know ", word, ". See --help"));
    }
    return port;
}

std::string command_of(pid_t pid) {
    std::ifstream file(text("/proc/", pid, "/cmdline"), std::ios::binary);
    std::string words{std::istreambuf_iterator<char>(file), {}};
    while (!words.empty() && words.back() == '\0') words.pop_back();
    std::ranges::replace(words, '\0', ' ');
    return words;
}

/// One run of `sinew dashboard`.
class Session {
public:
    explicit Session(std::uint16_t port)
        : dashboard_({.port = port, .token_file = env("SINEW_DASHBOARD_TOKEN_FILE").value_or("")}) {
    }
    Session(Session const&) = delete;

    int run() {
        job_.command = command_of(program_);
        auto const program = job_.command.substr(0, job_.command.find(' '));
        job_.name = program.substr(program.rfind('/') + 1);
        job_.state = "running";
        job_.host = host_;
        job_.started = system_clock::now();
        dashboard_.state().set(job_);
        std::cerr << text("sinew: dashboard: ", dashboard_.address(), "\n");
        reading_ = loop_.readable(STDIN_FILENO, [this] { read(); });
        // The program's end, which its input shows, too.
        auto const signals =
            loop_.signals({SIGTERM, SIGINT, SIGHUP}, [this](int) { loop_.stop(); });
        loop_.run(sleeps_);
        job_.state = "ended";
        pools_.gone(host_, program_);
        dashboard_.state().add_event(dashboard::Level::info, "The program has ended",
                                     system_clock::now());
        dashboard_.state().set(job_);
        dashboard_.finish();
        return 0;
    }

private:
    void read() {
        std::array<char, 8192> buffer;
        ssize_t const count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) return;
        if (count <= 0) return loop_.stop();
        in_.append(buffer.data(), static_cast<std::size_t>(count));
        std::size_t begin = 0;
        for (std::size_t end = 0; (end = in_.find('\n', begin)) != std::string::npos;
             begin = end + 1)
            pools_.take(host_, program_, std::string_view(in_).substr(begin, end - begin),
                        system_clock::now());
        in_.erase(0, begin);
        if (in_.size() > dashboard::longest_report)
            throw UsageError(
                "a line of standard input is too long. Is this sinew of another "
                "version than the program's?");
    }

    pid_t const program_ = ::getppid();
    std::string const host_ = host_name();
    dashboard::Dashboard dashboard_;
    dashboard::PoolReports pools_{dashboard_.state()};
    dashboard::Job job_;
    wire::Loop loop_;
    SpinPolicy sleeps_;
    wire::Loop::Handle reading_;
    std::string in_;
};

}  // namespace

int dashboard_main(std::vector<std::string> const& arguments) {
    if (!arguments.empty() && (arguments.front() == "--help" || arguments.front() == "-h")) {
        std::cout << dashboard_help;
        return 0;
    }
    auto const port = port_of(arguments);
    if (::isatty(STDIN_FILENO) != 0)
        throw UsageError(
            "sinew dashboard is started by programs. Set SINEW_DASHBOARD=1 for a "
            "program with pools, or use sinew run --dashboard");
    ::signal(SIGPIPE, SIG_IGN);
    return Session(port).run();
}

}  // namespace sinew::launch
