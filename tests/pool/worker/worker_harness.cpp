// SPDX-License-Identifier: Apache-2.0
#include "tests/pool/worker/worker_harness.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "src/pool/worker/worker_main.hpp"
#include "src/process/child/child_role.hpp"
#include "src/task/to_bytes.hpp"
#include "src/wire/adopt.hpp"

namespace sinew::pool::test {
namespace {

template <class Head>
Head head_of(std::span<std::byte const> payload) {
    Head head;
    Reader(payload).read(&head, sizeof head);
    return head;
}

}  // namespace

Page::Page()
    : page_(static_cast<process::StatusPage*>(::mmap(nullptr, sizeof(process::StatusPage),
                                                     PROT_READ | PROT_WRITE,
                                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    new (page_) process::StatusPage{nothing_running, 0, 0};
}

Page::~Page() { ::munmap(page_, sizeof(process::StatusPage)); }

WorkerStart usual_start() {
    WorkerStart start;
    start.program = detail::program_identity().text;
    start.heartbeat_ms = 50;
    start.lease_ms = 30000;
    return start;
}

Master::Master(WorkerStart const& start) {
    std::array<int, 2> control_ends{}, bulk_ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control_ends.data()), 0);
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, bulk_ends.data()), 0);
    process.emplace([&] {
        ::close(control_ends[0]);
        ::close(bulk_ends[0]);
        process::ChildStart child;
        child.role = "pool worker";
        child.name = "pool worker 3";
        child.message = to_bytes(start);
        child.parent_name = "the test";
        child.control = UniqueFd(control_ends[1]);
        child.bulk = UniqueFd(bulk_ends[1]);
        child.status = &*page;
        return worker_main(child);
    });
    ::close(control_ends[1]);
    ::close(bulk_ends[1]);
    adopt(control_ends[0], bulk_ends[0]);
}

Master::~Master() = default;

void Master::adopt(int control_fd, int bulk_fd) {
    wire::Identity const identity{0, 3, 1, "pool worker 3"};
    auto options = process::control_options();
    options.heartbeat = std::chrono::milliseconds(50);
    options.dead_after = {};
    control = wire::adopt(loop, UniqueFd(control_fd), identity, options);
    bulk = wire::adopt(loop, UniqueFd(bulk_fd), identity, process::bulk_options());
    control->on({.message = [this](auto const& message) { take(message); },
                 .end = [this](auto const& end) { control_end = end; }});
    bulk->on({.message = [this](wire::Message const& message) { take_piece(message.payload); },
              .end = [this](auto const& end) { bulk_end = end; }});
}

void Master::take_piece(std::span<std::byte const> payload) {
    auto const head = head_of<PieceHead>(payload);
    if (transfers_.add({head, payload.subspan(sizeof head)})) deliver_waiting();
}

void Master::take(wire::Message const& message) {
    auto const payload = message.payload;
    waiting_.emplace_back(message.kind, std::vector<std::byte>(payload.begin(), payload.end()));
    deliver_waiting();
}

void Master::deliver_waiting() {
    while (!waiting_.empty() && deliver(waiting_.front().first, waiting_.front().second))
        waiting_.pop_front();
}

// Returns false if it must wait for a transfer.
bool Master::deliver(std::uint8_t kind, std::span<std::byte const> payload) {
    switch (static_cast<Kind>(kind)) {
        case Kind::ready:
            ready = true;
            EXPECT_EQ(head_of<ReadyHead>(payload).pid, static_cast<std::uint64_t>(process->pid()));
            break;
        case Kind::refused:
            refused = wire::test::string(payload);
            break;
        case Kind::revoked: {
            auto const head = head_of<RevokedHead>(payload);
            EXPECT_FALSE(heard[head.batch].kept) << "answered twice";
            heard[head.batch].kept = head.kept;
            break;
        }
        case Kind::recycled:
            ++recycled;
            break;
        case Kind::results_file: {
            auto const offered = head_of<ResultsFileHead>(payload);
            auto const mapped = maps_files ? process::map_shared_file(offered.file) : std::nullopt;
            ++files;
            send(Kind::mapped, MappedHead{offered.transfer, mapped ? 1U : 0U});
            return !mapped || deliver(static_cast<std::uint8_t>(Kind::results), mapped->bytes);
        }
        case Kind::results: {
            auto const head = head_of<ResultsHead>(payload);
            if (head.transfer == 0) {
                take_results(head, payload.subspan(sizeof head));
                break;
            }
            heard[head.batch].through_transfer = true;
            if (!transfers_.complete(head.transfer)) return false;
            take_results(head, transfers_.take(head.transfer).bytes());
            break;
        }
        default:
            ADD_FAILURE() << "a message of kind " << +kind;
    }
    return true;
}

void Master::take_results(ResultsHead const& head, std::span<std::byte const> payload) {
    auto& batch = heard[head.batch];
    EXPECT_EQ(head.from, batch.done);
    EXPECT_GT(head.done, head.from);
    batch.done = head.done;
    batch.busy_ns += head.busy_ns;
    ++batch.reports;
    Reader reader(payload);
    for (std::uint32_t i = 0; i < head.thrown; ++i) {
        std::uint32_t offset = 0;
        reader.read(&offset, sizeof offset);
        EXPECT_GE(offset, head.from);
        EXPECT_LT(offset, head.done);
        batch.thrown.push_back({offset, ErrorRecord::decode_from(reader)});
    }
    auto const rest = reader.take(reader.left());
    batch.results.insert(batch.results.end(), rest.begin(), rest.end());
}

void Master::batch(TasksHead head, Writer const& arguments) {
    auto bytes = arguments.bytes();
    if (bytes.size() <= large) return send(Kind::tasks, head, bytes);
    PieceHead const piece{++last_transfer_, bytes.size()};
    while (!bytes.empty()) {
        auto const part = bytes.first(std::min(piece_size, bytes.size()));
        bulk->send(static_cast<std::uint8_t>(Kind::piece), 0,
                   {std::as_bytes(std::span(&piece, 1)), part});
        bytes = bytes.subspan(part.size());
    }
    head.transfer = piece.transfer;
    send(Kind::tasks, head);
}

bool Master::settled(std::uint64_t batch, std::uint32_t count) {
    auto const& known = heard[batch];
    return known.done == count || (known.kept && known.done == *known.kept);
}

int Master::wait_end() {
    EXPECT_TRUE(wait([this] { return gone(); }));
    return process->wait();
}

}  // namespace sinew::pool::test
