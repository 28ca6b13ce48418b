// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/dashboard_channel.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/system/io.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"
#include "src/nodes/acquire/find_command.hpp"
#include "src/process/child/child_environment.hpp"
#include "src/process/child/spawner.hpp"
#include "src/process/runtime.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::pool {
namespace {

constexpr std::size_t most_unsent = std::size_t{1} << 20;

/// The value of SINEW_DASHBOARD: nothing if there is to be no dashboard; "0": any port.
std::optional<std::string> wanted_port() {
    auto const value = env("SINEW_DASHBOARD");
    if (!value) return std::nullopt;
    bool const number =
        std::ranges::all_of(*value, [](char each) { return each >= '0' && each <= '9'; });
    if (number && *value != "0" && *value != "1") {
        if (value->size() <= 5 && std::stoi(*value) <= 65535) return value;
        throw UsageError(
            text("SINEW_DASHBOARD=", *value, " (must be 0, 1, or a port up to 65535)"));
    }
    if (!env_flag("SINEW_DASHBOARD", false)) return std::nullopt;
    return "0";
}

}  // namespace

std::shared_ptr<DashboardChannel> DashboardChannel::open(wire::Loop& loop) {
    try {
        if (auto const path = env("SINEW_DASHBOARD_SOCKET")) return of_job(*path);
        auto const port = wanted_port();
        if (!port || !process::Runtime::inherited_folder().empty()) return nullptr;
        return of_process(loop, *port);
    } catch (Error const& problem) {
        log_warning(text("pool: no dashboard shows it: ", problem.what()));
        return nullptr;
    }
}

std::shared_ptr<DashboardChannel> DashboardChannel::of_job(std::string const& path) {
    auto const address = wire::unix_address(path);
    auto channel = std::make_shared<DashboardChannel>();
    channel->fd_ = wire::new_socket(AF_UNIX);
    if (::connect(channel->fd_.get(), address.get(), address.length) != 0)
        throw SystemError(text("SINEW_DASHBOARD_SOCKET=", path, " cannot be reached (",
                               std::strerror(errno), "). Does its job still run, on this host?"),
                          errno);
    return channel;
}

// It ends with this process: its input does, and a fork that keeps that open is no reason to stay.
std::shared_ptr<DashboardChannel> DashboardChannel::of_process(wire::Loop& loop,
                                                               std::string const& port) {
    // It lives as long as the process: a later pool is shown on the same page.
    static auto& shared = *new std::shared_ptr<DashboardChannel>;
    if (shared && !shared->over()) return shared;
    auto [mine, theirs] = socket_pair();
    if (!mine) throw_errno("a pair of sockets cannot be made", "See ulimit -n");
    auto channel = std::make_shared<DashboardChannel>();
    SpawnRequest request;
    request.path = nodes::find_command();
    request.argv = {"sinew", "dashboard", "--port=" + port};
    request.env = process::child_environment({});
    request.in = theirs.get();
    request.only_kept = true;
    request.death_signal = SIGTERM;
    auto spawned = process::spawn_in_lasting_thread(request);
    if (spawned.error != 0)
        throw SystemError(text(request.path, " cannot be started (", spawned.step, ": ",
                               std::strerror(spawned.error), ")"),
                          spawned.error);
    ::fcntl(mine.get(), F_SETFL, O_NONBLOCK);
    channel->fd_ = std::move(mine);
    channel->child_ = spawned.pid;
    channel->ended_ = std::move(spawned.ended);
    channel->ending_ = loop.readable(channel->ended_.get(), [raw = channel.get()] {
        int status = 0;
        if (!reap(raw->child_, status)) return;
        raw->fd_ = {};
        raw->ending_ = {};
    });
    shared = channel;
    return channel;
}

bool DashboardChannel::free() {
    flush();
    return fd_ && unsent_.empty();
}

void DashboardChannel::send(std::string line) {
    unsent_ = std::move(line);
    flush();
}

void DashboardChannel::send_last(std::string line) {
    if (unsent_.size() < most_unsent) unsent_ += line;
    flush();
}

void DashboardChannel::flush() {
    while (fd_ && !unsent_.empty()) {
        ssize_t const count =
            ::send(fd_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        if (count < 0) fd_ = {};
        else unsent_.erase(0, static_cast<std::size_t>(count));
    }
}

}  // namespace sinew::pool
