// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/sinew.h>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::c_api {

/// A function of the program returned `code`, other than 0.
class CallbackFailed : public Error {
public:
    CallbackFailed(std::string const& what, int code) : Error(what), code_(code) {}
    int code() const noexcept { return code_; }

private:
    int code_;
};

/// A task has no result; the code is a sinew_task_failure.
class TaskFailed : public Error {
public:
    TaskFailed(std::string const& what, sinew_task_failure why) : Error(what), why_(why) {}
    sinew_task_failure why() const noexcept { return why_; }

private:
    sinew_task_failure why_;
};

/// Keeps the exception that is being handled as the last error of this thread; returns its status.
int status_of_exception() noexcept;

/// Calls `function`; no exception leaves it. Returns SINEW_OK, or the exception's status.
template <class Function>
int guarded(Function&& function) noexcept {
    try {
        function();
        return SINEW_OK;
    } catch (...) {
        return status_of_exception();
    }
}

/// Throws UsageError if `pointer` is null; `what` is its name.
template <class T>
T& required(T* pointer, char const* what) {
    if (pointer == nullptr) throw UsageError(text(what, " is NULL (expected a valid pointer)"));
    return *pointer;
}

}  // namespace sinew::c_api
