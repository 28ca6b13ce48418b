// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <sinew/meta.hpp>
#include <sinew/task/codec.hpp>

namespace sinew {

/// A function named at compile time: `Process p(sinew::task<consume>, queue)`.
template <auto F>
struct Task {
    static constexpr Meta meta = meta_of<F>;
};
template <auto F>
inline constexpr Task<F> task{};

namespace detail {

struct Persistence;

/// Identifies a task between processes of one program: the index of the module (executable or
/// shared library) that contains its entry, and the entry's offset from the module's base. The same
/// under address space randomization. Unique by construction (function addresses are not: linkers
/// fold equal functions). Looked up in the table of registered tasks, never dereferenced.
struct TaskId {
    std::uint64_t value = 0;  ///< module index << 48 | offset
    friend bool operator==(TaskId, TaskId) = default;
};

/// A function that can be called from another process. There is one entry for each function and
/// list of argument types that the program mentions. Entries are linked into the table before
/// main() begins, or when a library is loaded; the library stays loaded.
struct TaskEntry {
    /// Decodes the arguments, calls the function, and encodes the result; exceptions pass through.
    /// Throws DecodeError if the arguments cannot be decoded, and then consumes none of their
    /// bytes.
    using Run = void (*)(void* function, Reader& arguments, Writer& result);
    /// Decodes the function object's state; null for functions without state.
    using Make = std::shared_ptr<void> (*)(Reader& state);

    TaskEntry(Run run_, Make make_, char const* name_, Meta meta_ = {},
              char const* object_ = nullptr, Persistence const* persistence_ = nullptr);
    TaskEntry(TaskEntry const&) = delete;
    Run run;
    Make make;
    char const* name;                ///< mangled name of the function's type: see task_name()
    Meta meta;                       ///< resources of a process started for it
    char const* object;              ///< mangled type whose method it is; null: not a method
    Persistence const* persistence;  ///< for constructors; null: the state cannot be saved
    TaskEntry const* next;
};

TaskId id_of(TaskEntry const& entry);
/// Null if this program does not have the task.
TaskEntry const* find_task(TaskId id);
/// "simulate(Config, int)"; for a lambda "main::{lambda(int)#1}".
std::string task_name(TaskEntry const& entry);

/// Identifies a program build: the build-ids of the executable, of all modules with tasks and of
/// sinew (the file's SHA-256 if there is no build-id), the number and a digest of the tasks, and
/// the machine's byte order and word size. Two processes run the same program if they are equal.
struct ProgramIdentity {
    /// For comparison and display: "build 70766e…, 14 tasks (51aa…), little endian 64 bit".
    std::string text;
    friend bool operator==(ProgramIdentity const&, ProgramIdentity const&) = default;
};
/// The identity of this program, determined at the first call.
ProgramIdentity const& program_identity();

}  // namespace detail
}  // namespace sinew
