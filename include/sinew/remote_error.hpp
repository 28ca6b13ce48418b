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

/// An exception as it travels.
struct ErrorRecord {
    struct Cause {
        std::string type, what;
    };
    std::string type, what;     ///< "std::out_of_range"; what() of no std::exception: "unknown"
    std::vector<Cause> causes;  ///< nested exceptions (std::throw_with_nested), outermost first
    std::string category;       ///< of an exception with a code: "generic", "system", ...
    std::int32_t code = 0;      ///< errno for SystemError, the library's own for BackendError
    std::string function;       ///< of the task
    std::string host;
    pid_t pid = 0;
    std::uint64_t task = 0;  ///< index within its map; 0 for a single task
    std::uint32_t attempt = 1;

    /// "simulate(Config), task 17, attempt 2, pid 4711 on node-b: std::out_of_range: no such cell
    /// (caused by ...)".
    std::string text() const;
    void encode_to(Writer& writer) const;
    static ErrorRecord decode_from(Reader& reader);
};

/// What exceptions that were thrown in another process have in common; no std::exception itself, so
/// that `catch (std::exception const&)` takes them once.
class RemoteException {
public:
    explicit RemoteException(ErrorRecord record) : record_(std::move(record)) {}
    virtual ~RemoteException() = default;
    ErrorRecord const& record() const noexcept { return record_; }

private:
    ErrorRecord record_;
};

/// An exception of a known type, thrown again: `catch (std::out_of_range const&)` finds it. what() is
/// the original's.
template <class E>
class RemoteAs : public E, public RemoteException {
public:
    explicit RemoteAs(ErrorRecord record) : E(record.what), RemoteException(std::move(record)) {}
};

/// A task threw what is not known here (see register_exception). what() is the record's text.
class TaskError : public Error, public RemoteException {
public:
    explicit TaskError(ErrorRecord record)
        : Error(record.text()), RemoteException(std::move(record)) {}
};

/// The task cost a worker its life: a crash, an exit, the out-of-memory killer, or its hard time
/// limit; as often as `retries` allows. what() names signal, host, pid, attempts, and the last lines
/// of the worker's standard error.
class WorkerDied : public Error, public RemoteException {
public:
    enum class Cause : std::uint8_t { crash, out_of_memory, time_limit };
    WorkerDied(ErrorRecord record, Cause cause, bool maybe_executed)
        : Error(record.text()), RemoteException(std::move(record)), cause_(cause),
          maybe_executed_(maybe_executed) {}
    Cause cause() const noexcept { return cause_; }
    /// The task was to be executed at most once, and had begun (wholly, in part) when it was lost.
    bool maybe_executed() const noexcept { return maybe_executed_; }

private:
    Cause cause_;
    bool maybe_executed_;
};

/// The task was cancelled, or dropped because another of its map failed or the pool ended.
class Cancelled : public Error {
public:
    using Error::Error;
};

/// The pool cannot execute anything: its workers do not start. what() has the last one's log.
class PoolBroken : public Error {
public:
    using Error::Error;
};

namespace detail {
/// Of `error`, or of the exception that is being handled where it is null; function, task and
/// attempt left open. An exception that came from another process keeps what its record says.
ErrorRecord describe(std::exception_ptr const& error);
/// The same std type where it is known (those of <stdexcept>, <new>, <system_error>, <filesystem>,
/// <future>, <ios>, <typeinfo>, sinew's own, and registered ones), else TaskError.
std::exception_ptr revive(ErrorRecord record);
void register_revival(char const* mangled, std::exception_ptr (*make)(ErrorRecord));
}  // namespace detail

/// Lets a type of the program's own come back as itself; it must be constructible from its what().
/// Before the first task; in the process that waits for results.
template <class E>
void register_exception() {
    detail::register_revival(typeid(E).name(), [](ErrorRecord record) {
        return std::make_exception_ptr(RemoteAs<E>(std::move(record)));
    });
}

}  // namespace sinew
