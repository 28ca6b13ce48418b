// SPDX-License-Identifier: Apache-2.0
// What agents say, and what they are told in answer.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "launchers/common/exit_codes.hpp"
#include "launchers/job/job_run.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

void JobRun::on_message(int node, Kind kind, std::span<std::byte const> body) {
    switch (kind) {
        case Kind::output:
            return on_output(node, body);
        case Kind::started:
            return on_started(node, decode<std::vector<StartedRank>>(text_of(body)));
        case Kind::exited:
            return on_exited(node, decode<Exited>(text_of(body)));
        case Kind::abort:
            return on_abort(decode<Aborted>(text_of(body)));
        case Kind::modex:
        case Kind::modex_reply:
            return on_modex(node, kind, body);
        case Kind::name: {
            auto const reply = encode(names_.answer(decode<NameRequest>(text_of(body))));
            return root_->send(node, Kind::name_reply, {bytes_of(reply)});
        }
        case Kind::notice:
            return notice(std::string(text_of(body)), -1);
        case Kind::input_credit: {
            input_left_[node] -= take_head<std::int64_t>(body);
            return ask_input();
        }
        case Kind::leaving:
            return on_leaving(node);
        case Kind::failing:
            // Its connection ends next, which ends the job; after the job, it is nobody's loss.
            if (phase_ != Phase::finishing)
                causes_.node_lost(node_name(node), std::string(text_of(body)));
            return;
        case Kind::bye: {
            byes_.insert(node);
            return finish_step();
        }
        default:
            return;  // of a version to come
    }
}

void JobRun::on_output(int node, std::span<std::byte const> body) {
    auto const head = take_head<OutputHead>(body);
    auto const bytes = static_cast<std::int64_t>(body.size());
    if (output_unread_) return root_->send(node, Kind::credit, {bytes_of(bytes)});
    unwritten_[node] += bytes;
    printer_.print(head.rank, node_name(node),
                   head.stream == 2 ? OutputStream::err : OutputStream::out,
                   {.bytes = text_of(body),
                    .starts_line = head.starts_line != 0,
                    .ends_line = head.ends_line != 0},
                   std::chrono::system_clock::now());
    write(printer_.take(),
          [this, node, bytes](WriteFailure const& failure) { on_written(node, bytes, failure); });
}

// `written` is called once, after the last of them, with the first failure of any.
void JobRun::write(std::vector<OutputWrite> writes, AllWritten written) {
    if (writes.empty() && written) return written({});
    auto const first = std::make_shared<WriteFailure>();
    for (std::size_t i = 0; i < writes.size(); ++i) {
        auto& [target, path, bytes] = writes[i];
        bool const to_file = target == OutputWrite::Target::file;
        bool const to_out = target == OutputWrite::Target::out;
        auto where = to_file ? path : std::string(to_out ? "standard output" : "standard error");
        auto done = [first, where = std::move(where),
                     last = i + 1 == writes.size() ? written : AllWritten()](int error) {
            if (error != 0 && first->error == 0) *first = {error, where};
            if (last) last(*first);
        };
        if (to_file) writer_.write_file(std::move(path), std::move(bytes), std::move(done));
        else
            writer_.write(to_out ? STDOUT_FILENO : STDERR_FILENO, std::move(bytes),
                          std::move(done));
    }
}

void JobRun::on_written(int node, std::int64_t bytes, WriteFailure const& failure) {
    if (output_unread_) return;  // it has its credit
    unwritten_[node] -= bytes;
    root_->send(node, Kind::credit, {bytes_of(bytes)});
    output_failed(failure);
}

void JobRun::output_failed(WriteFailure const& failure) {
    if (failure.error == 0 || output_broken_) return;
    output_broken_ = true;
    if (failure.error == EPIPE) {
        code_ = 128 + SIGPIPE;  // as any program whose reader has gone (`| head`)
        causes_.interrupted(SIGPIPE);
    } else {
        causes_.launcher_failed(text("output of the ranks cannot be written to ", failure.where,
                                     " (", std::strerror(failure.error),
                                     "). What came after it is lost"));
    }
    failed();
}

void JobRun::on_exited(int node, Exited const& exited) {
    if (alive_.erase(exited.rank) == 0) return;  // of an epoch before, or nonsense
    bool const had_failed = causes_.failed();
    std::string detail = exited.cause;
    if (exited.oom) detail = "the kernel ran out of memory";
    bool const unfinished = exited.joined && !exited.left;
    causes_.rank_ended(who(exited.rank), {.code = exited.code,
                                          .signal = exited.signal,
                                          .stopped = exited.stopped,
                                          .unfinished = unfinished,
                                          .in_world = exited.in_world,
                                          .detail = detail});
    if (!unfinished && exited.code == 0 && !exited.cause.empty())
        notice(text("sinew: rank ", exited.rank, " on ", node_name(node), " ended well, but ",
                    exited.cause));
    if (!had_failed && causes_.failed() && options_.kill_on_failure) failed();
    if (alive_.empty()) epoch_over();
}

void JobRun::on_abort(Aborted const& aborted) {
    if (aborted.rank < 0 || aborted.rank >= map_.size()) return;
    // Open MPI says N/A where there is nothing to say.
    auto const message = aborted.message == "N/A" ? std::string() : aborted.message;
    causes_.rank_aborted(who(aborted.rank), aborted.status, message);
    failed();
}

// The node is wanted elsewhere, and nobody is to blame.
void JobRun::on_leaving(int node) {
    planned_ = true;
    causes_.node_lost(node_name(node), "its agent was asked to end (SIGTERM)");
    failed();
}

void JobRun::on_modex(int node, Kind kind, std::span<std::byte const> body) {
    auto head = take_head<ModexHead>(body);
    if (kind == Kind::modex_reply) return root_->send(head.from, kind, {bytes_of(head), body});
    if (head.rank < 0 || head.rank >= map_.size()) return;
    head.from = node;
    root_->send(agent_of_node_[map_.ranks[head.rank].node], kind, {bytes_of(head), body});
}

// ---- standard input -----------------------------------------------------------------------------

// One piece at a time: the next when all that read have taken the last.
void JobRun::ask_input() {
    if (options_.stdin_to == "none" || input_ended_ || phase_ != Phase::running) return;
    for (auto const& [node, left] : input_left_)
        if (left > 0 && root_->present(node)) return;
    if (!input_)
        input_ = std::make_unique<InputSource>(
            loop_, STDIN_FILENO, [this](std::string bytes) { on_input(std::move(bytes)); });
    input_->want();
}

void JobRun::on_input(std::string bytes) {
    input_ended_ = bytes.empty();
    input_left_.clear();
    for (std::size_t i = 0; i < agent_of_node_.size(); ++i) {
        int const rank = options_.stdin_to == "all" ? -1 : std::stoi(options_.stdin_to);
        bool const reads =
            rank < 0 || (rank < map_.size() && map_.ranks[rank].node == static_cast<int>(i));
        if (!reads) continue;
        input_left_[agent_of_node_[i]] = static_cast<std::int64_t>(bytes.size());
        root_->send(agent_of_node_[i], Kind::input, {bytes_of(bytes)});
    }
}

}  // namespace sinew::launch
