// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/node/posted_message.hpp"
#include "collectives/reducer.hpp"
#include "src/pmpi/requests/pending_collective.hpp"
#include "src/pmpi/type_packing.hpp"

namespace sinew::pmpi {

/// A short non-blocking collective of this rank: what it does with the messages of the others. Any
/// thread may collect them; only a thread that is in a call of MPI delivers them.
class PostedCollective final : public PendingCollective {
public:
    using Message = collectives::node::PostedMessage;

    /// A part of a rank's message, and where it is to be.
    struct Piece {
        int rank;
        std::size_t offset, bytes;
        std::byte* to;
    };
    /// A vector that is the combination of the same part of all messages up to that of a rank.
    struct Combination {
        collectives::Reducer reducer;
        std::byte* to;
        std::size_t offset, count;
        int last_rank;
    };
    /// Bytes that are unpacked when the call is complete, or copied to a GPU. With `duplicate` the type is a duplicate: the
    /// program may free its own earlier.
    class Unpacking {
    public:
        Unpacking(TypePacking const& packing, std::size_t bytes, bool duplicate);
        Unpacking(Unpacking const&) = delete;
        ~Unpacking();
        std::byte* bytes() const { return bytes_.get(); }
        /// Elements that lie in bytes() from `offset` on go to `to`.
        void add(std::size_t offset, std::size_t elements, void* to) {
            parts_.push_back({offset, elements, to});
        }
        void run() const;

    private:
        struct Part {
            std::size_t offset, elements;
            void* to;
        };
        bool duplicate_;
        MPI_Datatype type_;
        TypePacking packing_;
        std::unique_ptr<std::byte[]> bytes_;
        std::vector<Part> parts_;
    };

    using PendingCollective::PendingCollective;
    void deliver() override;

    Message::Plan plan;
    std::vector<Piece> pieces;
    std::optional<Combination> combination;
    std::unique_ptr<Unpacking> unpacking;

    /// Takes the messages, which are all here.
    void collect(node_memory::Room const& room) const;

    // Of PostingQueue.
    Message message;
    std::vector<std::byte> queued;  ///< this rank's message, until there is a place for it
};

}  // namespace sinew::pmpi
