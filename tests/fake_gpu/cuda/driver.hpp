// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/fake_gpu/fake_cuda.hpp"

/// What the parts of the fake driver share. Errors have the driver's numbers.
namespace fake_cuda {

constexpr int success = 0, invalid_value = 1, out_of_memory = 2, invalid_context = 201,
              invalid_handle = 400, not_found = 500, not_ready = 600, capture_unsupported = 900,
              capture_invalidated = 901;
constexpr int devices = 8;
constexpr int attribute_context = 1, attribute_memory_type = 2, attribute_managed = 8,
              attribute_ordinal = 9;
constexpr unsigned host_memory = 1, device_memory = 2;
constexpr int mode_global = 0, mode_relaxed = 2;

/// CU_STREAM_LEGACY.
inline void* const default_stream = reinterpret_cast<void*>(1);

using Work = std::function<void()>;

struct Device {
    int ordinal;
};

struct Block {
    std::byte* shadow;
    std::size_t bytes;
    Device* device;
};

struct Graph {
    std::vector<Work> works;
    bool valid = true;
};

struct Stream {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Work> works;
    std::shared_ptr<Graph> capture;
    bool busy = false, ending = false;
    Device* device = nullptr;

    void run() {
        std::unique_lock lock(mutex);
        for (;;) {
            changed.wait(lock, [&] { return ending || !works.empty(); });
            if (works.empty()) return;
            Work work = std::move(works.front());
            works.pop_front();
            busy = true;
            lock.unlock();
            work();
            work = nullptr;
            lock.lock();
            busy = false;
            changed.notify_all();
        }
    }
    void drain() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return works.empty() && !busy; });
    }
    int add(Work work) {
        std::lock_guard const lock(mutex);
        if (capture) {
            capture->works.push_back(std::move(work));
            return success;
        }
        works.push_back(std::move(work));
        changed.notify_all();
        return success;
    }
};

struct Module {
    Device* device;
    std::map<std::string, std::unique_ptr<std::string>> functions;  // handles are their names
};

struct Event {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t recorded = 0, reached = 0;
};

/// Never destroyed: threads of streams may outlive main().
struct State {
    std::mutex mutex;
    std::array<Device, devices> all{};
    std::map<std::uintptr_t, Block> blocks;            // by address
    std::map<std::uintptr_t, std::size_t> pinned;      // host memory, by address
    std::map<void*, std::shared_ptr<Stream>> streams;  // by handle
    std::map<void*, std::shared_ptr<Stream>> ending;   // destroyed, and with work that is pending
    std::map<void*, std::shared_ptr<Event>> events;
    std::vector<std::shared_ptr<Graph>> global_captures;
    std::map<void*, std::unique_ptr<Module>> modules;  // by handle
    FakeKernels kernels = nullptr;
    FakeParameterBytes parameter_bytes = nullptr;
    int module_error = success;
    std::atomic<int> copy_delay{0};
    std::atomic<unsigned long> copies{0}, copied_bytes{0};

    State() {
        for (int i = 0; i < devices; ++i) all[static_cast<std::size_t>(i)].ordinal = i;
        keep_unlocked_in_forks();
    }

private:
    /// Tests fork ranks, perhaps while another thread holds the mutex, which no thread of theirs would unlock.
    static void keep_unlocked_in_forks();
};

State& state();

/// Of this thread.
extern thread_local std::vector<Device*> contexts;
extern thread_local int capture_mode;

bool has_context();
/// Null if there is none. The default stream (CU_STREAM_LEGACY) is that of the current device.
std::shared_ptr<Stream> find_stream(void* handle);
std::shared_ptr<Event> find_event(void* handle);
/// The block of device memory with this address, and where it begins; null if there is none. Requires: the
/// state's mutex is held.
Block const* block_of(std::uintptr_t address, std::uintptr_t& base);
/// Whether bytes begin in a block of device memory and pass its end: the driver copies none of them.
bool passes_an_end(unsigned long long pointer, std::size_t bytes);
/// Whether a call that may synchronise is forbidden now; it then spoils the captures.
bool spoils_capture();

}  // namespace fake_cuda
