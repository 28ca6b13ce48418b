// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <sinew/communicator.hpp>

namespace sinew::bench {

/// A small piece of zeroed memory that the ranks on rank 0's node share, for measurements that must
/// use neither sinew nor a peer. Its name is unlinked before the constructor returns.
class SharedPage {
public:
    static constexpr std::size_t line_bytes = 64;

    /// Collective. Maps `lines` cache lines. If one rank of the node cannot, none has it.
    SharedPage(Communicator& comm, std::size_t lines);
    SharedPage(SharedPage const&) = delete;
    SharedPage& operator=(SharedPage const&) = delete;
    ~SharedPage();

    /// Whether this rank has it.
    explicit operator bool() const { return memory_ != nullptr; }
    /// Whether all ranks of the communicator have it.
    bool everywhere() const { return everywhere_; }
    /// The address of a cache line, which all ranks know by the same index.
    std::byte* line(std::size_t index) const { return memory_ + index * line_bytes; }

private:
    std::byte* memory_ = nullptr;
    std::size_t bytes_;
    bool everywhere_ = false;
};

}  // namespace sinew::bench
