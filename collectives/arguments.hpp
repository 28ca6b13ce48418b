// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "collectives/reducer.hpp"
#include "collectives/schedule/blocks.hpp"
#include "collectives/schedule/ring_order.hpp"
#include "collectives/schedule/scratch.hpp"

namespace sinew::collectives {

/// The arguments of a collective as its algorithms receive them: checked, untyped, and with local
/// copies already made unless stated otherwise. Each collective may assume:
///
///   allreduce, scan, exscan   in[count] -> out[count], or in == out. exscan: rank 0 keeps out
///   reduce                    in[count] -> out[count] on root (null elsewhere); in == out in place
///   reduce_scatter(_block)    in[all blocks] -> out[own block alone]; never overlap
///   allgather(v)              out[all blocks], own block already in place; in[own block] or null
///   broadcast                 out[count]
///   gather(v)                 root: out[all blocks], own block in place; others: in[own part]
///   scatter(v)                root: in[all blocks], own part not needed; others: out[own part]
///   alltoall(v)               in[sent blocks] -> out[blocks]; never overlap; copies own block
///   barrier                   nothing
///
/// All ranks know `blocks`, except in gatherv and scatterv, where only the root does.
struct Arguments {
    std::byte const* in = nullptr;
    std::byte* out = nullptr;
    std::size_t count = 0;    ///< elements of the vector or, with blocks, of one (own) block
    std::size_t element = 1;  ///< bytes of one element
    Blocks blocks;            ///< parts by rank, in bytes
    Blocks sent;              ///< alltoall(v): parts of `in`
    int root = 0;
    Reducer const* reduce = nullptr;
    /// What completes the sums of allreduce, reduce and reduce_scatter, if the algorithm is the one over the
    /// memory of a node; all others leave it to their caller.
    Completion completion = {};
    Scratch* scratch = nullptr;
    std::size_t segment = 32768;      ///< bytes of one segment of a long transfer
    int window = 16;                  ///< segments in flight, at least 1
    RingOrder const* ring = nullptr;  ///< null: rings and chains go in rank order

    std::size_t bytes() const { return count * element; }
    std::span<std::byte const> input() const { return {in, bytes()}; }
    std::span<std::byte> output() const { return {out, bytes()}; }
    /// The part of `out` or `in` that belongs to `rank`.
    std::span<std::byte> out_block(int rank) const {
        return {out + blocks[rank].offset, blocks[rank].bytes};
    }
    std::span<std::byte const> in_block(int rank) const {
        return {in + blocks[rank].offset, blocks[rank].bytes};
    }
    std::span<std::byte const> sent_block(int rank) const {
        return {in + sent[rank].offset, sent[rank].bytes};
    }
    /// to = lower op higher. The length is in bytes.
    void combine(std::byte* to, std::byte const* lower, std::byte const* higher,
                 std::size_t bytes) const {
        reduce->combine(to, lower, higher, bytes / element);
    }
    /// to = in[0] op in[1] op ..., with one input per rank, in rank order.
    void combine(std::byte* to, std::span<void const* const> inputs, std::size_t bytes) const {
        reduce->combine(to, inputs, bytes / element);
    }
    /// The same of all ranks' inputs, completed.
    void combine_all(std::byte* to, std::span<void const* const> inputs, std::size_t bytes) const {
        combine(to, inputs, bytes);
        if (completion.exists()) completion.apply(to, bytes / element, reduce->type());
    }
};

}  // namespace sinew::collectives
