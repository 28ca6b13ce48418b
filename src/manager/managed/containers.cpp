// SPDX-License-Identifier: Apache-2.0
#include <sinew/managed/queue.hpp>
#include <sinew/managed/space.hpp>
#include <sinew/manager.hpp>
#include <stdexcept>

#include "src/base/text.hpp"
#include "src/task/demangle.hpp"

namespace sinew::detail {

void refuse_index(char const* what, std::size_t index, std::size_t size) {
    throw std::out_of_range(text("index ", index, " of ", what, " of size ", size));
}

void refuse_slice(char const* what, std::size_t first, std::size_t count, std::size_t size) {
    throw std::out_of_range(
        text(count, " elements from index ", first, " of ", what, " of size ", size));
}

void refuse_key(std::size_t size) {
    throw std::out_of_range(text("there is no such key in a dictionary of ", size, " entries"));
}

PeerLost lost_items(std::size_t count) {
    return PeerLost(text(count,
                         " items of a queue were held by processes that ended before they reported "
                         "them done. Put them into a new queue"));
}

void refuse_name(std::string const& name) {
    throw std::out_of_range(text("a namespace has no ", name));
}

void refuse_type(std::string const& name, char const* is, char const* wanted) {
    throw UsageError(text("a namespace's ", name, " is a ", demangle(is), ", not a ",
                          demangle(wanted), ". Get it as what it was set as"));
}

}  // namespace sinew::detail

namespace sinew::managed {

std::vector<std::string> SpaceObject::names() const {
    std::vector<std::string> all;
    for (auto const& each : values_) all.push_back(each.first);
    return all;
}

}  // namespace sinew::managed

namespace sinew {

managed::Space Manager::space() { return managed::Space(create<managed::SpaceObject>()); }

}  // namespace sinew
