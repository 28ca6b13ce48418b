// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/parameters.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/comm/device/device_memory.hpp"
#include "src/sgd/agreement.hpp"
#include "src/sgd/content_hash.hpp"

namespace sinew::sgd {

namespace {

/// Parameters up to this size are broadcast together.
constexpr std::size_t small_parameter = std::size_t{64} << 10;

bool is_on_device(Buffer const& buffer) {
    return buffer.data != nullptr && detail::is_device_memory(buffer.data, buffer.bytes());
}

}  // namespace

std::uint64_t hash_of_shapes(std::span<Buffer const> parameters, int root) {
    ContentHash shape;
    shape.add(static_cast<std::uint64_t>(root));
    for (Buffer const& buffer : parameters)
        shape.add(buffer.count)
            .add(buffer.type.size())
            .add(static_cast<std::uint64_t>(buffer.type.kind()))
            .add(std::uint64_t{buffer.data == nullptr && buffer.count > 0})
            .add(std::uint64_t{is_on_device(buffer)});
    return shape.value();
}

void copy_from_root(Communicator& comm, std::span<Buffer const> parameters, int root,
                    std::chrono::nanoseconds timeout, std::string_view caller) {
    if (root < 0 || root >= comm.size())
        throw UsageError(
            text(caller, ": root ", root, " (must be between 0 and ", comm.size() - 1, ")"));
    for (std::size_t i = 0; i < parameters.size(); ++i)
        if (parameters[i].data == nullptr && parameters[i].count > 0)
            throw UsageError(text(caller, ": buffer ", i, " has ", parameters[i].count,
                                  " elements at address null"));
    for (std::size_t i = 0; i < parameters.size(); ++i)
        if (is_on_device(parameters[i]))
            throw UsageError(text(caller, ": buffer ", i,
                                  " is in the memory of a GPU. Communicator::broadcast takes it"));
    CallOptions const call{.timeout = timeout};
    std::vector<std::byte> small;
    for (Buffer const& buffer : parameters) {
        auto const* const from = static_cast<std::byte const*>(buffer.data);
        if (buffer.bytes() > small_parameter) comm.broadcast(buffer, root, call);
        else small.insert(small.end(), from, from + buffer.bytes());
    }
    comm.broadcast(small, root, call);
    ContentHash content;
    auto const* from = small.data();
    for (Buffer const& buffer : parameters) {
        if (buffer.bytes() <= small_parameter) {
            std::copy_n(from, buffer.bytes(), static_cast<std::byte*>(buffer.data));
            from += buffer.bytes();
        }
        content.add(buffer.data, buffer.bytes());
    }
    auto const notices =
        exchange(comm, {.kind = Notice::Kind::content, .value = content.value()}, timeout);
    for (int rank = 0; rank < comm.size(); ++rank)
        if (notices[static_cast<std::size_t>(rank)] != notices[static_cast<std::size_t>(root)])
            throw Error(text("after ", caller, ' ', rank_text(comm, rank), " has other bits than ",
                             rank_text(comm, root),
                             ". Do buffers overlap, or does another thread write to them?"));
}

}  // namespace sinew::sgd
