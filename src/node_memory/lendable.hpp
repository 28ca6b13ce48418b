// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sinew::node_memory {

/// Finds which memory of this process the other ranks of the node can access, too.
class Lendable {
public:
    virtual ~Lendable() = default;
    /// Returns an offset, never 0, that means these bytes in every process of the node; 0 if they
    /// do not all lie in shared memory.
    virtual std::uint64_t offset_of(void const* data, std::size_t bytes) const = 0;
    /// The address of an offset in this process.
    virtual std::byte* at(std::uint64_t offset) const = 0;
    /// Whether all ranks of the node can read each other's private memory by read_private.
    virtual bool reads_private() const { return false; }
};

}  // namespace sinew::node_memory
