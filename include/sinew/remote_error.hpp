// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <exception>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include <sinew/error.hpp>
#include <sinew/task/codec.hpp>

namespace sinew {

/// An exception as it is sent to another process.
struct ErrorRecord {
    struct Cause {
        std::string type, what;
    };
    std::string type, what;     ///< "std::out_of_range"; what(), or "unknown" for other types
    std::vector<Cause> causes;  ///< nested exceptions (std::throw_with_nested), outermost first
    std::string category;       ///< of the error code, if it has one: "generic", "system", ...
    std::int32_t code = 0;      ///< errno for SystemError, the library's code for BackendError
    std::string function;       ///< name of the task's function
    std::string host;
    pid_t pid = 0;
    std::uint64_t task = 0;  ///< index within its map; 0 for a single task
    std::uint32_t attempt = 1;

    /// Formats the record: "simulate(Config), task 17, attempt 2, pid 4711 on node-b:
    /// std::out_of_range: no such cell (caused by ...)".
    std::string text() const;
    void encode_to(Writer& writer) const;
    static ErrorRecord decode_from(Reader& reader);
};

/// Base of exceptions that were thrown in another process. It does not derive from std::exception,
/// so that `catch (std::exception const&)` is not ambiguous.
class RemoteException {
public:
    explicit RemoteException(ErrorRecord record) : record_(std::move(record)) {}
    virtual ~RemoteException() = default;
    ErrorRecord const& record() const noexcept { return record_; }

private:
    ErrorRecord record_;
};

/// An exception of a known type, thrown again: `catch (std::out_of_range const&)` matches it.
/// what() is that of the original.
template <class E>
class RemoteAs : public E, public RemoteException {
public:
    explicit RemoteAs(ErrorRecord record) : E(record.what), RemoteException(std::move(record)) {}
};

/// A task threw an exception whose type is not known here; see register_exception. what() is the
/// record's text.
class TaskError : public Error, public RemoteException {
public:
    explicit TaskError(ErrorRecord record)
        : Error(record.text()), RemoteException(std::move(record)) {}
};

/// A task ended its worker more than `retries` times: by a crash, an exit, the out-of-memory
/// killer, or its hard time limit. what() names signal, host, pid and attempts, and has the last
/// lines of the worker's standard error.
class WorkerDied : public Error, public RemoteException {
public:
    enum class Cause : std::uint8_t { crash, out_of_memory, time_limit };
    WorkerDied(ErrorRecord record, Cause cause, bool maybe_executed)
        : Error(record.text()), RemoteException(std::move(record)), cause_(cause),
          maybe_executed_(maybe_executed) {}
    Cause cause() const noexcept { return cause_; }
    /// Whether the task was submitted with TaskOptions::at_most_once and may have been executed, in
    /// part or as a whole, before its worker died.
    bool maybe_executed() const noexcept { return maybe_executed_; }

private:
    Cause cause_;
    bool maybe_executed_;
};

/// The task was cancelled, or it was dropped because another task of its map failed or the pool
/// ended.
class Cancelled : public Error {
public:
    using Error::Error;
};

/// The pool cannot execute tasks because its workers do not start. what() has the log of the last
/// worker.
class PoolBroken : public Error {
public:
    using Error::Error;
};

namespace detail {
/// Describes `error`, or the exception being handled if `error` is null; function, task and attempt
/// are not set. An exception that came from another process keeps its record.
ErrorRecord describe(std::exception_ptr const& error);
/// Makes an exception of the same std type if that is known (types of <stdexcept>, <new>,
/// <system_error>, <filesystem>, <future>, <ios>, <typeinfo>, sinew's types, and registered types),
/// otherwise a TaskError.
std::exception_ptr revive(ErrorRecord record);
void register_revival(char const* mangled, std::exception_ptr (*make)(ErrorRecord));
}  // namespace detail

/// Lets exceptions of type E that a task throws be rethrown as E; E must be constructible from its
/// what(). Call it before the first task, in the process that waits for the results.
template <class E>
void register_exception() {
    detail::register_revival(typeid(E).name(), [](ErrorRecord record) {
        return std::make_exception_ptr(RemoteAs<E>(std::move(record)));
    });
}

}  // namespace sinew
