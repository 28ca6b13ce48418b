// SPDX-License-Identifier: Apache-2.0
#include <sinew/detail/call.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>

#include "src/base/text.hpp"
#include "src/task/demangle.hpp"
#include "src/task/registry.hpp"

namespace sinew::detail {

namespace {

// In the ids of functions and tasks the offset within the module takes this many low bits; the
// module's index is above them.
constexpr int offset_bits = 48;

// Entries register before main(), in any order and even before other objects of this file are
// constructed; later also from libraries being loaded, in any thread.
constinit std::atomic<TaskEntry const*> newest{nullptr};
constinit std::mutex table_guard;

/// Returns all entries, rebuilt if a library has registered more. Requires: table_guard held.
TaskTable const& table_of_now() {
    static TaskTable& table = *new TaskTable;  // never destroyed: may be used during exit
    TaskEntry const* const first = newest.load(std::memory_order_acquire);
    if (table.newest != first) table = TaskTable(first);
    return table;
}

/// Returns the part of `name` between `front` and the closing '>'.
std::string_view within(std::string_view name, std::string_view front) {
    return name.substr(front.size(), name.size() - front.size() - 1);
}

/// Returns the index of the second template argument, or the size if there is only one.
std::size_t after_first(std::string_view arguments) {
    int depth = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        char const here = arguments[i];
        if (here == '<' || here == '(' || here == '{') ++depth;
        if (here == '>' || here == ')' || here == '}') --depth;
        if (depth == 0 && arguments.substr(i).starts_with(", ")) return i + 2;
    }
    return arguments.size();
}

}  // namespace

TaskEntry::TaskEntry(Run run_, Make make_, char const* name_, Meta meta_, char const* object_,
                     Persistence const* persistence_)
    : run(run_), make(make_), name(name_), meta(meta_), object(object_), persistence(persistence_),
      next(newest.load(std::memory_order_relaxed)) {
    while (!newest.compare_exchange_weak(next, this, std::memory_order_release)) {}
}

TaskTable::TaskTable(TaskEntry const* first) : newest(first), modules(loaded_modules()) {
    for (TaskEntry const* entry = first; entry != nullptr; entry = entry->next) {
        auto const at = reinterpret_cast<std::uintptr_t>(entry);
        auto const home = std::ranges::find_if(modules, [at](auto& m) { return m.holds(at); });
        if (home != modules.end()) home->tasks = true;
    }
    std::erase_if(modules, [](Module const& module) { return !module.tasks; });
    for (TaskEntry const* entry = first; entry != nullptr; entry = entry->next)
        rows.emplace_back(id_in(modules, *entry).value, entry);
    std::ranges::sort(rows);
}

TaskId id_in(std::vector<Module> const& modules, TaskEntry const& entry) {
    auto const at = reinterpret_cast<std::uintptr_t>(&entry);
    for (std::uint64_t i = 0; i < modules.size(); ++i)
        if (modules[i].holds(at)) return {i << offset_bits | (at - modules[i].base)};
    throw UsageError(text("task ", task_name(entry), " is in no loaded module (its entry is at ",
                          &entry, "). Entries are static, made by the library itself"));
}

TaskTable task_table() {
    std::scoped_lock const lock(table_guard);
    return table_of_now();
}

TaskId id_of(TaskEntry const& entry) {
    std::scoped_lock const lock(table_guard);
    return id_in(table_of_now().modules, entry);
}

TaskEntry const* find_task(TaskId id) {
    std::scoped_lock const lock(table_guard);
    auto const& rows = table_of_now().rows;
    auto const found = std::ranges::lower_bound(rows, id.value, {}, &TaskTable::Row::first);
    return found != rows.end() && found->first == id.value ? found->second : nullptr;
}

std::uint64_t place_of_function(void (*function)()) {
    auto const at = reinterpret_cast<std::uintptr_t>(function);
    std::scoped_lock const lock(table_guard);
    auto const& modules = table_of_now().modules;
    for (std::uint64_t i = 0; i < modules.size(); ++i)
        if (modules[i].holds_code(at)) return i << offset_bits | (at - modules[i].base);
    throw UsageError(text(function == nullptr
                              ? "a null pointer cannot be called as a task"
                              : "a function of a library that holds no tasks has no "
                                "name in other processes",
                          " (", reinterpret_cast<void*>(at),
                          "). Name it at compile time, as map<f> or sinew::task<f>"));
}

void (*function_at(std::uint64_t place))() {
    auto const index = place >> offset_bits;
    std::scoped_lock const lock(table_guard);
    auto const& modules = table_of_now().modules;
    if (index < modules.size()) {
        auto const at = modules[index].base + (place & ((std::uint64_t{1} << offset_bits) - 1));
        if (modules[index].holds_code(at)) return reinterpret_cast<void (*)()>(at);
    }
    throw DecodeError(text("there is no function at ", place, " in this program"));
}

void refuse_arguments() {
    auto const refuse = [](char const* why) {
        std::throw_with_nested(DecodeError(text("cannot decode a task's arguments (", why, ")")));
    };
    try {
        throw;
    } catch (DecodeError const&) {
        throw;
    } catch (std::bad_alloc const&) {
        throw;
    } catch (std::exception const& error) {
        refuse(error.what());
    } catch (...) {
        refuse("a type's own function threw something that is not a std::exception");
    }
    std::abort();  // not reached
}

std::string task_name(TaskEntry const& entry) {
    // "sinew::Task<&(simulate(Config, int))>" or "sinew::detail::Method<Counter, &Counter::add>":
    // users know only the function.
    std::string name = demangle(entry.name);
    std::string_view function = name;
    constexpr std::string_view task = "sinew::Task<", method = "sinew::detail::Method<",
                               plain = "sinew::detail::PlainFunction<";
    // For a function passed as a pointer only the type is known: "int (*)(double)".
    if (function.starts_with(plain)) return "a function " + std::string(within(function, plain));
    if (function.starts_with(task)) {
        function = within(function, task);
    } else if (function.starts_with(method)) {
        function = within(function, method);
        if (auto const comma = after_first(function); comma < function.size())
            function.remove_prefix(comma);
    } else {
        return name;
    }
    if (function.starts_with('&')) function.remove_prefix(1);
    if (function.starts_with('(') && function.ends_with(')') && !function.starts_with("(anonymous"))
        function = function.substr(1, function.size() - 2);
    return std::string(function);
}

}  // namespace sinew::detail
