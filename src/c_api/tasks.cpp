// SPDX-License-Identifier: Apache-2.0
// sinew_task_*, sinew_pool_* and sinew_result_*: tasks in other processes.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include <sinew/detail/deadline.hpp>
#include <sinew/init.hpp>
#include <sinew/pool.hpp>

#include "src/base/waiting/interruption.hpp"
#include "src/c_api/arguments.hpp"

namespace sinew::c_api {

namespace {

std::map<std::string, sinew_task>& tasks() {
    static std::map<std::string, sinew_task> all;
    return all;
}
bool started = false;

sinew_task task_named(std::string const& name) {
    auto const found = tasks().find(name);
    if (found != tasks().end()) return found->second;
    std::string known;
    for (auto const& [each, function] : tasks()) known += text(known.empty() ? "" : ", ", each);
    throw UsageError(text("there is no task '", name, "' (there are: ", known,
                          "). Call sinew_task_register before sinew_start"));
}

int append_text(void* to, void const* bytes, size_t count) {
    return guarded([&] {
        auto const* const first = static_cast<char const*>(bytes);
        if (count > 0) required(first, "the bytes");
        static_cast<std::string*>(to)->append(first, count);
    });
}

}  // namespace

/// What the workers of a C program execute.
std::string run_task(std::string const& name, std::string const& argument) {
    std::string result;
    int const code = task_named(name)(argument.data(), argument.size(), append_text, &result);
    if (code != 0)
        throw Error(text("task '", name, "' returned ", code, result.empty() ? "" : ": ", result));
    return result;
}

namespace {

std::string result_of(AsyncResult<std::string> const& result) {
    try {
        return result.get();
    } catch (WorkerDied const& error) {
        throw TaskFailed(error.what(), SINEW_TASK_DIED);
    } catch (Cancelled const& error) {
        throw TaskFailed(error.what(), SINEW_TASK_CANCELLED);
    } catch (Error const& error) {
        // Errors of the pool itself are no RemoteException.
        if (dynamic_cast<RemoteException const*>(&error) == nullptr) throw;
        throw TaskFailed(error.what(), SINEW_TASK_RETURNED);
    }
}

/// Waits in pieces, between which the program may interrupt. Returns whether the task has ended.
bool wait_for(AsyncResult<std::string> const& result, std::chrono::steady_clock::time_point until) {
    using Clock = std::chrono::steady_clock;
    for (;;) {
        auto const now = Clock::now();
        if (now >= until) return result.ready();
        std::chrono::nanoseconds const piece = interrupt_check_interval;
        if (result.wait_for(std::min<std::chrono::nanoseconds>(piece, until - now))) return true;
        if (interrupted())
            throw Interrupted("the wait for a task was interrupted by its program. It continues");
    }
}

}  // namespace

}  // namespace sinew::c_api

using namespace sinew;
using namespace sinew::c_api;

int sinew_task_register(char const* name, sinew_task function) {
    return guarded([&] {
        required(function, "the function of the task");
        std::string const words = &required(name, "the name of the task");
        if (started)
            throw UsageError(text("task '", words,
                                  "' is registered after sinew_start, so that "
                                  "workers would not know it. Register it before"));
        if (!tasks().emplace(words, function).second)
            throw UsageError(text("there is a task '", words, "' already"));
    });
}

int sinew_start(int argc, char** argv) {
    return guarded([&] {
        started = true;
        init(argc, argv);
    });
}

int sinew_pool_create(sinew_pool_options const* options, sinew_pool** pool) {
    return guarded([&] {
        required(pool, "the pointer for the pool");
        if (!started)
            throw UsageError(
                "a pool was created before sinew_start, at which its workers begin. "
                "Call that at the beginning of main()");
        sinew_pool_options given = SINEW_POOL_OPTIONS_INIT;
        if (options != nullptr) {
            require_size(options->size, sizeof given, "SINEW_POOL_OPTIONS_INIT");
            given = *options;
        }
        if (given.workers < 0 || given.retries < 0 || given.time_limit_ns < 0)
            throw UsageError(text("a pool of ", given.workers, " workers, ", given.retries,
                                  " retries and a time limit of ", given.time_limit_ns,
                                  " ns (expected none below 0)"));
        PoolOptions of_pool;
        int const most = std::max(given.workers, given.most_workers);
        if (most > 0) of_pool.workers = Workers(std::max(given.workers, 1), most);
        of_pool.progress = given.progress != 0 ? Progress::on : Progress::off;
        TaskOptions of_tasks;
        of_tasks.retries = given.retries;
        of_tasks.hard_limit = std::chrono::nanoseconds(given.time_limit_ns);
        *pool = std::make_unique<sinew_pool>(std::move(of_pool), of_tasks).release();
    });
}

int sinew_pool_submit(sinew_pool* pool, char const* task, void const* argument, size_t size,
                      sinew_result** result) {
    return guarded([&] {
        required(result, "the pointer for the result");
        PoolCalls const& calls = required(pool, "the pool").calls;
        std::string const name = &required(task, "the name of the task");
        task_named(name);
        auto const* const first = static_cast<char const*>(argument);
        if (size > 0) required(first, "the argument");
        *result = new sinew_result{calls.apply_async<run_task>(name, std::string(first, size))};
    });
}

int sinew_pool_terminate(sinew_pool* pool) {
    return guarded([&] { required(pool, "the pool").pool.terminate(); });
}

void sinew_pool_destroy(sinew_pool* pool) { delete pool; }

int sinew_result_wait_for(sinew_result* result, int64_t limit_ns, int* done) {
    return guarded([&] {
        required(done, "the pointer for whether it is done");
        auto const until = detail::deadline_after(std::chrono::nanoseconds(limit_ns));
        *done = wait_for(required(result, "the result").result, until) ? 1 : 0;
    });
}

int sinew_result_get(sinew_result* result, void const** bytes, size_t* size) {
    return guarded([&] {
        required(bytes, "the pointer for the bytes");
        required(size, "the pointer for their number");
        sinew_result& of = required(result, "the result");
        wait_for(of.result, std::chrono::steady_clock::time_point::max());
        std::lock_guard const lock(of.mutex);
        if (!of.bytes) of.bytes = result_of(of.result);
        *bytes = of.bytes->data();
        *size = of.bytes->size();
    });
}

void sinew_result_destroy(sinew_result* result) { delete result; }
