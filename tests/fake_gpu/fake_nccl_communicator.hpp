// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_gpu/fake_cuda.hpp"
#include "tests/fake_gpu/fake_nccl.hpp"
#include "tests/fake_gpu/fake_nccl_arithmetic.hpp"
#include "tests/fake_gpu/fake_nccl_segment.hpp"

namespace fake_nccl {

using namespace std::chrono_literals;
using Fault = FakeNcclFault;

constexpr int success = 0, system_error = 2, internal_error = 3, invalid_argument = 4,
              remote_error = 6, in_progress = 7;
constexpr int first_made_op = 5;

struct Operation {
    enum Kind : int {
        all_reduce,
        reduce,
        broadcast,
        reduce_scatter,
        all_gather,
        all_to_all,
        send,
        receive
    };
    Kind kind;
    void const* in;
    void* out;
    std::size_t count;
    int type;
    int op = 0;
    int root = 0;  // or the peer
    double scale = 1;
    int number = 0;

    std::size_t element() const { return type_sizes[type]; }
    std::uint64_t fingerprint() const {
        std::uint64_t hash = 0xcbf29ce484222325u;
        for (std::uint64_t const part :
             {static_cast<std::uint64_t>(kind), static_cast<std::uint64_t>(count),
              static_cast<std::uint64_t>(type), static_cast<std::uint64_t>(op),
              static_cast<std::uint64_t>(root)})
            hash = (hash ^ part) * 0x100000001b3u;
        return hash;
    }
};

struct Aborted {};

/// A rank's end of a communicator, and what its kernels do on the device.
struct Comm {
    Segment* segment = nullptr;
    int rank = 0, ranks = 1;
    Fault fault{};
    std::string last_error;
    std::atomic<bool> stop{false};
    std::atomic<int> error{in_progress};
    std::atomic<int> inside{0};
    std::atomic<int> launching{0};
    std::atomic<int> on_device{0};
    std::uint64_t rounds = 0;
    // Operations of different streams run in the order of their launches; replayed ones one at a time.
    std::atomic<std::uint64_t> launched{0}, executed{0};
    std::mutex device;
    std::array<std::array<std::uint64_t, most_ranks>, 2> mails{};  // put to, taken from
    int calls = 0;
    std::vector<double> made_ops;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> launches;
    bool ending = false;
    std::thread launcher;

    ~Comm() {
        if (segment != nullptr) ::munmap(segment, sizeof(Segment));
    }

    template <class Condition>
    void await(Condition const& condition) {
        while (!condition()) {
            if (stop) throw Aborted{};
            std::this_thread::sleep_for(20us);
        }
    }

    /// One exchange of at most slot_bytes: this rank's data, then all ranks' to `read`.
    template <class Read>
    void round(Operation const& operation, void const* data, std::size_t bytes, Read const& read) {
        std::uint64_t const number = ++rounds;
        auto const all = [&](auto const& has) {
            await([&] {
                for (int r = 0; r < ranks; ++r)
                    if (!has(segment->slots[r])) return false;
                return true;
            });
        };
        all([&](Segment::Slot& slot) { return slot.left.load() >= number - 1; });
        Segment::Slot& own = segment->slots[rank];
        if (bytes > 0) std::memcpy(own.data, data, bytes);
        own.call.store(operation.fingerprint());
        own.arrived.store(number);
        all([&](Segment::Slot& slot) { return slot.arrived.load() >= number; });
        for (int r = 0; r < ranks; ++r)
            if (segment->slots[r].call.load() != operation.fingerprint())
                await([] { return false; });  // as NCCL: nobody notices
        for (int r = 0; r < ranks; ++r) read(r, segment->slots[r].data);
        own.left.store(number);
    }

    void collective(Operation const& operation) {
        std::size_t const element = operation.element(), most = slot_bytes / element;
        auto const* const in = static_cast<std::byte const*>(fake_cuda_shadow(operation.in));
        auto* const out = static_cast<std::byte*>(fake_cuda_shadow(operation.out));
        auto const n = static_cast<std::size_t>(ranks), self = static_cast<std::size_t>(rank);
        bool const by_parts =
            operation.kind == Operation::reduce_scatter || operation.kind == Operation::all_to_all;
        for (std::size_t p = 0; p < (by_parts ? n : 1); ++p)
            for (std::size_t at = 0; at < operation.count; at += most) {
                std::size_t const length = std::min(most, operation.count - at),
                                  bytes = length * element;
                // Part p of the reduction; or this rank's part for the rank p places further.
                std::size_t const part =
                    operation.kind == Operation::all_to_all ? (self + p) % n : p;
                std::size_t const from = ((by_parts ? part * operation.count : 0) + at) * element;
                bool const has_in =
                    operation.kind != Operation::broadcast || rank == operation.root;
                round(operation, has_in ? in + from : nullptr, has_in ? bytes : 0,
                      [&](int r, std::byte const* data) {
                          auto const other = static_cast<std::size_t>(r);
                          switch (operation.kind) {
                              case Operation::reduce:
                                  if (rank != operation.root) return;
                                  [[fallthrough]];
                              case Operation::all_reduce:
                                  return combine(operation.type, out + at * element, data, length,
                                                 operation.op, operation.scale, r == 0);
                              case Operation::reduce_scatter:
                                  if (p == self)
                                      combine(operation.type, out + at * element, data, length,
                                              operation.op, operation.scale, r == 0);
                                  return;
                              case Operation::broadcast:
                                  if (r == operation.root)
                                      std::memcpy(out + at * element, data, bytes);
                                  return;
                              case Operation::all_gather:
                                  std::memcpy(out + (other * operation.count + at) * element, data,
                                              bytes);
                                  return;
                              case Operation::all_to_all:
                                  if ((other + p) % n == self)
                                      std::memcpy(out + (other * operation.count + at) * element,
                                                  data, bytes);
                                  return;
                              default:
                                  return;
                          }
                      });
            }
    }

    void messages(std::vector<Operation> const& all) {
        std::vector<std::size_t> done(all.size());
        await([&] {
            bool ended = true;
            for (std::size_t i = 0; i < all.size(); ++i) {
                Operation const& one = all[i];
                std::size_t const bytes = one.count * one.element();
                if (done[i] == bytes) continue;
                ended = false;
                bool const sends = one.kind == Operation::send;
                auto& mail =
                    sends ? segment->mails[rank][one.root] : segment->mails[one.root][rank];
                auto& number = mails[sends ? 0 : 1][static_cast<std::size_t>(one.root)];
                std::size_t const length = std::min(mail_bytes, bytes - done[i]);
                if (sends && mail.taken.load() == number) {
                    std::memcpy(mail.data,
                                static_cast<std::byte const*>(fake_cuda_shadow(one.in)) + done[i],
                                length);
                    mail.put.store(++number);
                    done[i] += length;
                } else if (!sends && mail.put.load() > number) {
                    std::memcpy(static_cast<std::byte*>(fake_cuda_shadow(one.out)) + done[i],
                                mail.data, length);
                    mail.taken.store(++number);
                    done[i] += length;
                }
            }
            return ended;
        });
    }

    /// What the kernel of a group does.
    void execute(std::vector<Operation> const& group, std::uint64_t turn) {
        ++on_device;
        try {
            if (turn > 0) await([&] { return executed.load() == turn - 1; });
            std::lock_guard const lock(device);
            std::vector<Operation> mail;
            for (Operation const& one : group) {
                if (fault.call == one.number) {
                    if (fault.kind == Fault::hangs) await([] { return false; });
                    if (fault.kind == Fault::is_late) {
                        auto const until = std::chrono::steady_clock::now() +
                                           std::chrono::milliseconds(fault.milliseconds);
                        await([&] { return std::chrono::steady_clock::now() > until; });
                    }
                }
                if (one.kind >= Operation::send) mail.push_back(one);
                else collective(one);
            }
            if (!mail.empty()) messages(mail);
        } catch (Aborted const&) {}
        if (turn > 0) executed = turn;
        --on_device;
    }

    void launch_loop() {
        std::unique_lock lock(mutex);
        for (;;) {
            changed.wait(lock, [&] { return ending || !launches.empty(); });
            if (launches.empty()) return;
            auto const launch = std::move(launches.front());
            launches.pop_front();
            lock.unlock();
            launch();
            lock.lock();
        }
    }
};

}  // namespace fake_nccl
