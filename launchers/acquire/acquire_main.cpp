// SPDX-License-Identifier: Apache-2.0
#include "launchers/acquire/acquire_main.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <sinew/error.hpp>

#include "launchers/acquire/node_provider.hpp"
#include "launchers/acquire/request.hpp"
#include "launchers/common/exit_codes.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr char acquire_help[] =
    "sinew acquire [--output-fd=N]\n\n"
    "Gets nodes for a program: Nodes::acquire() starts it, and speaks with it by lines of JSON on\n"
    "standard input and output. It gives all nodes back when its standard input ends, or on\n"
    "SIGTERM. The output of the program's agents goes to descriptor N.\n";
constexpr std::size_t longest_line = std::size_t{1} << 20;

int output_of(std::vector<std::string> const& arguments) {
    int fd = -1;
    for (auto const& word : arguments) {
        std::string const flag = "--output-fd=";
        auto const* const end = word.data() + word.size();
        if (!word.starts_with(flag) ||
            std::from_chars(word.data() + flag.size(), end, fd).ptr != end ||
            ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
            throw UsageError(text("sinew acquire does not know ", word, ". See --help"));
    }
    return fd;
}

// The program reads all lines; when it is gone, standard input ends, too.
void say(std::string const& line) {
    for (std::size_t done = 0; done < line.size();) {
        ssize_t const count = ::write(STDOUT_FILENO, line.data() + done, line.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;
        done += static_cast<std::size_t>(count);
    }
}

/// One run of `sinew acquire`.
class Session {
public:
    explicit Session(int output_fd) : output_fd_(output_fd) {}
    Session(Session const&) = delete;

    int run() {
        reading_ = loop_.readable(STDIN_FILENO, [this] { read(); });
        auto const signals = loop_.signals({SIGTERM, SIGINT, SIGHUP}, [this](int) { release(); });
        loop_.run();
        provider_.reset();
        return code_;
    }

private:
    void read() {
        std::array<char, 4096> buffer;
        ssize_t const count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) return;
        if (count <= 0) return release();
        line_.append(buffer.data(), static_cast<std::size_t>(count));
        if (line_.size() > longest_line) return fail("a line of standard input is too long");
        for (std::size_t end = 0; (end = line_.find('\n')) != std::string::npos && !releasing_;) {
            auto const line = line_.substr(0, end);
            line_.erase(0, end + 1);
            try {
                provider_ ? obey(parse_acquire_command(line)) : begin(parse_acquire_request(line));
            } catch (Error const& problem) {
                fail(problem.what());
            }
        }
    }
    void begin(AcquireRequest const& request) {
        auto made = make_provider(
            loop_, request,
            {.ready = [] { say(ready_line()); },
             .state = [](auto const& node, auto const& state,
                         auto const& reason) { say(state_line(node, state, reason)); },
             .failed = [](auto const& why) { say(failed_line(why)); },
             .released = [this] { loop_.stop(); }},
            output_fd_);
        provider_ = std::move(made);
        provider_->start();
    }
    void obey(AcquireCommand const& command) {
        if (command.count) provider_->resize(*command.count);
        if (command.joined) provider_->joined(*command.joined);
        if (command.lost) provider_->lost(*command.lost);
    }
    // The program reports the reason.
    void fail(std::string const& why) {
        say(failed_line(why));
        code_ = exit_usage;
        release();
    }
    void release() {
        releasing_ = true;
        reading_ = {};
        if (provider_) provider_->release();
        else loop_.stop();
    }

    wire::Loop loop_;
    int const output_fd_;
    wire::Loop::Handle reading_;
    std::string line_;
    std::unique_ptr<NodeProvider> provider_;
    bool releasing_ = false;
    int code_ = 0;
};

}  // namespace

int acquire_main(std::vector<std::string> const& arguments) {
    if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
        std::cout << acquire_help;
        return 0;
    }
    int const output = output_of(arguments);
    ::signal(SIGPIPE, SIG_IGN);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    return Session(output).run();
}

}  // namespace sinew::launch
