// SPDX-License-Identifier: Apache-2.0
// The output, the input and the end of a node's ranks while they run.
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "launchers/agent/node_job.hpp"
#include "launchers/checks/check.hpp"
#include "src/world/world_file.hpp"

namespace sinew::launch {

void NodeJob::on_output(int rank, int stream, LineAssembler::Piece piece) {
    OutputHead const head{.rank = rank,
                          .stream = static_cast<std::uint8_t>(stream),
                          .starts_line = piece.starts_line,
                          .ends_line = piece.ends_line,
                          .unused = 0};
    uplink_.up(Kind::output, {bytes_of(head), bytes_of(piece.bytes)});
    under_way_ += static_cast<std::int64_t>(piece.bytes.size());
    set_reading();
}

void NodeJob::credit(std::int64_t bytes) {
    under_way_ -= bytes;
    set_reading();
}

void NodeJob::set_reading() {
    bool const wanted = under_way_ < launch_.window;
    if (wanted == reading_) return;
    reading_ = wanted;
    for (auto const& rank : ranks_) rank->reading(wanted);
}

void NodeJob::on_ended(int rank, LocalRank::End const& end) {
    Exited exited;
    exited.rank = rank;
    exited.pid = (*std::find_if(ranks_.begin(), ranks_.end(), [rank](auto const& each) {
                     return each->rank() == rank;
                 }))->pid();
    exited.code = end.code;
    exited.signal = end.signal;
    exited.stopped = stopping_;
    exited.joined = mpi_->joined(rank);
    exited.left = mpi_->left(rank);
    exited.in_world = ::access(presence_file(epoch_folder_, rank).c_str(), F_OK) == 0;
    exited.oom = exited.signal == SIGKILL && !stopping_ && oom_kills() > oom_kills_;
    exited.cause = guard(exited);
    bool const failed_here = (exited.code != 0 || exited.signal != 0) && !exited.stopped;
    if (failed_here && mpi_->serves()) exited.cause = local_faults();
    uplink_.up(Kind::exited, {bytes_of(encode(exited))});
}

// Detects a rank that succeeded without joining the others: as an MPI world of size one it would
// have repeated the whole computation unnoticed. Returns the text to report, or nothing.
std::string NodeJob::guard(Exited const& exited) const {
    if (exited.code != 0 || exited.signal != 0 || exited.stopped || !mpi_->serves()) return {};
    if (!exited.joined && mpi_->anyone_joined())
        return "it never joined the others in MPI_Init, and may have run alone";
    return {};
}

void NodeJob::on_consumed(int rank, std::size_t bytes) {
    // With several readers the slowest one limits the credit.
    input_taken_[rank] += static_cast<std::int64_t>(bytes);
    std::int64_t slowest = input_taken_[rank];
    for (auto const& local : ranks_)
        if (local->running() && input_taken_.contains(local->rank()))
            slowest = std::min(slowest, input_taken_[local->rank()]);
    if (slowest <= input_credited_) return;
    std::int64_t const fresh = slowest - input_credited_;
    input_credited_ = slowest;
    uplink_.up(Kind::input_credit, {bytes_of(fresh)});
}

void NodeJob::input(std::string_view bytes) {
    if (!reported_) {
        early_input_.emplace_back(bytes);
        return;
    }
    bool anybody = false;
    for (auto const& local : ranks_)
        if (launch_.stdin_to == "all" || launch_.stdin_to == std::to_string(local->rank())) {
            input_taken_.try_emplace(local->rank(), input_credited_);
            anybody = true;
            local->input(std::string(bytes));
        }
    auto const size = static_cast<std::int64_t>(bytes.size());
    if (!anybody && size > 0) uplink_.up(Kind::input_credit, {bytes_of(size)});
}

void NodeJob::signal(int number) {
    for (auto const& rank : ranks_) rank->signal(number);
}

void NodeJob::stop(Stop const& how) {
    stopping_ = true;
    report_started({});  // reports that no ranks start, unless their start is reported already
    if (how.signal != 0) {
        signal(SIGCONT);  // a stopped process handles only SIGKILL
        signal(how.signal);
    }
    auto const grace = std::chrono::milliseconds(how.grace_ms);
    if (grace.count() <= 0) return kill_now();
    // SIGHUP is often caught for other purposes (by UCX to wait for a debugger), and its sender may
    // be gone and cannot repeat it: SIGTERM follows.
    if (how.signal == SIGHUP) term_timer_ = loop_.after(grace / 2, [this] { signal(SIGTERM); });
    kill_timer_ = loop_.after(grace, [this] { kill_now(); });
}

void NodeJob::kill_now() {
    stopping_ = true;
    for (auto const& rank : ranks_) rank->signal(SIGKILL);
}

std::vector<pid_t> NodeJob::pids() const {
    std::vector<pid_t> found;
    for (auto const& rank : ranks_) found.push_back(rank->pid());
    return found;
}

bool NodeJob::has_output() const {
    return under_way_ > 0 || std::any_of(ranks_.begin(), ranks_.end(),
                                         [](auto const& rank) { return rank->has_output(); });
}

void NodeJob::wind_up() {
    for (auto const& rank : ranks_) rank->wind_up();
}

}  // namespace sinew::launch
