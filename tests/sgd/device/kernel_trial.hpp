// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "src/sgd/device/float_format.hpp"
#include "tests/sgd/device/kernel_machine.hpp"

namespace sinew::tests {

/// The memory of one call, twice: for the machine and for the twin on the host; and how the results differ.
class KernelTrial {
public:
    enum class Contents { f64, f32, bf16, f16, bits, not_compared };
    /// The place of a buffer on either side.
    struct Place {
        void* device;
        void* host;
        template <class T = void>
        T* on(bool device_side) const {
            return static_cast<T*>(device_side ? device : host);
        }
    };

    explicit KernelTrial(KernelMachine& machine) : machine_(machine) {}

    static Contents contents_of(sgd::FloatFormat format) {
        return format == sgd::FloatFormat::f32    ? Contents::f32
               : format == sgd::FloatFormat::bf16 ? Contents::bf16
                                                  : Contents::f16;
    }
    /// `name` is for the message of a difference.
    Place add(std::string name, Contents contents, void const* bytes, std::size_t size) {
        return add(std::move(name), contents, bytes, bytes, size);
    }
    /// Memory that holds nothing in particular: both sides begin with the same odd bytes.
    Place result(std::string name, Contents contents, std::size_t size) {
        std::vector<unsigned char> const poison(size, 0xb5);
        return add(std::move(name), contents, poison.data(), size);
    }
    /// A list with addresses, which differ.
    template <class T>
    Place lists(std::vector<T> const& device, std::vector<T> const& host) {
        return add("list", Contents::not_compared, device.data(), host.data(),
                   device.size() * sizeof(T));
    }

    /// The first difference between the two sides; empty if there is none. One NaN is like another.
    std::string difference() {
        for (Buffer const& buffer : buffers_) {
            if (buffer.contents == Contents::not_compared || buffer.bytes.empty()) continue;
            std::vector<unsigned char> got(buffer.bytes.size());
            machine_.read(got.data(), buffer.device, got.size());
            std::size_t const element = bytes_of(buffer.contents);
            for (std::size_t i = 0; i + element <= got.size(); i += element)
                if (!same(buffer.contents, got.data() + i, buffer.bytes.data() + i))
                    return buffer.name + " differs first at element " +
                           std::to_string(i / element) + ": bits " +
                           std::to_string(bits(got.data() + i, element)) + " instead of " +
                           std::to_string(bits(buffer.bytes.data() + i, element));
        }
        return {};
    }

private:
    struct alignas(16) Aligned {
        unsigned char bytes[16];
    };
    struct Buffer {
        std::string name;
        Contents contents;
        void* device;
        std::vector<Aligned> memory;
        std::span<unsigned char> bytes;  // of the memory
    };

    Place add(std::string name, Contents contents, void const* device, void const* host,
              std::size_t size) {
        Buffer& buffer = buffers_.emplace_back();
        buffer.name = std::move(name);
        buffer.contents = contents;
        buffer.memory.resize(size / sizeof(Aligned) + 1);
        buffer.bytes = {buffer.memory[0].bytes, size};
        if (size != 0) std::memcpy(buffer.bytes.data(), host, size);
        buffer.device = machine_.allocate(size + 1);
        if (size != 0) machine_.write(buffer.device, device, size);
        return {buffer.device, buffer.bytes.data()};
    }
    static std::size_t bytes_of(Contents contents) {
        return contents == Contents::f64    ? 8
               : contents == Contents::f32  ? 4
               : contents == Contents::bits ? 1
                                            : 2;
    }
    static std::uint64_t bits(unsigned char const* bytes, std::size_t size) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes, size);
        return value;
    }
    static bool same(Contents contents, unsigned char const* a, unsigned char const* b) {
        std::uint64_t const x = bits(a, bytes_of(contents)), y = bits(b, bytes_of(contents));
        std::uint64_t const sign = contents == Contents::f64   ? ~std::uint64_t{0} >> 1
                                   : contents == Contents::f32 ? 0x7fffffffu
                                                               : 0x7fffu;
        std::uint64_t const infinity = contents == Contents::f64    ? std::uint64_t{0x7ff} << 52
                                       : contents == Contents::f32  ? 0x7f800000u
                                       : contents == Contents::bf16 ? 0x7f80u
                                                                    : 0x7c00u;
        bool const both_nan = (x & sign) > infinity && (y & sign) > infinity;
        return x == y || (contents != Contents::bits && both_nan);
    }

    KernelMachine& machine_;
    std::deque<Buffer> buffers_;
};

}  // namespace sinew::tests
