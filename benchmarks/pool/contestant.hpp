// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "benchmarks/pool/cases.hpp"

namespace sinew::bench {

/// One who runs one case with so many workers, which it has ready.
class Contestant {
public:
    virtual ~Contestant() = default;
    /// Seconds that `size` units took (master-bytes: bytes), or where each is timed, so many times
    /// their median. Throws Error when a result is wrong.
    virtual double cost(std::uint64_t size) = 0;
    /// Seconds that the worst unit of all turns took, where each is timed.
    virtual std::optional<double> worst() const { return {}; }
    /// What is to be said of all turns: "41 kills, 0 results lost, wrong or twice"; else empty.
    virtual std::string note() const { return {}; }
};

std::unique_ptr<Contestant> make_ours(Case const& what, int workers);

/// Null when it is a peer program (or nobody at all).
std::unique_ptr<Contestant> make_floor(std::string_view name, Case const& what, int workers);

/// A Python program that serves until this is destroyed, which leaves no process of it. Throws
/// Unavailable saying how to get what is missing.
std::unique_ptr<Contestant> make_python(std::string_view peer, Case const& what, int workers);

}  // namespace sinew::bench
