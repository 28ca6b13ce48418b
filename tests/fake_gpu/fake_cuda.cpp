// SPDX-License-Identifier: Apache-2.0
// A replacement of libcuda.so.1 for machines without a GPU: the part of the driver API that sinew and
// its tests use. Errors have the driver's numbers.
#include "tests/fake_gpu/fake_cuda.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int success = 0, invalid_value = 1, out_of_memory = 2, invalid_context = 201,
              invalid_handle = 400, not_found = 500, not_ready = 600, capture_unsupported = 900,
              capture_invalidated = 901;
constexpr int devices = 8;
constexpr int attribute_context = 1, attribute_memory_type = 2, attribute_managed = 8;
constexpr unsigned host_memory = 1, device_memory = 2;
constexpr int mode_global = 0, mode_relaxed = 2;

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
    }
};

State& state() {
    static State* const made = new State;
    return *made;
}

thread_local std::vector<Device*> contexts;
thread_local int capture_mode = mode_global;

std::shared_ptr<Stream> find_stream(void* handle) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    auto const found = all.streams.find(handle);
    return found == all.streams.end() ? nullptr : found->second;
}

std::shared_ptr<Event> find_event(void* handle) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    auto const found = all.events.find(handle);
    return found == all.events.end() ? nullptr : found->second;
}

/// Whether a call that may synchronise is forbidden now; it then spoils the captures.
bool spoils_capture() {
    if (capture_mode == mode_relaxed) return false;
    State& all = state();
    std::lock_guard const lock(all.mutex);
    for (auto const& graph : all.global_captures) graph->valid = false;
    return !all.global_captures.empty();
}

bool has_context() { return !contexts.empty() && contexts.back() != nullptr; }

Block const* block_of(std::uintptr_t address, std::uintptr_t& base) {
    auto const& blocks = state().blocks;
    auto next = blocks.upper_bound(address);
    if (next == blocks.begin()) return nullptr;
    --next;
    base = next->first;
    return address < base + next->second.bytes ? &next->second : nullptr;
}

}  // namespace

extern "C" {

void fake_cuda_use_device(int ordinal) {
    Device* const device = &state().all.at(static_cast<std::size_t>(ordinal));
    if (contexts.empty()) contexts.push_back(device);
    else contexts.back() = device;
}

void* fake_cuda_shadow(void const* pointer) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    auto const address = reinterpret_cast<std::uintptr_t>(pointer);
    std::uintptr_t base = 0;
    Block const* const block = block_of(address, base);
    return block != nullptr ? block->shadow + (address - base) : const_cast<void*>(pointer);
}

int fake_cuda_enqueue(void* stream, void (*call)(void*), void* argument, void (*release)(void*)) {
    auto const found = find_stream(stream);
    std::shared_ptr<void> const owned(argument, release);
    if (!found) return invalid_value;
    return found->add([call, owned] { call(owned.get()); });
}

void fake_cuda_copy_delay(int microseconds) { state().copy_delay = microseconds; }
unsigned long fake_cuda_copies() { return state().copies; }
unsigned long fake_cuda_copied_bytes() { return state().copied_bytes; }

void fake_cuda_kernels(FakeKernels kernels, FakeParameterBytes parameter_bytes) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    all.kernels = kernels;
    all.parameter_bytes = parameter_bytes;
}
int fake_cuda_modules() {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    return static_cast<int>(all.modules.size());
}
void fake_cuda_fail_module_load(int error) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    all.module_error = error;
}

int cuInit(unsigned) { return success; }
int cuDriverGetVersion(int* version) { return *version = 13000, success; }
int cuGetErrorString(int error, char const** text) {
    *text = error == success         ? "no error"
            : error == not_ready     ? "device not ready"
            : error == invalid_value ? "invalid argument"
                                     : "an error of the fake driver";
    return success;
}
int cuDeviceGetCount(int* count) { return *count = devices, success; }
int cuDeviceGetUuid_v2(void* uuid, int device) {
    std::memset(uuid, 0, 16);
    std::memcpy(uuid, "fake", 4);
    static_cast<unsigned char*>(uuid)[15] = static_cast<unsigned char>(device);
    return success;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
    constexpr int multiprocessors = 16, threads = 39;
    if (device < 0 || device >= devices) return invalid_value;
    if (attribute != multiprocessors && attribute != threads) return invalid_value;
    return *value = attribute == threads ? 512 : 3, success;
}

int cuCtxPushCurrent_v2(void* context) {
    if (context == nullptr) return invalid_context;
    contexts.push_back(static_cast<Device*>(context));
    return success;
}
int cuCtxPopCurrent_v2(void** context) {
    if (contexts.empty()) return invalid_context;
    *context = contexts.back();
    contexts.pop_back();
    return success;
}
int cuCtxSetCurrent(void* context) {
    if (contexts.empty()) contexts.push_back(nullptr);
    contexts.back() = static_cast<Device*>(context);
    return success;
}
int cuCtxGetCurrent(void** context) {
    *context = contexts.empty() ? nullptr : contexts.back();
    return success;
}

int cuCtxGetDevice(int* device) {
    if (!has_context()) return invalid_context;
    return *device = contexts.back()->ordinal, success;
}

int cuPointerGetAttribute(void* result, int attribute, unsigned long long pointer) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    std::uintptr_t base = 0;
    Block const* const block = block_of(pointer, base);
    bool const pinned = block == nullptr && [&] {
        auto next = all.pinned.upper_bound(pointer);
        return next != all.pinned.begin() &&
               pointer < std::prev(next)->first + std::prev(next)->second;
    }();
    if (block == nullptr && !pinned) return invalid_value;
    switch (attribute) {
        case attribute_context:
            *static_cast<void**>(result) = block != nullptr ? block->device : nullptr;
            return success;
        case attribute_memory_type:
            *static_cast<unsigned*>(result) = block != nullptr ? device_memory : host_memory;
            return success;
        case attribute_managed:
            return *static_cast<unsigned*>(result) = 0, success;
        default:
            return invalid_value;
    }
}

int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes) {
    if (!has_context()) return invalid_context;
    if (spoils_capture()) return capture_unsupported;
    if (bytes == 0) return invalid_value;
    int const file = ::memfd_create("fake_cuda", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return out_of_memory;
    void* const there = ::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
    void* const shadow = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (there == MAP_FAILED || shadow == MAP_FAILED) return out_of_memory;
    State& all = state();
    std::lock_guard const lock(all.mutex);
    all.blocks[reinterpret_cast<std::uintptr_t>(there)] = {static_cast<std::byte*>(shadow), bytes,
                                                           contexts.back()};
    return *memory = reinterpret_cast<std::uintptr_t>(there), success;
}
/// As the driver, this waits for all that the device has been given.
int cuMemFree_v2(unsigned long long memory) {
    State& all = state();
    std::vector<std::shared_ptr<Stream>> streams;
    {
        std::lock_guard const lock(all.mutex);
        auto const found = all.blocks.find(memory);
        if (found == all.blocks.end()) return invalid_value;
        for (auto const* some : {&all.streams, &all.ending})
            for (auto const& [handle, stream] : *some)
                if (stream->device == found->second.device) streams.push_back(stream);
    }
    for (auto const& stream : streams) stream->drain();
    std::lock_guard const lock(all.mutex);
    auto const found = all.blocks.find(memory);
    if (found == all.blocks.end()) return invalid_value;
    ::munmap(found->second.shadow, found->second.bytes);
    ::munmap(reinterpret_cast<void*>(memory), found->second.bytes);
    all.blocks.erase(found);
    return success;
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
    if (!has_context()) return invalid_context;
    if (spoils_capture()) return capture_unsupported;
    *memory = std::malloc(bytes);
    if (*memory == nullptr) return out_of_memory;
    State& all = state();
    std::lock_guard const lock(all.mutex);
    all.pinned[reinterpret_cast<std::uintptr_t>(*memory)] = bytes;
    return success;
}
int cuMemFreeHost(void* memory) {
    State& all = state();
    {
        std::lock_guard const lock(all.mutex);
        if (all.pinned.erase(reinterpret_cast<std::uintptr_t>(memory)) == 0) return invalid_value;
    }
    std::free(memory);
    return success;
}

int cuStreamCreate(void** stream, unsigned) {
    if (!has_context()) return invalid_context;
    auto const made = std::make_shared<Stream>();
    made->device = contexts.back();
    State& all = state();
    std::lock_guard const lock(all.mutex);
    all.streams[made.get()] = made;
    std::thread([made, &all] {
        made->run();
        std::lock_guard const after(all.mutex);
        all.ending.erase(made.get());
    }).detach();
    return *stream = made.get(), success;
}
int cuStreamDestroy_v2(void* stream) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    State& all = state();
    std::lock_guard const lock(all.mutex);
    all.ending[stream] = found;
    all.streams.erase(stream);
    std::lock_guard const own(found->mutex);
    found->ending = true;
    found->changed.notify_all();
    return success;
}
int cuStreamSynchronize(void* stream) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    if (spoils_capture()) return capture_unsupported;
    std::unique_lock lock(found->mutex);
    if (found->capture) {
        found->capture->valid = false;
        return capture_unsupported;
    }
    found->changed.wait(lock, [&] { return found->works.empty() && !found->busy; });
    return success;
}
int cuStreamIsCapturing(void* stream, int* status) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    std::lock_guard const lock(found->mutex);
    *status = !found->capture ? 0 : found->capture->valid ? 1 : 2;
    return success;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
    std::swap(*mode, capture_mode);
    return success;
}

int cuEventCreate(void** event, unsigned) {
    if (!has_context()) return invalid_context;
    auto const made = std::make_shared<Event>();
    State& all = state();
    std::lock_guard const lock(all.mutex);
    all.events[made.get()] = made;
    return *event = made.get(), success;
}
int cuEventDestroy_v2(void* event) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    return all.events.erase(event) == 1 ? success : invalid_value;
}
int cuEventRecord(void* event, void* stream) {
    auto const found = find_event(event);
    auto const on = find_stream(stream);
    if (!found || !on) return invalid_value;
    {
        // Stricter than the driver: sinew waits for no event that it records inside a capture.
        std::lock_guard const lock(on->mutex);
        if (on->capture) {
            on->capture->valid = false;
            return capture_unsupported;
        }
    }
    std::uint64_t number = 0;
    {
        std::lock_guard const lock(found->mutex);
        number = ++found->recorded;
    }
    return on->add([found, number] {
        std::lock_guard const lock(found->mutex);
        if (found->reached < number) found->reached = number;
        found->changed.notify_all();
    });
}
int cuEventQuery(void* event) {
    auto const found = find_event(event);
    if (!found) return invalid_value;
    if (spoils_capture()) return capture_unsupported;
    std::lock_guard const lock(found->mutex);
    return found->reached == found->recorded ? success : not_ready;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
    auto const found = find_event(event);
    auto const on = find_stream(stream);
    if (!found || !on) return invalid_value;
    std::uint64_t number = 0;
    {
        std::lock_guard const lock(found->mutex);
        number = found->recorded;
    }
    return on->add([found, number] {
        std::unique_lock lock(found->mutex);
        found->changed.wait(lock, [&] { return found->reached >= number; });
    });
}

int cuMemcpyAsync(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream) {
    auto const on = find_stream(stream);
    if (!has_context()) return invalid_context;
    if (!on) return invalid_value;
    return on->add([=] {
        State& all = state();
        if (int const delay = all.copy_delay; delay > 0)
            std::this_thread::sleep_for(std::chrono::microseconds(delay));
        std::memcpy(fake_cuda_shadow(reinterpret_cast<void*>(to)),
                    fake_cuda_shadow(reinterpret_cast<void*>(from)), bytes);
        ++all.copies;
        all.copied_bytes += bytes;
    });
}

int cuMemsetD8Async(unsigned long long memory, unsigned char value, std::size_t bytes,
                    void* stream) {
    auto const on = find_stream(stream);
    if (!has_context()) return invalid_context;
    if (!on) return invalid_value;
    return on->add(
        [=] { std::memset(fake_cuda_shadow(reinterpret_cast<void*>(memory)), value, bytes); });
}

int cuModuleLoadData(void** module, void const* image) {
    if (!has_context()) return invalid_context;
    if (image == nullptr) return invalid_value;
    State& all = state();
    std::lock_guard const lock(all.mutex);
    if (int const error = all.module_error; error != success)
        return all.module_error = success, error;
    auto made = std::make_unique<Module>();
    made->device = contexts.back();
    *module = made.get();
    all.modules[made.get()] = std::move(made);
    return success;
}
int cuModuleUnload(void* module) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    return all.modules.erase(module) == 1 ? success : invalid_handle;
}
int cuModuleGetFunction(void** function, void* module, char const* name) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    auto const found = all.modules.find(module);
    if (found == all.modules.end()) return invalid_handle;
    if (all.parameter_bytes == nullptr || all.parameter_bytes(name) == 0) return not_found;
    auto& handle = found->second->functions[name];
    if (handle == nullptr) handle = std::make_unique<std::string>(name);
    return *function = handle.get(), success;
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** parameters, void** extra) {
    if (!has_context()) return invalid_context;
    // As the driver: no empty launch, at most 1024 threads and 48 KiB of shared memory without asking.
    if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 || block_x > 1024 ||
        block_y != 1 || block_z != 1 || shared_bytes > 49152 || parameters == nullptr ||
        extra != nullptr)
        return invalid_value;
    auto const on = find_stream(stream);
    if (!on) return invalid_handle;
    State& all = state();
    FakeKernels kernels = nullptr;
    std::string name;
    std::vector<std::byte> parameter;
    {
        std::lock_guard const lock(all.mutex);
        for (auto const& [handle, module] : all.modules)
            for (auto const& [known, own] : module->functions)
                if (own.get() == function && module->device == on->device) name = known;
        if (name.empty()) return invalid_handle;
        kernels = all.kernels;
        auto const* const first = static_cast<std::byte const*>(parameters[0]);
        parameter.assign(first, first + all.parameter_bytes(name.c_str()));
    }
    return on->add([kernels, name, parameter, grid_x] {
        if (kernels != nullptr) kernels(name.c_str(), grid_x, parameter.data());
    });
}

int cuStreamBeginCapture_v2(void* stream, int mode) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    auto const graph = std::make_shared<Graph>();
    {
        std::lock_guard const lock(found->mutex);
        if (found->capture) return invalid_value;
        found->capture = graph;
    }
    State& all = state();
    std::lock_guard const lock(all.mutex);
    if (mode == mode_global) all.global_captures.push_back(graph);
    return success;
}
int cuStreamEndCapture(void* stream, void** graph) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    std::shared_ptr<Graph> captured;
    {
        std::lock_guard const lock(found->mutex);
        captured.swap(found->capture);
    }
    if (!captured) return invalid_value;
    State& all = state();
    std::lock_guard const lock(all.mutex);
    std::erase(all.global_captures, captured);
    if (!captured->valid) return capture_invalidated;
    return *graph = new std::shared_ptr<Graph>(captured), success;
}
int cuGraphInstantiateWithFlags(void** runnable, void* graph, unsigned long long) {
    *runnable = new std::shared_ptr<Graph>(*static_cast<std::shared_ptr<Graph>*>(graph));
    return success;
}
int cuGraphLaunch(void* runnable, void* stream) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    auto const graph = *static_cast<std::shared_ptr<Graph>*>(runnable);
    return found->add([graph] {
        for (Work const& work : graph->works) work();
    });
}
int cuGraphExecDestroy(void* runnable) {
    delete static_cast<std::shared_ptr<Graph>*>(runnable);
    return success;
}
int cuGraphDestroy(void* graph) {
    delete static_cast<std::shared_ptr<Graph>*>(graph);
    return success;
}
}
