// SPDX-License-Identifier: Apache-2.0
#include <sinew/this_manager.hpp>

#include "src/manager/desk.hpp"

namespace sinew::detail {

std::shared_ptr<ObjectEnd> make_here(TaskEntry const& maker, Writer& arguments, unsigned calls) {
    auto& desk = manager::Desk::instance();
    {
        auto const lock = desk.mail().lock();
        if (desk.server() == nullptr)
            throw UsageError(
                "sinew::this_manager::create in a process that is no manager. Use it "
                "in methods of objects that live in one, or Manager::create");
    }
    // What the constructor encodes in its turn would overwrite them.
    auto const encoded = arguments.bytes().subspan(sizeof(manager::CallHead));
    std::vector<std::byte> const bytes(encoded.begin(), encoded.end());
    Reader reader(bytes);
    auto instance = maker.make(reader);
    auto const lock = desk.mail().lock();
    auto const connection = desk.here();
    auto const id = desk.server()->add_made(maker, calls, std::move(instance), bytes);
    return desk.object(connection, id, maker.name, true);
}

}  // namespace sinew::detail
