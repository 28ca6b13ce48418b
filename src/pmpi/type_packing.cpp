// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/type_packing.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/pmpi/real.hpp"

namespace sinew::pmpi {

namespace {

void check(int code, int position, std::size_t expected, char const* what) {
    if (code == MPI_SUCCESS && static_cast<std::size_t>(position) == expected) return;
    throw BackendError(
        text(what, " of ", expected, " bytes gave ", position, " bytes and code ", code), code);
}

/// A type for a buffer, or for one at MPI_BOTTOM, which is null: MPI_Pack of MPICH refuses that. It
/// then is the type moved by the address of another place, which is passed as the buffer.
class Anchored {
public:
    Anchored(MPI_Datatype type, void const* buffer)
        : type_(type), buffer_(const_cast<void*>(buffer)) {
        if (buffer != nullptr) return;
        int const one = 1;
        MPI_Aint const back = -reinterpret_cast<MPI_Aint>(&place_);
        real().Type_create_hindexed(1, &one, &back, type, &type_);
        real().Type_commit(&type_);
        buffer_ = &place_;
        made_ = true;
    }
    Anchored(Anchored const&) = delete;
    Anchored& operator=(Anchored const&) = delete;
    ~Anchored() {
        if (made_) real().Type_free(&type_);
    }
    MPI_Datatype type() const { return type_; }
    void* buffer() const { return buffer_; }

private:
    MPI_Datatype type_;
    void* buffer_;
    char place_ = 0;
    bool made_ = false;
};

}  // namespace

/// A copy in host memory of elements in the memory of a GPU, with the gaps between their data.
class TypePacking::Host {
public:
    Host(TypePacking const& device, void const* buffer, std::size_t elements)
        : host_(device.type_, false), device_(const_cast<void*>(buffer)) {
        MPI_Aint low = 0, bytes = 0;
        real().Type_get_true_extent(device.type_, &low, &bytes);
        std::ptrdiff_t const last =
            static_cast<std::ptrdiff_t>(elements - 1) * device.layout_.extent;
        first_ = low + std::min<std::ptrdiff_t>(last, 0);
        bytes_.resize(static_cast<std::size_t>(bytes + std::abs(last)));
        copy_from_device(bytes_.data(), static_cast<std::byte const*>(buffer) + first_,
                         bytes_.size());
    }
    TypePacking const& packing() const { return host_; }
    /// The place of the buffer's beginning, which need not be in the copy.
    void* buffer() {
        return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(bytes_.data()) -
                                       static_cast<std::uintptr_t>(first_));
    }
    void write_back() const {
        copy_to_device(static_cast<std::byte*>(device_) + first_, bytes_.data(), bytes_.size());
    }

private:
    TypePacking host_;
    void* device_;
    std::ptrdiff_t first_ = 0;  // of the data, from the buffer's beginning
    std::vector<std::byte> bytes_;
};

/// MPI_Pack counts bytes by int.
std::size_t TypePacking::elements_at_once() const {
    constexpr std::size_t most = std::size_t{1} << 30;
    return std::max<std::size_t>(most / std::max<std::size_t>(layout_.size, 1), 1);
}

void TypePacking::pack(std::byte* bytes, void const* buffer, std::size_t elements) const {
    std::size_t const all = this->bytes(elements);
    if (all == 0) return;
    if (flat()) {
        if (bytes != buffer) std::memmove(bytes, buffer, all);
        return;
    }
    if (on_device_) {
        if (layout_.flat) return copy_from_device(bytes, buffer, all);
        Host host(*this, buffer, elements);
        return host.packing().pack(bytes, host.buffer(), elements);
    }
    for (std::size_t done = 0; done < elements;) {
        std::size_t const n = std::min(elements_at_once(), elements - done);
        int position = 0;
        Anchored const from(type_, at(buffer, static_cast<std::ptrdiff_t>(done)));
        int const code = real().Pack(from.buffer(), static_cast<int>(n), from.type(), bytes,
                                     static_cast<int>(this->bytes(n)), &position, MPI_COMM_SELF);
        check(code, position, this->bytes(n), "MPI_Pack");
        bytes += this->bytes(n);
        done += n;
    }
}

void TypePacking::unpack(void* buffer, std::byte const* bytes, std::size_t elements) const {
    std::size_t const all = this->bytes(elements);
    if (all == 0) return;
    if (flat()) {
        if (bytes != buffer) std::memmove(buffer, bytes, all);
        return;
    }
    if (on_device_) {
        if (layout_.flat) return copy_to_device(buffer, bytes, all);
        Host host(*this, buffer, elements);
        host.packing().unpack(host.buffer(), bytes, elements);
        return host.write_back();
    }
    for (std::size_t done = 0; done < elements;) {
        std::size_t const n = std::min(elements_at_once(), elements - done);
        int position = 0;
        Anchored const to(type_, at(buffer, static_cast<std::ptrdiff_t>(done)));
        int const code = real().Unpack(bytes, static_cast<int>(this->bytes(n)), &position,
                                       to.buffer(), static_cast<int>(n), to.type(), MPI_COMM_SELF);
        check(code, position, this->bytes(n), "MPI_Unpack");
        bytes += this->bytes(n);
        done += n;
    }
}

}  // namespace sinew::pmpi
