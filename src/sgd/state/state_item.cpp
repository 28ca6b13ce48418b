// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/state/state_item.hpp"

#include <cstring>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::sgd {

// Not by a stream, which leaves out what it has no memory for.
std::string StateItem::description() const {
    if (save) return name + ": bytes";
    return name + ": " + std::string(elements.type.name()) + " x " + std::to_string(elements.count);
}

void StateItem::take(std::span<std::byte const> stored) const {
    if (load) load(stored);
    else if (!stored.empty()) std::memcpy(elements.data, stored.data(), stored.size());
}

void describe(std::span<StateItem const> items, PartContent& content) {
    std::vector<StoredItem> stored;
    for (StateItem const& item : items) {
        std::span<std::byte const> bytes = item.bytes();
        if (item.save) bytes = content.memory().emplace_back(item.save());
        stored.push_back({item.description(), bytes});
    }
    content.describe(stored);
}

std::vector<StoredItem> matching(std::span<std::byte const> content,
                                 std::span<StateItem const> added) {
    auto stored = items_of(content);
    std::vector<std::string> descriptions;
    for (StateItem const& item : added) descriptions.push_back(item.description());
    auto const differs = difference(stored, descriptions);
    if (!differs.empty())
        throw UsageError(text("the commit is of another program: ", differs,
                              ". Name another folder, or add what the commit has"));
    for (std::size_t i = 0; i < added.size(); ++i)
        if (!added[i].load && stored[i].bytes.size() != added[i].elements.bytes())
            throw DecodeError(text("\"", added[i].name, "\" has ", stored[i].bytes.size(),
                                   " bytes instead of ", added[i].elements.bytes()));
    return stored;
}

}  // namespace sinew::sgd
