// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "collectives/reducer.hpp"
#include "collectives/schedule/blocks.hpp"
#include "collectives/schedule/scratch.hpp"

namespace sinew::collectives {

/// The arguments of a collective as its algorithms see them: checked, untyped, and with the local
/// part of the work done where that is a copy. What each collective may assume:
///
///   allreduce, scan, exscan   in[count] -> out[count]; in == out in place. exscan: rank 0 leaves out
///   reduce                    in[count] -> out[count] on root (null elsewhere); in == out in place
///   reduce_scatter(_block)    in[all blocks] -> out[own block alone]; never overlap
///   allgather(v)              out[all blocks], own block already in place; in unused
///   broadcast                 out[count]
///   gather(v)                 root: out[all blocks], own block in place; others: in[own part]
///   scatter(v)                root: in[all blocks], own part not needed; others: out[own part]
///   alltoall(v)               in[sent blocks] -> out[blocks]; never overlap; own block to be copied
///   barrier                   nothing
///
/// `blocks` is known to all ranks, but for gatherv and scatterv, where only the root has it.
struct Arguments {
    std::byte const* in = nullptr;
    std::byte* out = nullptr;
    std::size_t count = 0;  ///< elements: of one block for equal blocks, of the own for listed ones
    std::size_t element = 1;  ///< bytes of one
    Blocks blocks;            ///< parts by rank, in bytes
    Blocks sent;              ///< alltoall(v): parts of `in`
    int root = 0;
    Reducer const* reduce = nullptr;
    Scratch* scratch = nullptr;
    std::size_t segment = 32768;  ///< bytes in which long transfers are cut
    int window = 16;              ///< segments in flight, at least 1

    std::size_t bytes() const { return count * element; }
    std::span<std::byte const> input() const { return {in, bytes()}; }
    std::span<std::byte> output() const { return {out, bytes()}; }
    /// A rank's part of `out` (of `in`).
    std::span<std::byte> out_block(int rank) const {
        return {out + blocks[rank].offset, blocks[rank].bytes};
    }
    std::span<std::byte const> in_block(int rank) const {
        return {in + blocks[rank].offset, blocks[rank].bytes};
    }
    std::span<std::byte const> sent_block(int rank) const {
        return {in + sent[rank].offset, sent[rank].bytes};
    }
    /// out = lower op higher, by bytes.
    void combine(std::byte* to, std::byte const* lower, std::byte const* higher,
                 std::size_t bytes) const {
        reduce->combine(to, lower, higher, bytes / element);
    }
    /// out = in[0] op in[1] op ..., one input per rank, in order.
    void combine(std::byte* to, std::span<void const* const> inputs, std::size_t bytes) const {
        reduce->combine(to, inputs, bytes / element);
    }
};

}  // namespace sinew::collectives
