// SPDX-License-Identifier: Apache-2.0
#include <sinew/call.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>

#include "src/base/text.hpp"
#include "src/task/demangle.hpp"
#include "src/task/registry.hpp"

namespace sinew::detail {

namespace {

// Entries arrive before main(), in any order and before other objects here are made; later from
// libraries that are loaded, in any thread.
constinit std::atomic<TaskEntry const*> newest{nullptr};
constinit std::mutex table_guard;

/// All entries, ordered by their ids; made again when a library has brought more.
TaskTable const& table_of_now() {
    static TaskTable& table = *new TaskTable;  // outlives whoever asks at exit
    TaskEntry const* const first = newest.load(std::memory_order_acquire);
    if (table.newest != first) table = TaskTable(first);
    return table;
}

}  // namespace

TaskEntry::TaskEntry(Run run_, Make make_, char const* name_, Meta meta_, char const* object_)
    : run(run_), make(make_), name(name_), meta(meta_), object(object_),
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
    constexpr int offset_bits = 48;
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
        refuse("a type's own function threw what is no std::exception");
    }
    std::abort();  // not reached
}

std::string task_name(TaskEntry const& entry) {
    // "sinew::Task<&(simulate(Config, int))>": the function is all of it that people know.
    std::string_view constexpr front = "sinew::Task<";
    std::string name = demangle(entry.name);
    if (!name.starts_with(front)) return name;
    name = name.substr(front.size(), name.size() - front.size() - 1);
    if (name.starts_with('&')) name.erase(0, 1);
    if (name.starts_with('(') && name.ends_with(')') && !name.starts_with("(anonymous"))
        name = name.substr(1, name.size() - 2);
    return name;
}

}  // namespace sinew::detail
