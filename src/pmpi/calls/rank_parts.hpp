// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "src/pmpi/collective_call.hpp"
#include "src/pmpi/type_packing.hpp"

/// The buffers of the collectives that move data. All types are taken, since MPI requires only equal
/// signatures of the ranks: one may send vectors to others that receive single numbers. What is not one
/// block in memory travels packed.
namespace sinew::pmpi {

/// A buffer in which each rank has a part: equal parts or, with `counts`, listed ones. Nothing is
/// owned.
template <class Count, class Displacement>
struct RankParts {
    Count const* counts = nullptr;          ///< null: `count` elements for each rank
    Displacement const* offsets = nullptr;  ///< in elements
    MPI_Count count = 0;

    std::size_t elements(int rank) const {
        return static_cast<std::size_t>(counts != nullptr ? counts[rank] : count);
    }
    std::ptrdiff_t offset(int rank) const {
        return static_cast<std::ptrdiff_t>(offsets != nullptr ? offsets[rank] : rank * count);
    }
    /// The packing of a buffer that has them.
    TypePacking packing(MPI_Datatype type, void const* buffer, int ranks) const {
        TypePacking const plain(type);
        for (int r = 0; r < ranks; ++r)
            if (elements(r) > 0) return {type, plain.at(buffer, offset(r)), elements(r)};
        return plain;
    }
    /// Whether MPI would accept them.
    bool valid(int ranks) const {
        if (counts == nullptr) return count >= 0;
        if (offsets == nullptr) return false;
        for (int r = 0; r < ranks; ++r)
            if (counts[r] < 0) return false;
        return true;
    }
};

/// The parts of a buffer as bytes: where they lie if the type is flat, else in a packed copy.
class PartBytes {
public:
    template <class P>
    PartBytes(CallScratch& scratch, P const& parts, TypePacking const& packing, void* buffer,
              int ranks)
        : flat_(packing.flat()) {
        if (parts.counts == nullptr) {
            std::size_t const one = packing.bytes(static_cast<std::size_t>(parts.count));
            blocks_ = collectives::Blocks::equal(one, 1);
            total_ = one * static_cast<std::size_t>(ranks);
        } else {
            auto const n = static_cast<std::size_t>(ranks);
            auto const bytes = scratch.take_array<std::size_t>(n);
            auto const offsets = scratch.take_array<std::size_t>(n);
            for (int r = 0; r < ranks; ++r) {
                auto const i = static_cast<std::size_t>(r);
                bytes[i] = packing.bytes(parts.elements(r));
                // A negative offset wraps around, and back when it is added to the address.
                offsets[i] = flat_ ? static_cast<std::size_t>(packing.at(buffer, parts.offset(r)) -
                                                              static_cast<std::byte*>(buffer))
                                   : total_;
                total_ += bytes[i];
            }
            blocks_ = collectives::Blocks::listed(bytes, offsets, 1);
        }
        data_ = flat_ ? static_cast<std::byte*>(buffer) : scratch.take(total_);
    }

    bool flat() const { return flat_; }
    std::byte* data() const { return data_; }
    std::byte* of(int rank) const { return data_ + blocks_[rank].offset; }
    std::size_t bytes(int rank) const { return blocks_[rank].bytes; }
    collectives::Blocks const& blocks() const { return blocks_; }
    std::size_t total() const { return total_; }

    /// Copy one rank's part from the buffer, or to it, if the type is not flat.
    template <class P>
    void pack(P const& parts, TypePacking const& packing, void const* buffer, int rank) const {
        if (!flat_)
            packing.pack(of(rank), packing.at(buffer, parts.offset(rank)), parts.elements(rank));
    }
    template <class P>
    void unpack(P const& parts, TypePacking const& packing, void* buffer, int rank) const {
        if (!flat_)
            packing.unpack(packing.at(buffer, parts.offset(rank)), of(rank), parts.elements(rank));
    }

private:
    bool flat_;
    collectives::Blocks blocks_;
    std::size_t total_ = 0;
    std::byte* data_ = nullptr;
};

/// A message of this rank alone: where it lies if the type is flat, else in a packed copy.
class RankMessage {
public:
    RankMessage(CallScratch& scratch, MPI_Datatype type, void const* buffer, MPI_Count count)
        : elements_(static_cast<std::size_t>(count)), packing_(type, buffer, elements_),
          buffer_(const_cast<void*>(buffer)),
          data_(packing_.flat() ? static_cast<std::byte*>(buffer_) : scratch.take(bytes())) {}

    std::size_t bytes() const { return packing_.bytes(elements_); }
    std::byte* data() const { return data_; }
    void pack() const {
        if (!packing_.flat()) packing_.pack(data_, buffer_, elements_);
    }
    void unpack() const {
        if (!packing_.flat()) packing_.unpack(buffer_, data_, elements_);
    }

private:
    std::size_t elements_;
    TypePacking packing_;
    void* buffer_;
    std::byte* data_;
};

/// Whether MPI would refuse a buffer of this many elements.
inline bool refused(void const* buffer, MPI_Count count, MPI_Datatype type) {
    if (count < 0 || type == MPI_DATATYPE_NULL) return true;
    if (buffer != nullptr || count == 0) return false;
    TypePacking const packing(type);  // MPI_BOTTOM is null: its types hold addresses
    return packing.flat() && packing.bytes(static_cast<std::size_t>(count)) > 0;
}

/// Whether MPI would refuse a buffer in which each rank has a part.
template <class P>
bool refused_parts(P const& parts, void const* buffer, MPI_Datatype type, int ranks) {
    if (type == MPI_DATATYPE_NULL || !parts.valid(ranks)) return true;
    std::size_t elements = 0;
    for (int r = 0; r < ranks; ++r) elements += parts.elements(r);
    return refused(buffer, static_cast<MPI_Count>(elements), type);
}

/// The bytes of elements of a type, which is not MPI_DATATYPE_NULL.
inline std::size_t bytes_of(MPI_Datatype type, MPI_Count elements) {
    return TypePacking(type).bytes(static_cast<std::size_t>(elements));
}

/// Puts what this rank sends to itself, as many bytes as its part has, into that.
inline void pack_own(PartBytes const& out, int rank, void const* send, MPI_Count count,
                     MPI_Datatype type) {
    auto const elements = static_cast<std::size_t>(count);
    TypePacking(type, send, elements).pack(out.of(rank), send, elements);
}

}  // namespace sinew::pmpi
