// SPDX-License-Identifier: Apache-2.0
#include "collectives/kernels/copy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

#include "collectives/kernels/demote.hpp"

namespace sinew::collectives::kernels {
namespace {

/// Copies every length up to `most` from and to places that are aligned in all ways.
template <class Copy>
void expect_copies(std::size_t most, Copy const& copy) {
    constexpr std::size_t around = 64;
    std::vector<std::byte> from(most + around), to(most + 3 * around);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
    for (std::size_t bytes = 0; bytes <= most; ++bytes)
        for (std::size_t const shift : {0u, 1u, 7u, 32u}) {
            to.assign(to.size(), std::byte{0});
            std::byte* const begin = to.data() + around + shift;
            copy(begin, from.data() + shift, bytes);
            for (std::size_t i = 0; i < to.size(); ++i) {
                std::size_t const at = i - around - shift;
                ASSERT_EQ(to[i], at < bytes ? from[at + shift] : std::byte{0})
                    << bytes << " bytes, shifted by " << shift << ": byte " << at;
            }
        }
}

TEST(CopyInLine, CopiesEveryLengthAndNothingElse) { expect_copies(64, copy_in_line); }

TEST(CopyBypassing, CopiesEveryLengthAndNothingElse) { expect_copies(700, copy_bypassing); }

TEST(CopyDemoting, CopiesEveryLengthAndNothingElse) {
    if (!knows_demote()) GTEST_SKIP() << "this processor has no CLDEMOTE";
    expect_copies(700, copy_demoting);
}

}  // namespace
}  // namespace sinew::collectives::kernels
