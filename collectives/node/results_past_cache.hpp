// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

/// Results that are stored past the cache are combined in tiles that are much shorter than the first-level cache: they are read
/// again at once, and must not displace inputs that the processor has fetched ahead.
inline constexpr std::size_t past_cache_tile = 1024;

/// Calls `f(offset, bytes)` for the tiles of a result that is stored past the cache, of whole elements (of one element that is longer). They end at cache lines as
/// far as elements allow, since a line that is stored in two parts is read from memory first.
template <class F>
void for_each_bypassing_tile(std::byte const* to, std::size_t bytes, std::size_t element,
                             F const& f) {
    std::size_t const step = std::max(past_cache_tile / element, std::size_t{1}) * element;
    std::size_t const begin = reinterpret_cast<std::uintptr_t>(to) % 64;
    std::size_t length = step > 64 ? step - begin / element * element : step;
    for (std::size_t offset = 0; offset < bytes; offset += length, length = step) {
        length = std::min(length, bytes - offset);
        f(offset, length);
    }
}

/// Combines inputs, and stores the completed results in several places, past the cache: others may read them when this thread has called
/// `fence_streams`. An input may be where a result goes.
class ResultsPastCache {
public:
    /// `in` and `results` must outlive it.
    ResultsPastCache(Arguments const& args, std::span<std::byte const* const> in,
                     std::span<std::byte* const> results)
        : args_(args), in_(in), results_(results) {}

    void combine(std::size_t bytes) const {
        StreamKernel const kernel = args_.reduce->stream_kernel_of(in_.size());
        std::size_t const head = std::min((0 - address(results_[0])) % line, bytes);
        std::size_t const lines = (bytes - head) / line * line;
        if (kernel == nullptr || !all_aligned(head)) return combine_tiles(0, bytes);
        combine_tiles(0, head);
        Inputs in;
        std::copy(in_.begin(), in_.end(), in.begin());
        kernel({results_.data(), results_.size(), args_.completion}, in.data(),
               static_cast<int>(in_.size()), head, lines);
        combine_tiles(head + lines, bytes - head - lines);
    }

private:
    static constexpr std::size_t line = 64;
    static std::uintptr_t address(std::byte const* at) {
        return reinterpret_cast<std::uintptr_t>(at);
    }
    bool all_aligned(std::size_t offset) const {
        return offset % args_.element == 0 &&
               std::all_of(results_.begin(), results_.end(), [&](std::byte const* result) {
                   return (address(result) + offset) % line == 0;
               });
    }
    /// Any reduction, of elements of any size.
    void combine_tiles(std::size_t begin, std::size_t bytes) const {
        alignas(64) std::array<std::byte, past_cache_tile> tile;
        for_each_bypassing_tile(results_[0] + begin, bytes, args_.element,
                                [&](std::size_t at, std::size_t length) {
                                    at += begin;
                                    Inputs inputs;
                                    for (std::size_t i = 0; i < in_.size(); ++i)
                                        inputs[i] = in_[i] + at;
                                    bool const fits = length <= tile.size();
                                    std::byte* const to = fits ? tile.data() : results_[0] + at;
                                    args_.combine_all(to, {inputs.data(), in_.size()}, length);
                                    for (std::byte* const result : results_.subspan(fits ? 0 : 1))
                                        kernels::stream(result + at, to, length);
                                });
    }

    Arguments const& args_;
    std::span<std::byte const* const> in_;
    std::span<std::byte* const> results_;
};

}  // namespace sinew::collectives::node
