// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/output_forwarder.hpp"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>

#include "src/base/bytes.hpp"

namespace sinew::launch {
namespace {

constexpr auto reader_patience = std::chrono::seconds(5);

}  // namespace

OutputForwarder::OutputForwarder(wire::Loop& loop, OutputPrinter::Options options,
                                 Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)), printer_(std::move(options)),
      writer_(loop, [this] { callbacks_.settled(); }) {}

void OutputForwarder::from_rank(int node, std::string_view node_name, OutputHead const& head,
                                std::span<std::byte const> bytes) {
    auto const size = static_cast<std::int64_t>(bytes.size());
    if (unread_) return callbacks_.credit(node, size);
    unwritten_[node] += size;
    printer_.print(head.rank, node_name, head.stream == 2 ? OutputStream::err : OutputStream::out,
                   {.bytes = text_of(bytes),
                    .starts_line = head.starts_line != 0,
                    .ends_line = head.ends_line != 0},
                   std::chrono::system_clock::now());
    write(printer_.take(),
          [this, node, size](Failure const& failure) { on_written(node, size, failure); });
}

void OutputForwarder::report(std::string line) {
    if (!line.ends_with('\n')) line += '\n';
    printer_.end_line(OutputStream::err);  // of a rank that has not finished its own
    write(printer_.take(), [this](Failure const& failure) { note(failure); });
    writer_.write(STDERR_FILENO, std::move(line), {});
}

void OutputForwarder::write_result(std::string bytes, std::function<void()> then) {
    std::vector<OutputWrite> writes;
    if (!bytes.empty()) writes.push_back({OutputWrite::Target::out, {}, std::move(bytes)});
    write(std::move(writes), [this, then = std::move(then)](Failure const& failure) {
        note(failure);
        then();
    });
}

// `written` is called once, after the last of them, with the first failure of any.
void OutputForwarder::write(std::vector<OutputWrite> writes, AllWritten written) {
    if (writes.empty()) return written({});
    auto const first = std::make_shared<Failure>();
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

void OutputForwarder::on_written(int node, std::int64_t bytes, Failure const& failure) {
    if (unread_) return;  // it has its credit
    unwritten_[node] -= bytes;
    callbacks_.credit(node, bytes);
    note(failure);
}

void OutputForwarder::note(Failure const& failure) {
    if (failure.error == 0 || std::exchange(broken_, true)) return;
    callbacks_.failed(failure.error, failure.where);
}

// A slow reader may still be slow.
void OutputForwarder::limit_patience() {
    patience_ = loop_.after(reader_patience, [this, before = writer_.written()] {
        if (writer_.idle() || writer_.written() != before) return limit_patience();
        unread_ = true;
        for (auto const& [node, bytes] : unwritten_) callbacks_.credit(node, bytes);
        callbacks_.settled();
    });
}

JobFacts::Output OutputForwarder::state() const {
    if (writer_.idle() || unread_) return JobFacts::Output::settled;
    return broken_ ? JobFacts::Output::failed : JobFacts::Output::waiting;
}

}  // namespace sinew::launch
