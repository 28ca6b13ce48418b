// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <sinew/comm/data_type.hpp>

namespace sinew {

/// An array in memory that the ranks of a node share, made by Communicator::allocate. Collectives
/// on such arrays copy nothing between the ranks of a node: each reads and writes the others'
/// arrays where they lie. To the program it is its own array, as any other; what other ranks do
/// with it, they do only inside collective calls.
///
/// The array is freed with this object, which may outlive the communicator. From 2 MiB on its memory
/// is taken at once, not when it is first written. After a collective has failed, a rank that was
/// stopped in it may still write to it. A process that forks shares it with its child. Thread-safe
/// like std::vector.
template <class T>
class NodeBuffer {
public:
    NodeBuffer() = default;
    NodeBuffer(std::shared_ptr<void> memory, std::size_t size, bool shared)
        : memory_(std::move(memory)), size_(size), shared_(shared) {}
    NodeBuffer(NodeBuffer&& other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)),
          shared_(other.shared_) {}
    NodeBuffer& operator=(NodeBuffer&& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(size_, other.size_);
        std::swap(shared_, other.shared_);
        return *this;
    }

    T* data() const { return static_cast<T*>(memory_.get()); }
    std::size_t size() const { return size_; }
    T* begin() const { return data(); }
    T* end() const { return data() + size_; }
    T& operator[](std::size_t i) const { return data()[i]; }
    /// Whether the memory is shared. Otherwise it is private, and works as well, only slower:
    /// this node has one rank of the job, or its ranks could share no memory.
    bool shared() const { return shared_; }

    /// What keeps the memory, for those that use it longer than this object exists.
    std::shared_ptr<void> const& memory() const { return memory_; }

private:
    std::shared_ptr<void> memory_;
    std::size_t size_ = 0;
    bool shared_ = false;
};

}  // namespace sinew
