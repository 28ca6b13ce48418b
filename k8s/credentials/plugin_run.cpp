// SPDX-License-Identifier: Apache-2.0
#include "k8s/credentials/plugin_run.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sinew/error.hpp>

#include "k8s/credentials/exec_credential.hpp"
#include "src/base/env.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

constexpr std::size_t most_output = std::size_t(1) << 20;
constexpr std::size_t most_errors = std::size_t(16) << 10;

std::string in_path(std::string const& command) {
    if (command.find('/') != std::string::npos) return command;
    auto const path = env("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
    for (std::size_t at = 0; at <= path.size();) {
        auto const end = std::min(path.find(':', at), path.size());
        // An empty entry would mean the working directory, from which nothing is executed.
        auto const candidate = text(path.substr(at, end - at), "/", command);
        if (end > at && ::access(candidate.c_str(), X_OK) == 0) return candidate;
        at = end + 1;
    }
    return {};
}

std::vector<std::string> environment(ExecPlugin const& plugin, std::string const& info) {
    std::vector<std::string> found;
    auto const replaced = [&](std::string_view entry) {
        auto const name = entry.substr(0, entry.find('='));
        if (name == "KUBERNETES_EXEC_INFO") return true;
        for (auto const& [key, value] : plugin.env)
            if (name == key) return true;
        return false;
    };
    for (char** at = environ; *at; ++at)
        if (!replaced(*at)) found.emplace_back(*at);
    for (auto const& [key, value] : plugin.env) found.push_back(key + "=" + value);
    found.push_back("KUBERNETES_EXEC_INFO=" + info);
    return found;
}

void set_terminal_owner(pid_t group) {
    // Who is not in the foreground is stopped by SIGTTOU unless it is blocked.
    sigset_t block, before;
    ::sigemptyset(&block);
    ::sigaddset(&block, SIGTTOU);
    ::pthread_sigmask(SIG_BLOCK, &block, &before);
    ::tcsetpgrp(STDIN_FILENO, group);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::string said(std::string const& errors) {
    auto const end = errors.find_last_not_of(" \n\r\t");
    if (end == errors.npos) return "; it printed no error";
    return text("; it printed: ", errors.substr(0, end + 1));
}

}  // namespace

PluginRun::PluginRun(HttpLoop& loop, ExecPlugin const& plugin, ClusterAddress const& cluster,
                     std::chrono::milliseconds timeout, Ended ended)
    : plugin_(plugin), timeout_(timeout), on_end_(std::move(ended)) {
    auto const hint = plugin.install_hint.empty() ? std::string() : "\n" + plugin.install_hint;
    auto const path = in_path(plugin.command);
    if (path.empty())
        throw UsageError(text("the credential plugin ", plugin.command,
                              " of the kubeconfig is not in "
                              "PATH",
                              hint));
    bool const foreground = ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
    interactive_ = foreground && plugin.interactive != ExecPlugin::Interactive::never;
    if (plugin.interactive == ExecPlugin::Interactive::always && !interactive_)
        throw UsageError(
            text("the credential plugin ", plugin.command,
                 " must ask its user something "
                 "(interactiveMode: Always), and there is no terminal. Run it in one, or "
                 "use credentials that need no terminal"));
    auto out = make_pipe(), err = make_pipe();
    SpawnRequest request;
    request.path = path;
    request.argv = {plugin.command};
    request.argv.insert(request.argv.end(), plugin.args.begin(), plugin.args.end());
    request.env = environment(plugin, exec_info(plugin, cluster, interactive_));
    request.in = interactive_ ? STDIN_FILENO : -1;
    request.out = out.second.get();
    request.err = err.second.get();
    request.only_kept = true;
    request.death_signal = SIGKILL;
    auto spawned = spawn(request);
    if (spawned.error != 0)
        throw UsageError(text("the credential plugin ", path,
                              " cannot be started: ", std::strerror(spawned.error), hint));
    pid_ = spawned.pid;
    process_ended_ = std::move(spawned.ended);
    out_ = std::move(out.first);
    err_ = std::move(err.first);
    if (interactive_) {
        terminal_owner_ = ::tcgetpgrp(STDIN_FILENO);
        set_terminal_owner(pid_);
        ::kill(-pid_, SIGCONT);  // in case it has read before it was allowed to
    }
    for (int const fd : {out_.get(), err_.get()})
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    reads_out_ = loop.when_ready(out_.get(), EPOLLIN, [this] { drain(); });
    reads_err_ = loop.when_ready(err_.get(), EPOLLIN, [this] { drain(); });
    watches_end_ = loop.when_ready(process_ended_.get(), EPOLLIN, [this] { check_end(); });
    timer_ = loop.at(HttpLoop::Clock::now() + timeout, [this] {
        drain();
        finish(std::make_exception_ptr(
            Timeout(text("the credential plugin ", plugin_.command, " did not end within ",
                         timeout_.count() / 1000, " s", said(errors_)))));
    });
}

PluginRun::~PluginRun() {
    if (pid_ == 0) return;
    ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
    return_terminal();
}

void PluginRun::return_terminal() {
    if (terminal_owner_ != 0) set_terminal_owner(std::exchange(terminal_owner_, 0));
}

void PluginRun::read(int fd, std::string& into, bool show) {
    std::array<char, 16384> buffer{};
    for (;;) {
        auto const count = ::read(fd, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        if (count <= 0) {
            (fd == out_.get() ? reads_out_ : reads_err_) = Registration();
            return;
        }
        into.append(buffer.data(), std::size_t(count));
        if (show) std::ignore = ::write(STDERR_FILENO, buffer.data(), std::size_t(count));
    }
}

void PluginRun::drain() {
    read(out_.get(), output_, false);
    read(err_.get(), errors_, interactive_);
    if (errors_.size() > most_errors)  // its end says what went wrong
        errors_.erase(0, errors_.size() - most_errors);
    if (output_.size() <= most_output) return;
    output_.clear();
    finish(std::make_exception_ptr(UsageError(text("the credential plugin ", plugin_.command,
                                                   " printed more than ", most_output, " bytes"))));
}

// What the plugin left in the background is killed with it: it may hold the pipes open.
void PluginRun::check_end() {
    int status = 0;
    if (pid_ == 0 || !reap(pid_, status)) return;
    ::kill(-pid_, SIGKILL);
    pid_ = 0;
    return_terminal();
    drain();
    if (!on_end_) return;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return finish(nullptr);
    auto const how = WIFSIGNALED(status) ? text("signal ", WTERMSIG(status))
                                         : text("exit code ", WEXITSTATUS(status));
    finish(std::make_exception_ptr(UsageError(
        text("the credential plugin ", plugin_.command, " failed with ", how, said(errors_)))));
}

void PluginRun::finish(std::exception_ptr failure) {
    reads_out_ = Registration();
    reads_err_ = Registration();
    watches_end_ = Registration();
    timer_ = Registration();
    if (auto const call = std::exchange(on_end_, nullptr)) call(failure, output_);
}

}  // namespace sinew::k8s
