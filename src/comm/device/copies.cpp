// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/copies.hpp"

#include <sinew/error.hpp>

namespace sinew::detail {

PinnedMemory::PinnedMemory(CudaDriver const& driver, CudaDriver::Context context, std::size_t bytes)
    : bytes_(bytes) {
    CudaContextScope const scope(driver, context);
    void* memory = nullptr;
    driver.check(driver.host_allocate(&memory, bytes > 0 ? bytes : 1, 0), "cuMemHostAlloc");
    memory_ = {static_cast<std::byte*>(memory), [&driver, context](std::byte* allocated) {
                   try {
                       CudaContextScope const inside(driver, context);
                       driver.host_free(allocated);
                   } catch (Error const&) {
                       // The context was destroyed, and the memory with it.
                   }
               }};
}

OwnedDeviceMemory::OwnedDeviceMemory(CudaDriver const& driver, CudaDriver::Context context,
                                     std::size_t bytes) {
    CudaContextScope const scope(driver, context);
    CudaDriver::Address memory = 0;
    driver.check(driver.memory_allocate(&memory, bytes > 0 ? bytes : 1), "cuMemAlloc");
    memory_ = {reinterpret_cast<void*>(memory), [&driver, context, memory](void*) {
                   try {
                       CudaContextScope const inside(driver, context);
                       driver.memory_free(memory);
                   } catch (Error const&) {
                       // The context was destroyed, and the memory with it.
                   }
               }};
}

CopyStream::CopyStream(CudaDriver const& driver, CudaDriver::Context context)
    : driver_(driver), context_(context) {
    CudaContextScope const scope(driver_, context_);
    driver_.check(driver_.stream_create(&stream_, CudaDriver::stream_non_blocking),
                  "cuStreamCreate");
}

CopyStream::~CopyStream() {
    try {
        CudaContextScope const scope(driver_, context_);
        for (CudaDriver::Event const event : marks_) driver_.event_destroy(event);
        driver_.stream_destroy(stream_);
    } catch (Error const&) {
        // The context was destroyed, and all of them with it.
    }
}

void CopyStream::copy(void* to, void const* from, std::size_t bytes) {
    if (bytes == 0) return;
    CudaContextScope const scope(driver_, context_);
    driver_.check(driver_.copy_async(reinterpret_cast<CudaDriver::Address>(to),
                                     reinterpret_cast<CudaDriver::Address>(from), bytes, stream_),
                  "cuMemcpyAsync");
}

void CopyStream::clear(void* memory, std::size_t bytes) {
    if (bytes == 0) return;
    CudaContextScope const scope(driver_, context_);
    driver_.check(
        driver_.memory_set_async(reinterpret_cast<CudaDriver::Address>(memory), 0, bytes, stream_),
        "cuMemsetD8Async");
}

CudaDriver::Event CopyStream::mark() {
    CudaContextScope const scope(driver_, context_);
    if (used_ == marks_.size()) {
        CudaDriver::Event made = nullptr;
        driver_.check(driver_.event_create(&made, CudaDriver::event_without_timing),
                      "cuEventCreate");
        marks_.push_back(made);
    }
    CudaDriver::Event const event = marks_[used_++];
    driver_.check(driver_.event_record(event, stream_), "cuEventRecord");
    return event;
}

void CopyStream::reuse_marks() { used_ = 0; }

void CopyStream::wait_for(CudaDriver::Event event) {
    if (event == nullptr) return;
    CudaContextScope const scope(driver_, context_);
    driver_.check(driver_.stream_wait_event(stream_, event, 0), "cuStreamWaitEvent");
}

void CopyStream::order_before(CudaDriver::Stream other) {
    CudaDriver::Event const reached = mark();
    CudaContextScope const scope(driver_, context_);
    driver_.check(driver_.stream_wait_event(other, reached, 0), "cuStreamWaitEvent");
}

void CopyStream::order_after(CudaDriver::Stream other) {
    CudaDriver::Event const reached = mark();
    {
        CudaContextScope const scope(driver_, context_);
        driver_.check(driver_.event_record(reached, other), "cuEventRecord");
    }
    wait_for(reached);
}

bool CopyStream::has_reached(CudaDriver::Event event) const {
    CudaContextScope const scope(driver_, context_);
    int const result = driver_.event_query(event);
    if (result == CudaDriver::not_ready) return false;
    driver_.check(result, "copying between the host and the GPU");
    return true;
}

void CopyStream::await(CudaDriver::Event event, ProgressPolicy& policy) const {
    for (int round = 0; !has_reached(event); ++round) policy.idle(round, -1, 0, 0);
}

}  // namespace sinew::detail
