// SPDX-License-Identifier: Apache-2.0
#include <sinew/task/codec.hpp>

#include <algorithm>
#include <new>

#include "src/base/text.hpp"

namespace sinew {

void Writer::grow(std::size_t wanted) {
    if (wanted > static_cast<std::size_t>(-1) / 4 - size_) throw std::bad_alloc();
    constexpr std::size_t smallest = 256;
    std::size_t const capacity = std::max({smallest, 2 * capacity_, size_ + wanted});
    // realloc can move the pages of a large block instead of copying its bytes.
    auto* const bytes = static_cast<std::byte*>(std::realloc(bytes_.get(), capacity));
    if (bytes == nullptr) throw std::bad_alloc();
    static_cast<void>(bytes_.release());
    bytes_.reset(bytes);
    capacity_ = capacity;
}

std::size_t Reader::count(std::size_t least) {
    std::uint64_t claimed = 0;
    read(&claimed, sizeof claimed);
    if (claimed > left() / least)
        throw DecodeError(text("cannot decode ", claimed, " elements of at least ", least,
                               " bytes each (", left(), " bytes are left)"));
    return claimed;
}

void Reader::cut_short(std::size_t wanted) const {
    throw DecodeError(text("cannot decode a value of ", wanted, " more bytes (", left(),
                           " are left): it was cut short, or is of another type"));
}

}  // namespace sinew
