// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace sinew::detail {

/// Runs functions that can be left in the middle and taken up again later, always by the same thread:
/// how a blocking algorithm makes progress a little at a time. One function after the other, on one
/// stack: a new stack costs some system calls, and page faults as it is used.
class Fiber {
public:
    /// Throws SystemError when there is no memory for a stack.
    Fiber();
    Fiber(Fiber const&) = delete;
    Fiber& operator=(Fiber const&) = delete;
    /// A body that has not ended is abandoned: what it has on its stack is not destroyed.
    ~Fiber();

    /// What `resume` runs. The one before must have ended. `body` must not throw, and must not suspend
    /// while it handles an exception.
    void start(std::function<void()> body);
    /// Runs the body until it suspends or ends. Not from inside a fiber.
    void resume();
    /// Whether there is nothing to resume.
    bool ended() const { return ended_; }
    /// Called by the body: back to who called resume.
    void suspend();

private:
    /// Memory with a guard page below it.
    class Stack {
    public:
        Stack();
        Stack(Stack const&) = delete;
        Stack& operator=(Stack const&) = delete;
        ~Stack();
        void* bottom() const { return static_cast<char*>(memory_) + guard_; }
        std::size_t size() const { return bytes_ - guard_; }

    private:
        std::size_t guard_;
        std::size_t bytes_;
        void* memory_;
    };

    static void enter(unsigned low, unsigned high);

    Stack stack_;
    std::function<void()> body_;
    ucontext_t caller_{};
    ucontext_t self_{};
    bool ended_ = true;
    bool entered_ = false;
    bool leaves_ = false;  ///< what it suspends from, it does not come back to
    // What the sanitizers want to know about each side of a switch.
    void* caller_fake_stack_ = nullptr;
    void* self_fake_stack_ = nullptr;
    void const* caller_bottom_ = nullptr;
    std::size_t caller_size_ = 0;
    void* tsan_caller_ = nullptr;
    void* tsan_self_ = nullptr;
};

}  // namespace sinew::detail
