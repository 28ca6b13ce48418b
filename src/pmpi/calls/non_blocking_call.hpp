// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/pmpi/calls/rank_parts.hpp"
#include "src/pmpi/requests/posted_collective.hpp"

namespace sinew::pmpi {

using Pattern = PostedCollective::Message::Pattern;

/// One short collective that is about to be posted (see PostingQueue).
class NonBlockingCall {
public:
    NonBlockingCall(CommRoute const& route, MpiFunction function, MPI_Comm comm)
        : posted(std::make_shared<PostedCollective>(function, comm)), route_(route) {}

    std::shared_ptr<PostedCollective> const posted;
    std::span<std::byte const> message{};  ///< of this rank, as far as it has one

    CommRoute const& route() const { return route_; }
    int rank() const { return route_.rank; }
    int size() const { return route_.size; }
    std::size_t ranks() const { return static_cast<std::size_t>(route_.size); }

    /// Sets how the messages pass; `bytes`: of the longest.
    CallOutcome plan(std::size_t bytes, Pattern pattern = Pattern::all_to_all,
                     int root = -1) const {
        if (bytes > node_memory::Room::short_bytes) return CallOutcome::in_background;
        posted->plan = {.bytes = bytes, .pattern = pattern, .root = root};
        return CallOutcome::taken;
    }
    /// The types of the program that the call uses outlive it.
    void types_are_kept() { types_are_kept_ = true; }
    /// Only finds out whether the call can be posted: the program's buffers are not read.
    void only_check() { only_checks_ = true; }
    /// Elements of a buffer of the program are this rank's message.
    void send(MPI_Datatype type, void const* buffer, std::size_t elements) {
        RankMessage const own(scratch_, type, buffer, static_cast<MPI_Count>(elements));
        if (!only_checks_) own.pack();
        message = {own.data(), own.bytes()};
    }
    /// A part of a rank's message becomes elements of a buffer of the program. `most`: bytes of all
    /// parts that the call receives.
    void receive(int from, std::size_t offset, MPI_Datatype type, void* to, std::size_t elements,
                 std::size_t most) {
        TypePacking const packing(type, to, elements);
        std::size_t const bytes = packing.bytes(elements);
        if (bytes == 0) return;
        auto* const place = packing.flat() ? static_cast<std::byte*>(to)
                                           : place_to_unpack(packing, to, elements, most);
        posted->pieces.push_back({.rank = from, .offset = offset, .bytes = bytes, .to = place});
    }
    /// The same for a vector that a reduction reads where it lies, in host memory.
    void send_vector(std::byte const* vector, std::size_t bytes) {
        message = {vector, bytes};
        if (!is_on_device(vector, bytes)) return;
        auto* const copy = scratch_.take(bytes);
        if (!only_checks_) copy_from_device(copy, vector, bytes);
        message = {copy, bytes};
    }
    /// Where the result of a reduction is written that is to be at `to`.
    std::byte* place_of_result(std::byte* to, std::size_t bytes) {
        TypePacking const packing(MPI_BYTE, to, bytes);
        return packing.flat() ? to : place_to_unpack(packing, to, bytes, bytes);
    }

private:
    std::byte* place_to_unpack(TypePacking const& packing, void* to, std::size_t elements,
                               std::size_t most) {
        auto& unpacking = posted->unpacking;
        if (!unpacking)
            unpacking =
                std::make_unique<PostedCollective::Unpacking>(packing, most, !types_are_kept_);
        auto* const place = unpacking->bytes() + unpacked_;
        unpacking->add(unpacked_, elements, to);
        unpacked_ += packing.bytes(elements);
        return place;
    }

    CommRoute const& route_;
    CallScratch scratch_;  // until it has been posted
    bool only_checks_ = false, types_are_kept_ = false;
    std::size_t unpacked_ = 0;  // bytes for which there is a place
};

}  // namespace sinew::pmpi
