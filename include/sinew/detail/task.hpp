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

/// The name of a task between processes of one program: the index of the module (executable or
/// shared library) that holds its entry, and the entry's distance from the module's base. The same
/// under address space randomisation; unique by construction (functions are not: linkers fold equal
/// ones); looked up in the table of registered tasks, never followed.
struct TaskId {
    std::uint64_t value = 0;  ///< module index << 48 | offset
    friend bool operator==(TaskId, TaskId) = default;
};

/// What can be called from another process: one for each function and list of arguments that the
/// program mentions, linked into the table before main() begins, or when a library is loaded. The
/// library stays loaded.
struct TaskEntry {
    /// Decodes the arguments, calls, and encodes the result; lets exceptions through. Arguments that
    /// cannot be decoded are a DecodeError, and none of their bytes are taken.
    using Run = void (*)(void* function, Reader& arguments, Writer& result);
    /// Makes the function object of its encoded state; null for functions without state.
    using Make = std::shared_ptr<void> (*)(Reader& state);

    TaskEntry(Run run_, Make make_, char const* name_, Meta meta_ = {},
              char const* object_ = nullptr, Persistence const* keeping_ = nullptr);
    TaskEntry(TaskEntry const&) = delete;
    Run run;
    Make make;
    char const* name;            ///< of the function's type, mangled: see task_name()
    Meta meta;                   ///< of a process that is started for it
    char const* object;          ///< the type whose method it is, mangled; null: it is none
    Persistence const* keeping;  ///< of what a constructor makes; null: its state cannot be saved
    TaskEntry const* next;
};

TaskId id_of(TaskEntry const& entry);
/// Null: no such task in this program.
TaskEntry const* find_task(TaskId id);
/// "simulate(Config, int)"; of a lambda "main::{lambda(int)#1}".
std::string task_name(TaskEntry const& entry);

/// Whether two processes run the same program: the build-ids of the executable, of all modules that
/// hold tasks and of sinew (where one has none: the file's SHA-256), the number and a digest of the
/// tasks, and the machine's byte order and word size.
struct ProgramIdentity {
    /// To be compared, and shown: "build 70766e…, 14 tasks (51aa…), little endian 64 bit".
    std::string text;
    friend bool operator==(ProgramIdentity const&, ProgramIdentity const&) = default;
};
/// As it was at the first call.
ProgramIdentity const& program_identity();

}  // namespace detail
}  // namespace sinew
