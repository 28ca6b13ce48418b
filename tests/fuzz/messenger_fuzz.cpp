// SPDX-License-Identifier: Apache-2.0
//
// Processes of the session may misbehave: whatever messages they send as readers and writers of
// queues that live here, or as owners of queues, pipes and shared objects, this process keeps
// working, what it sends is well-formed, and nothing of theirs remains when they have ended.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sinew/detail/queue_end.hpp>
#include <sinew/task/encoding.hpp>
#include <span>
#include <vector>

#include "src/process/pipe/registry.hpp"
#include "src/process/queue/owner.hpp"
#include "src/process/shared/registry.hpp"
#include "tests/fuzz/fake_runtime.hpp"
#include "tests/fuzz/script.hpp"

namespace {

using namespace sinew;
using namespace sinew::process;
using fuzz::FakePeer;
using fuzz::FakeRuntime;
using fuzz::Script;
using Bytes = std::span<std::byte const>;

void expect(bool holds) {
    if (!holds) std::abort();
}

FakeRuntime& runtime() { return FakeRuntime::instance(); }

void put_message(std::vector<std::byte>& frame, MessageHeader head, Bytes bytes) {
    head.size = bytes.size();
    auto const first = bytes_of(head);
    frame.insert(frame.end(), first.begin(), first.end());
    frame.insert(frame.end(), bytes.begin(), bytes.end());
}

MessageHeader head(ServiceId service, unsigned op, std::uint64_t id, std::uint64_t number = 0) {
    return {service, static_cast<std::uint16_t>(op), 0, id, number};
}

// Questions that a process waits for must be answered.
std::vector<std::byte> answer_to(Message const& message) {
    std::vector<std::byte> frame;
    auto const service = message.head.service;
    auto const op = message.head.op;
    auto const id = message.head.id, number = message.head.number;
    // With bytes, or lost, or with the place of a file that does not belong to this object.
    FilePlace const place{static_cast<int>(id % 5), static_cast<int>(id % 7) - 1, id, id, 8};
    if (service == ServiceId::share && op == 1 && (id % 3 < 2 || message.bytes.empty()))
        put_message(frame, head(service, id % 2 == 0 ? 2 : 3, id), bytes_of(id));
    else if (service == ServiceId::share && op == 1)
        put_message(frame, head(service, 4, id), bytes_of(place));
    if (service != ServiceId::queue) return frame;
    auto const say = [&](QueueOp what, std::uint64_t about, Bytes bytes) {
        put_message(frame, head(service, static_cast<unsigned>(what), id, about), bytes);
    };
    switch (static_cast<QueueOp>(op)) {
        case QueueOp::put_ask:
        case QueueOp::put_try:
        case QueueOp::put_cancel:
            say(QueueOp::put_done, number, bytes_of(static_cast<std::uint8_t>(number % 3)));
            break;
        case QueueOp::size:
            say(QueueOp::size_is, number, bytes_of(number));
            break;
        case QueueOp::try_take:
            say(QueueOp::item, 1, bytes_of(number));
            say(QueueOp::tried, number, bytes_of(std::uint64_t{number % 2}));
            break;
        default:
            break;
    }
    return frame;
}

std::shared_ptr<FakePeer> make_peer(std::size_t place) {
    return std::make_shared<FakePeer>([place](std::uint8_t kind, auto const& frame) {
        if (kind != frame_kind::messages) return;
        Bytes rest = frame;
        std::vector<std::byte> answers;
        while (auto const message = take_message(rest)) {
            auto const answer = answer_to(*message);
            answers.insert(answers.end(), answer.begin(), answer.end());
        }
        expect(rest.empty());
        if (answers.empty()) return;
        runtime().loop.post([answers, peer = runtime().peers[place]] {
            runtime().message(peer, frame_kind::messages, answers);
        });
    });
}

ProcessAddress elsewhere(std::size_t peer) {
    return {1 + peer, "wild", "elsewhere", {FakeRuntime::address(peer)}};
}

struct Game {
    explicit Game(Bytes input) : script{input} {
        for (std::size_t i = 0; i < peers; ++i) add_owned(i * 2);
        Lock const lock(runtime().guard);
        runtime().peers.clear();
        for (std::size_t i = 0; i < peers; ++i) runtime().peers.push_back(make_peer(i));
    }

    void add_owned(std::size_t bound) {
        owned.push_back(detail::make_queue(bound));
        Writer writer;
        owned.back()->encode_to(writer);
        Reader reader(writer.bytes());
        (void)ProcessAddress::decode_from(reader);
        ids.push_back(decode<std::uint64_t>(reader));
    }

    void play() {
        while (!script.left.empty()) {
            try {
                step();
            } catch (Error const&) {}  // closed or lost
        }
    }

    void step() {
        switch (script.next() % 10) {
            case 0:
                return raw_frame();
            case 1:
                return demand();
            case 2:
                return use(*owned[script.next() % owned.size()]);
            case 3:
                return use_remote();
            case 4:
                return lose(script.next() % peers);
            case 5:
                return pipe();
            case 6:
                return shared();
            default:
                return message();
        }
    }

    void bring(std::size_t from, std::uint8_t kind, Bytes frame) {
        Lock const lock(runtime().guard);
        runtime().message(runtime().peers[from % peers], kind, frame);
    }

    void raw_frame() {
        auto const from = script.next();
        auto const kind = static_cast<std::uint8_t>(kinds::queue + script.next() % 5);
        bring(from, kind, script.some());
    }

    // In one frame or in pieces.
    void bring_message(MessageHeader to, Bytes bytes, unsigned how) {
        std::vector<std::byte> frame;
        if (how % 4 != 0 || bytes.empty()) {
            put_message(frame, to, bytes);
            return bring(how / 4, frame_kind::messages, frame);
        }
        auto const transfer = bytes_of(++transfers);
        frame.assign(transfer.begin(), transfer.end());
        auto const piece = frame;
        put_message(frame, to, bytes);
        bring(how / 4, frame_kind::begin, Bytes(frame).first(frame.size() - bytes.size()));
        for (auto const part : {bytes.first(bytes.size() / 2), bytes.subspan(bytes.size() / 2)}) {
            frame = piece;
            frame.insert(frame.end(), part.begin(), part.end());
            bring(how / 4, frame_kind::piece, frame);
        }
    }

    void message() {
        MessageHeader to;
        to.service = static_cast<ServiceId>(script.next() % 4);
        to.op = static_cast<std::uint16_t>(script.next() % 48);
        to.epoch = script.next() % 4;
        to.id = ids[script.next() % ids.size()];
        to.number = script.number();
        auto const how = script.next();
        bring_message(to, script.some(), how);
    }

    void demand() {
        auto to = head(ServiceId::queue, static_cast<unsigned>(QueueOp::demand),
                       ids[script.next() % owned.size()]);
        if (auto const op = script.next() % 4; op > 1) {
            to.op = static_cast<std::uint16_t>(op == 2 ? QueueOp::give_back : QueueOp::answer);
            to.number = script.number();
        }
        auto const how = script.next();
        std::vector<std::uint64_t> numbers;
        for (auto count = 2 * (script.next() % 4); count > 0; --count)
            numbers.push_back(script.number());
        bring_message(to, std::as_bytes(std::span(numbers)), how);
    }

    void use(detail::QueueEnd& queue) {
        auto const what = script.next();
        if (what % 16 == 15) return queue.close();
        if (what % 4 == 0) {
            if (tickets.empty()) return (void)queue.size();
            what % 8 == 0 ? queue.acknowledge(tickets.back()) : queue.give_back(tickets.back());
            return tickets.pop_back();
        }
        if (what % 4 == 1) {
            Writer item;
            auto const bytes = script.some();
            item.write(bytes.data(), bytes.size());
            return (void)queue.put(std::move(item), detail::Deadline::min());
        }
        auto const item = queue.take(detail::Deadline::min(), what % 4 == 2);
        if (item && what % 4 == 3) tickets.push_back(item->ticket);
    }

    void use_remote() {
        auto const which = script.next() % remote.size();
        if (!remote[which]) {
            Writer handle;
            elsewhere(which % peers).encode_to(handle);
            encode(handle, remote_id + which);
            encode(handle, std::uint64_t{which < 2 ? 0u : 2u});
            Reader reader(handle.bytes());
            remote[which] = detail::find_queue(reader);
        }
        auto& queue = *remote[which];
        auto const what = script.next();
        if (what % 32 == 31) return remote[which].reset();
        if (what % 32 == 30) return queue.close();
        if (what % 8 < 2) return use(queue);  // waits for an answer, which is slow
        if (what % 8 < 4) return queue.acknowledge(1 + what / 8);
        if (what % 8 < 6) return queue.give_back(1 + what / 8);
        Writer item;
        item.write(&what, sizeof what);
        if (which < 2) (void)queue.put(std::move(item), detail::Deadline::min());
    }

    void lose(std::size_t which) {
        Lock const lock(runtime().guard);
        runtime().lose(runtime().peers[which]);
        runtime().peers[which] = make_peer(which);
    }

    // An end that a peer fetches from here, or that is fetched from the peer.
    void pipe() {
        auto const what = script.next();
        auto& user = users[what / 4 % users.size()];
        if (what % 4 == 0) {
            auto ends = connected_sockets();
            user = std::move(ends.first);
            auto const handle = PipeRegistry::instance().keep(std::move(ends.second));
            bring_message(head(ServiceId::pipe, 0, pipe_id + what / 4 % users.size()),
                          bytes_of(handle.token), what);
        } else if (what % 4 == 1) {
            PipeHandle handle;
            handle.keeper = elsewhere(what / 4 % peers);
            handle.token = {pipe_id + what / 4 % users.size(), 1};
            user = PipeRegistry::instance().fetch(handle, PipeRegistry::Route::relayed);
        } else if (user && what % 4 == 2) {
            auto const bytes = script.some();
            (void)::send(user.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        } else if (user) {
            std::array<std::byte, 64> bytes;
            if (what < 64) user = UniqueFd();
            else (void)::recv(user.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        }
    }

    void shared() {
        auto const what = script.next();
        auto& object = objects[what / 2 % objects.size()];
        Writer writer;
        if (what % 2 == 0) {
            auto const bytes = script.some();
            writer.write(bytes.data(), bytes.size());
            object = detail::share_bytes(writer.bytes());
            return;
        }
        SharedHandle{elsewhere(what / 2 % peers), what / 2u, {}, what % 4 < 2 ? 8u : 1u << 20}
            .encode_to(writer);
        Reader reader(writer.bytes());
        object = detail::find_shared(reader);
        (void)object->value([](Reader& value) -> std::shared_ptr<void const> {
            return std::make_shared<std::uint64_t>(decode<std::uint64_t>(value));
        });
    }

    // Items that the peers had taken are back and can be taken here.
    void end() {
        for (std::size_t i = 0; i < peers; ++i) lose(i);
        for (auto& each : remote) each.reset();
        for (auto& queue : owned) {
            queue->close();
            for (std::uint64_t ticket = 1; ticket <= 4096; ++ticket) queue->acknowledge(ticket);
            while (queue->take(detail::Deadline::min(), true)) {}
            expect(queue->size() == 0);
        }
    }

    static constexpr std::size_t peers = 2;
    static constexpr std::uint64_t remote_id = std::uint64_t{1} << 40, pipe_id = 1000;
    Script script;
    std::vector<std::shared_ptr<detail::QueueEnd>> owned;
    std::array<std::shared_ptr<detail::QueueEnd>, 4> remote;
    std::vector<std::uint64_t> ids;
    std::vector<std::uint64_t> tickets;
    std::array<UniqueFd, 4> users;
    std::array<std::shared_ptr<detail::SharedObject>, 4> objects;
    std::uint64_t transfers = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Game game(std::as_bytes(std::span(data, size)));
    for (std::uint64_t i = 0; i < 4; ++i) game.ids.push_back(Game::remote_id + i);
    for (std::uint64_t i = 0; i < 4; ++i) game.ids.push_back(Game::pipe_id + i);
    for (std::uint64_t i = 1; i < 4; ++i) game.ids.push_back(i);  // of shared objects
    game.play();
    game.end();
    return 0;
}
