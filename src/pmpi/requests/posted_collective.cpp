// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/requests/posted_collective.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "src/pmpi/real.hpp"

namespace sinew::pmpi {

namespace {

MPI_Datatype duplicate_of(MPI_Datatype type) {
    MPI_Datatype result = MPI_DATATYPE_NULL;
    real().Type_dup(type, &result);
    return result;
}

}  // namespace

PostedCollective::Unpacking::Unpacking(TypePacking const& packing, std::size_t bytes,
                                       bool duplicate)
    : duplicate_(duplicate), type_(duplicate ? duplicate_of(packing.type()) : packing.type()),
      packing_(type_, packing.on_device()), bytes_(new std::byte[bytes]) {}

PostedCollective::Unpacking::~Unpacking() {
    if (duplicate_) real().Type_free(&type_);
}

void PostedCollective::Unpacking::run() const {
    for (Part const& part : parts_) packing_.unpack(part.to, bytes() + part.offset, part.elements);
}

void PostedCollective::deliver() {
    auto const unpacked = std::move(unpacking);
    if (unpacked && !failed) unpacked->run();
}

void PostedCollective::collect(node_memory::Room const& room) const {
    for (Piece const& piece : pieces)
        if (piece.bytes > 0)
            std::memcpy(piece.to, message.of(room, piece.rank) + piece.offset, piece.bytes);
    if (!combination || combination->count == 0 || combination->last_rank < 0) return;
    std::array<void const*, node_memory::Room::most_ranks> inputs;
    auto const n = static_cast<std::size_t>(combination->last_rank) + 1;
    for (std::size_t r = 0; r < n; ++r)
        inputs[r] = message.of(room, static_cast<int>(r)) + combination->offset;
    if (n == 1) {
        std::memcpy(combination->to, inputs[0],
                    combination->count * combination->reducer.element_size());
        return;
    }
    combination->reducer.combine(combination->to, {inputs.data(), n}, combination->count);
}

}  // namespace sinew::pmpi
