// SPDX-License-Identifier: Apache-2.0
#include "src/manager/restart/snapshot_folder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <sinew/detail/task.hpp>
#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "src/base/text.hpp"
#include "src/task/demangle.hpp"

namespace sinew::manager {
namespace {

constexpr std::string_view object_prefix = "object-", state_prefix = "state-";

std::optional<std::uint64_t> number_of(std::string_view name, std::string_view prefix) {
    if (!name.starts_with(prefix)) return std::nullopt;
    name.remove_prefix(prefix.size());
    std::uint64_t number = 0;
    auto const end = std::from_chars(name.data(), name.data() + name.size(), number);
    if (end.ec != std::errc() || end.ptr != name.data() + name.size()) return std::nullopt;
    return number;
}

std::string object_file(std::uint64_t number) { return text(object_prefix, number); }
std::string state_file(std::uint64_t number) { return text(state_prefix, number); }

}  // namespace

SnapshotFolder::SnapshotFolder(std::string const& path)
    : folder_(std::make_shared<StateFolder const>(path)) {
    load();
}

void SnapshotFolder::load() {
    std::vector<std::uint64_t> numbers;
    auto const names = folder_->names();
    for (auto const& name : names)
        if (auto const number = number_of(name, object_prefix)) numbers.push_back(*number);
    // A state file without its object file is removed: a later object may get the same number.
    for (auto const& name : names)
        if (auto const number = number_of(name, state_prefix);
            number && std::ranges::find(numbers, *number) == numbers.end())
            folder_->remove(name);
    std::ranges::sort(numbers, std::greater());
    if (!numbers.empty()) numbers_ = numbers.front();
    // A name belongs to the newest object that has it: the older object could not be made again
    // when the newer one was published.
    std::set<std::string> taken;
    for (auto const number : numbers) {
        auto entry = read(number);
        std::erase_if(entry.names, [&](auto const& name) { return !taken.insert(name).second; });
        if (!entry.names.empty()) {
            found_.push_back(std::move(entry));
            continue;
        }
        folder_->remove(object_file(number));
        folder_->remove(state_file(number));
    }
    std::ranges::reverse(found_);
}

SnapshotStore::Entry SnapshotFolder::read(std::uint64_t number) const {
    auto const bytes = folder_->read(object_file(number));
    if (!bytes) throw DecodeError(text(path(), '/', object_file(number), " is no longer there"));
    Reader reader(*bytes);
    SnapshotStore::Entry entry;
    entry.file = number;
    entry.constructor = decode<std::uint64_t>(reader);
    entry.parallel = decode<std::uint64_t>(reader);
    auto const type = decode<std::string>(reader);
    for (auto& name : decode<std::vector<std::string>>(reader)) entry.names.insert(std::move(name));
    if (entry.names.empty())
        throw DecodeError(text(path(), '/', object_file(number), " has no name"));
    auto const arguments = reader.take(reader.left());
    entry.arguments =
        std::make_shared<SnapshotStore::Bytes const>(arguments.begin(), arguments.end());
    entry.detached = true;
    if (detail::find_task({entry.constructor}) == nullptr)
        throw UsageError(
            text(path(), " has a ", detail::demangle(type.c_str()), ", published as ",
                 *entry.names.begin(),
                 ", which this program does not know how to construct (its constructor takes other "
                 "arguments, or its library is not loaded yet). Remove ",
                 object_file(number), " there to start without it"));
    if (auto state = folder_->read(state_file(number)))
        entry.state = std::make_shared<SnapshotStore::Bytes const>(std::move(*state));
    return entry;
}

std::function<void()> SnapshotFolder::writing(SnapshotStore::Entry const& entry, bool whole) const {
    return [folder = folder_, entry, whole] {
        if (whole) {
            auto const* const constructor = detail::find_task({entry.constructor});
            Writer head;
            encode(head, entry.constructor);
            encode(head, entry.parallel);
            encode(head, std::string(constructor == nullptr ? "" : constructor->name));
            encode(head, std::vector<std::string>(entry.names.begin(), entry.names.end()));
            std::array<std::span<std::byte const>, 2> const parts{head.bytes(), *entry.arguments};
            folder->write(object_file(entry.file), parts);
        }
        if (!entry.state) return;
        std::array<std::span<std::byte const>, 1> const state{*entry.state};
        folder->write(state_file(entry.file), state);
    };
}

}  // namespace sinew::manager
