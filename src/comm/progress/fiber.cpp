// SPDX-License-Identifier: Apache-2.0
#include "src/comm/progress/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include <sinew/error.hpp>

// GCC defines __SANITIZE_*; clang has __has_feature.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace sinew::detail {

namespace {

// Algorithms keep their data in scratch memory, so frames are small. Pages are mapped on first use.
constexpr std::size_t stack_bytes = std::size_t{256} << 10;

void start_switch([[maybe_unused]] void** fake_stack, [[maybe_unused]] void const* bottom,
                  [[maybe_unused]] std::size_t size, [[maybe_unused]] void* tsan_fiber) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(fake_stack, bottom, size);
#endif
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(tsan_fiber, 0);
#endif
}

void finish_switch([[maybe_unused]] void* fake_stack, [[maybe_unused]] void const** bottom,
                   [[maybe_unused]] std::size_t* size) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake_stack, bottom, size);
#endif
}

}  // namespace

Fiber::Stack::Stack()
    : guard_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))), bytes_(stack_bytes + guard_) {
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory_ == MAP_FAILED)
        throw SystemError("no memory for the stack of a non-blocking operation", errno);
    ::mprotect(memory_, guard_, PROT_NONE);
}

Fiber::Stack::~Stack() { ::munmap(memory_, bytes_); }

Fiber::Fiber() {
    ::getcontext(&self_);
    self_.uc_stack.ss_sp = stack_.bottom();
    self_.uc_stack.ss_size = stack_.size();
    self_.uc_link = nullptr;
    auto const address = reinterpret_cast<std::uintptr_t>(this);  // makecontext passes ints only
    ::makecontext(&self_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
                  static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
#ifdef __SANITIZE_THREAD__
    tsan_self_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#ifdef __SANITIZE_ADDRESS__
    if (entered_ && ended_) {  // its fake stack is freed only by a switch away from it
        leaves_ = true;
        resume();
    }
#endif
#ifdef __SANITIZE_THREAD__
    __tsan_destroy_fiber(tsan_self_);
#endif
}

void Fiber::start(std::function<void()> body) {
    body_ = std::move(body);
    ended_ = false;
}

void Fiber::resume() {
#ifdef __SANITIZE_THREAD__
    tsan_caller_ = __tsan_get_current_fiber();
#endif
    entered_ = true;
    start_switch(&caller_fake_stack_, stack_.bottom(), stack_.size(), tsan_self_);
    ::swapcontext(&caller_, &self_);
    finish_switch(caller_fake_stack_, nullptr, nullptr);
}

void Fiber::suspend() {
    // ASan frees the fake stack if it gets a null pointer.
    start_switch(leaves_ ? nullptr : &self_fake_stack_, caller_bottom_, caller_size_, tsan_caller_);
    ::swapcontext(&self_, &caller_);
    finish_switch(self_fake_stack_, &caller_bottom_, &caller_size_);
}

void Fiber::enter(unsigned low, unsigned high) {
    auto* const self = reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(low) |
                                                static_cast<std::uintptr_t>(high) << 32);
    finish_switch(nullptr, &self->caller_bottom_, &self->caller_size_);
    for (;;) {
        if (!self->leaves_) self->body_();
        self->ended_ = true;
        self->suspend();
    }
}

}  // namespace sinew::detail
