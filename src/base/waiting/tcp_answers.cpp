// SPDX-License-Identifier: Apache-2.0
#include "src/base/waiting/tcp_answers.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace sinew {
namespace {

// A single one may be in flight, or lost although the host is well.
constexpr unsigned too_many_unanswered = 2;

}  // namespace

std::optional<TcpAnswers::Sample> TcpAnswers::sample(int fd) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
    return Sample{.unanswered = static_cast<unsigned>(info.tcpi_retransmits) + info.tcpi_probes,
                  .since_answer = std::chrono::milliseconds(info.tcpi_last_ack_recv)};
}

TcpAnswers::Clock::duration TcpAnswers::silence(Clock::time_point now, Sample const& sample) {
    if (sample.unanswered == 0) {
        since_.reset();
        return {};
    }
    if (!since_) since_ = now;
    // The host has acknowledged something since, so the silence begins there.
    if (sample.since_answer < now - *since_) since_ = now - sample.since_answer;
    return sample.unanswered < too_many_unanswered ? Clock::duration{} : now - *since_;
}

}  // namespace sinew
