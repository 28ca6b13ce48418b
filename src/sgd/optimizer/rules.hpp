// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinew/sgd/optimizer_rule.hpp>

namespace sinew::sgd {

/// Throws UsageError, which names the value, if a rule cannot be used.
void check_rule(OptimizerRule const& rule);
/// Numbers that a rule keeps per element.
std::size_t states_of(OptimizerRule const& rule);
/// A hash of what must be equal on all ranks.
std::uint64_t hash_of(OptimizerRule const& rule);
/// Updates one part. Every element depends on its own values alone, so that the bits are the same
/// wherever tensors are cut.
void apply_rule(OptimizerRule const& rule, ShardPart const& part);

}  // namespace sinew::sgd
