// SPDX-License-Identifier: Apache-2.0
// The fake driver's memory.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/fake_gpu/cuda/driver.hpp"

namespace fake_cuda {

Block const* block_of(std::uintptr_t address, std::uintptr_t& base) {
    auto const& blocks = state().blocks;
    auto next = blocks.upper_bound(address);
    if (next == blocks.begin()) return nullptr;
    --next;
    base = next->first;
    return address < base + next->second.bytes ? &next->second : nullptr;
}

bool passes_an_end(unsigned long long pointer, std::size_t bytes) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    std::uintptr_t base = 0;
    Block const* const block = block_of(pointer, base);
    return block != nullptr && pointer + bytes > base + block->bytes;
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

void* fake_cuda_shadow(void const* pointer) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    auto const address = reinterpret_cast<std::uintptr_t>(pointer);
    std::uintptr_t base = 0;
    Block const* const block = block_of(address, base);
    return block != nullptr ? block->shadow + (address - base) : const_cast<void*>(pointer);
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
        case attribute_ordinal:
            if (block == nullptr) return invalid_value;
            return *static_cast<int*>(result) = block->device->ordinal, success;
        case attribute_managed:
            return *static_cast<unsigned*>(result) = 0, success;
        default:
            return invalid_value;
    }
}

int cuMemcpy(unsigned long long to, unsigned long long from, std::size_t bytes) {
    if (!has_context()) return invalid_context;
    if (spoils_capture()) return capture_unsupported;
    if (passes_an_end(to, bytes) || passes_an_end(from, bytes)) return invalid_value;
    std::memcpy(fake_cuda_shadow(reinterpret_cast<void*>(to)),
                fake_cuda_shadow(reinterpret_cast<void const*>(from)), bytes);
    return success;
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
}
