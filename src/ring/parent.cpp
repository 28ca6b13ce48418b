// SPDX-License-Identifier: Apache-2.0
#include "src/ring/parent.hpp"

#include <unistd.h>

#include <array>
#include <mutex>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/bytes.hpp"
#include "src/base/system/io.hpp"
#include "src/wire/adopt.hpp"
#include "src/wire/frame.hpp"

namespace sinew::ring {
namespace {

using process::Runtime;

constexpr std::size_t largest_piece = std::size_t{16} << 20;

void send(int fd, std::span<std::byte const> bytes) {
    if (!write_all(fd, bytes)) ::_exit(1);  // the parent is gone
}

void receive(int fd, std::span<std::byte> bytes) {
    if (read_all(fd, bytes) != static_cast<ssize_t>(bytes.size())) ::_exit(1);
}

}  // namespace

void join_ring(int control, Joined const& joined) {
    auto const payload = to_bytes(joined);
    auto const header =
        wire::encode({.length = static_cast<std::uint32_t>(payload.size()), .kind = kinds::joined});
    send(control, header);
    send(control, payload);
}

Table wait_for_table(int control) {
    for (;;) {
        std::array<std::byte, wire::frame_header_size> head{};
        receive(control, head);
        auto const header = wire::decode_header(head);
        Bytes payload(header.length);
        receive(control, payload);
        if (header.kind == kinds::go) return from_bytes<Table>(payload);
        if (header.kind < wire::frame_kind::first_reserved)  // heartbeats may come first
            throw DecodeError("the first message from the parent of a ring's member is unknown");
    }
}

Parent::Parent(process::ChildStart& start) {
    auto& runtime = Runtime::instance();
    std::lock_guard const lock(runtime.guard());
    process::obey_lease(start);
    auto const identity = process::parent_identity(start);
    control_ =
        wire::adopt(runtime.loop(), std::move(start.control), identity, process::control_options());
    bulk_ = wire::adopt(runtime.loop(), std::move(start.bulk), identity, process::bulk_options());
    control_->on({.message = [this](wire::Message const& message) { hear(message); },
                  .end = [](wire::LinkEnd const&) { ::_exit(1); }});
    bulk_->on(
        {.message = [](wire::Message const&) {}, .end = [](wire::LinkEnd const&) { ::_exit(1); }});
}

void Parent::hear(wire::Message const& message) {
    if (message.kind == kinds::leave) may_leave_ = true;
    if (message.kind == kinds::refused) refusal_ = from_bytes<CommitFailure>(message.payload);
    if (message.kind == kinds::committed || message.kind == kinds::refused) answered_ = true;
    changed_.notify_all();
}

void Parent::commit(std::uint64_t number, State const& state) {
    auto const bytes = to_bytes(state);
    std::unique_lock lock(Runtime::instance().guard());
    answered_ = false;
    // A state may exceed the link's largest frame.
    auto rest = std::span<std::byte const>(bytes);
    for (; rest.size() > largest_piece; rest = rest.subspan(largest_piece))
        bulk_->send_now(kinds::piece, 0, {rest.first(largest_piece)});
    bulk_->send_now(kinds::commit, 0, {bytes_of(number), rest});
    changed_.wait(lock, [this] { return answered_; });  // the parent enforces the deadline
    if (auto const refusal = std::exchange(refusal_, std::nullopt))
        throw SystemError(refusal->what, refusal->error_number);
}

void Parent::returned() {
    std::unique_lock lock(Runtime::instance().guard());
    control_->send_now(kinds::returned, 0, {});
    changed_.wait(lock, [this] { return may_leave_; });
}

void Parent::failed(ErrorRecord const& record) {
    auto const bytes = to_bytes(record);
    std::lock_guard const lock(Runtime::instance().guard());
    control_->send_now(kinds::failed, 0, {bytes});
}

}  // namespace sinew::ring
