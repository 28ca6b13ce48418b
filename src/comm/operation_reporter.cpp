// SPDX-License-Identifier: Apache-2.0
#include "src/comm/operation_reporter.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/system/work_thread.hpp"
#include "src/base/text.hpp"
#include "src/comm/black_box/black_box.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::detail {
namespace {

constexpr auto period = std::chrono::milliseconds(500);

}  // namespace

std::string operation_line(int rank, std::string const& communicator, std::uint64_t number,
                           bool inside, std::string const& operation) {
    return text("{\"operation\":\"", operation, "\",\"communicator\":\"", communicator,
                "\",\"number\":", number, ",\"inside\":", inside ? "true" : "false",
                ",\"rank\":", rank, "}\n");
}

std::unique_ptr<OperationReporter> OperationReporter::make(int rank) {
    auto const path = env("SINEW_DASHBOARD_SOCKET");
    // Worlds of processes that a rank has started number their ranks by themselves.
    if (!path || env("SINEW_RANK") != std::to_string(rank)) return nullptr;
    try {
        auto const address = wire::unix_address(*path);
        auto socket = wire::new_socket(AF_UNIX);
        if (::connect(socket.get(), address.get(), address.length) != 0)
            throw SystemError(text("SINEW_DASHBOARD_SOCKET=", *path, " cannot be reached (",
                                   std::strerror(errno), ")"),
                              errno);
        return std::make_unique<OperationReporter>(std::move(socket), rank);
    } catch (Error const& problem) {
        log_warning(text("the dashboard does not show this rank's collectives: ", problem.what()));
        return nullptr;
    }
}

OperationReporter::OperationReporter(UniqueFd socket, int rank)
    : socket_(std::move(socket)), rank_(rank),
      thread_(start_thread("that reports to the dashboard", [this] { run(); })) {}

OperationReporter::~OperationReporter() {
    {
        std::lock_guard const lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void OperationReporter::run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, period, [this] { return ending_; })) report();
}

// What is not taken now is left out: the next line says more. After a part of a line nothing can follow.
void OperationReporter::report() {
    auto const latest = BlackBox::instance().latest();
    if (!latest) return;
    auto line = operation_line(rank_, latest->communicator, latest->record.sequence, latest->inside,
                               latest->record.text());
    if (line == sent_) return;
    auto const count = ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count == static_cast<ssize_t>(line.size())) sent_ = std::move(line);
    else if (count >= 0) ::shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace sinew::detail
