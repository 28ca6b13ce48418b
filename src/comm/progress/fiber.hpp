// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace sinew::detail {

/// Runs functions that can suspend and be resumed later, always by the same thread, so that a
/// blocking algorithm can progress in small steps. Runs one function after the other on the same
/// stack, because a new stack costs system calls and page faults.
class Fiber {
public:
    /// Throws SystemError if there is no memory for a stack.
    Fiber();
    Fiber(Fiber const&) = delete;
    Fiber& operator=(Fiber const&) = delete;
    /// Abandons a body that has not ended: the objects on its stack are not destroyed.
    ~Fiber();

    /// Sets the body that `resume` runs. The previous body must have ended. `body` must not throw,
    /// and must not suspend while it handles an exception.
    void start(std::function<void()> body);
    /// Runs the body until it suspends or ends. Must not be called inside a fiber.
    void resume();
    /// Returns whether there is nothing to resume.
    bool ended() const { return ended_; }
    /// Called by the body: returns to the caller of resume.
    void suspend();

private:
    /// A stack with a guard page below it.
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
    bool leaves_ = false;  ///< the next suspend is the last: the fiber is being destroyed
    // The state that the sanitizers need for each side of a switch.
    void* caller_fake_stack_ = nullptr;
    void* self_fake_stack_ = nullptr;
    void const* caller_bottom_ = nullptr;
    std::size_t caller_size_ = 0;
    void* tsan_caller_ = nullptr;
    void* tsan_self_ = nullptr;
};

}  // namespace sinew::detail
