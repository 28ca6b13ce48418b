// SPDX-License-Identifier: Apache-2.0
#include <sinew/manager/this_manager.hpp>

#include "src/manager/object_registry.hpp"

namespace sinew::detail {

std::shared_ptr<ObjectEnd> make_here(TaskEntry const& constructor, Writer& arguments,
                                     unsigned calls) {
    auto& registry = manager::ObjectRegistry::instance();
    {
        auto const lock = registry.messenger().lock();
        if (registry.server() == nullptr)
            throw UsageError(
                "sinew::this_manager::create in a process that is not a manager. Use it in methods "
                "of objects that live in one, or Manager::create");
    }
    // Copied, because the constructor may encode arguments into the same writer.
    auto const encoded = arguments.bytes().subspan(sizeof(manager::CallHead));
    std::vector<std::byte> const bytes(encoded.begin(), encoded.end());
    Reader reader(bytes);
    auto instance = constructor.make(reader);
    auto const lock = registry.messenger().lock();
    auto const connection = registry.here();
    auto const id = registry.server()->add_made(constructor, calls, std::move(instance), bytes);
    return registry.object(connection, id, constructor.name, true);
}

}  // namespace sinew::detail
