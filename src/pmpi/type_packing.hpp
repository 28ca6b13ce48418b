// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "src/pmpi/device_buffers.hpp"
#include "src/pmpi/types.hpp"

namespace sinew::pmpi {

/// The elements of one buffer of the program, as the bytes that MPI sends: in both MPIs these are
/// the plain bytes of the data, so that a rank that packs them and one that does not agree.
class TypePacking {
public:
    TypePacking() = default;
    /// Of elements whatever their buffer, or in the memory of a GPU. Requires: not MPI_DATATYPE_NULL.
    explicit TypePacking(MPI_Datatype type, bool on_device = false)
        : type_(type), layout_(layout_of(type)), on_device_(on_device) {}
    /// Of `elements` in a buffer, wherever that is.
    TypePacking(MPI_Datatype type, void const* buffer, std::size_t elements) : TypePacking(type) {
        on_device_ =
            is_on_device(static_cast<std::byte const*>(buffer) + layout_.first, bytes(elements));
    }

    MPI_Datatype type() const { return type_; }
    bool on_device() const { return on_device_; }
    /// Whether the bytes of consecutive elements lie in the buffer, in host memory, as they are sent.
    bool flat() const { return layout_.flat && !on_device_; }
    std::size_t bytes(std::size_t elements) const { return elements * layout_.size; }
    /// The address of an element.
    std::byte* at(void* buffer, std::ptrdiff_t element) const {
        return static_cast<std::byte*>(buffer) + element * layout_.extent;
    }
    std::byte const* at(void const* buffer, std::ptrdiff_t element) const {
        return static_cast<std::byte const*>(buffer) + element * layout_.extent;
    }
    /// Copies elements to their bytes, and back. Throws BackendError if MPI fails.
    void pack(std::byte* bytes, void const* buffer, std::size_t elements) const;
    void unpack(void* buffer, std::byte const* bytes, std::size_t elements) const;

private:
    class Host;

    std::size_t elements_at_once() const;

    MPI_Datatype type_{};
    TypeLayout layout_;
    bool on_device_ = false;
};

}  // namespace sinew::pmpi
