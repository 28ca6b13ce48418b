// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace sinew::detail {

/// A stack for a fiber, with a guard page below it.
class FiberStack {
public:
    FiberStack();
    FiberStack(FiberStack const&) = delete;
    FiberStack& operator=(FiberStack const&) = delete;
    ~FiberStack();
    void* bottom() const { return static_cast<char*>(memory_) + guard_; }
    std::size_t size() const { return bytes_ - guard_; }

private:
    std::size_t guard_;
    std::size_t bytes_;
    void* memory_;
};

/// A function that can be left in the middle and taken up again later, always by the same thread:
/// how a blocking algorithm makes progress a little at a time. `body` must not throw, and must not
/// suspend while it handles an exception.
class Fiber {
public:
    Fiber(std::unique_ptr<FiberStack> stack, std::function<void()> body);
    Fiber(Fiber const&) = delete;
    Fiber& operator=(Fiber const&) = delete;
    ~Fiber();

    /// Runs the body until it suspends or ends. Not from inside a fiber.
    void resume();
    bool ended() const { return ended_; }
    /// Called by the body: back to who called resume.
    void suspend();
    /// After the end: the stack, for another fiber.
    std::unique_ptr<FiberStack> take_stack() { return std::move(stack_); }

private:
    static void enter(unsigned low, unsigned high);

    std::unique_ptr<FiberStack> stack_;
    std::function<void()> body_;
    ucontext_t caller_{};
    ucontext_t self_{};
    bool ended_ = false;
    // What the sanitizers want to know about each side of a switch.
    void* caller_fake_stack_ = nullptr;
    void* self_fake_stack_ = nullptr;
    void const* caller_bottom_ = nullptr;
    std::size_t caller_size_ = 0;
    void* tsan_caller_ = nullptr;
    void* tsan_self_ = nullptr;
};

}  // namespace sinew::detail
