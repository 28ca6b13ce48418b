// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <sinew/manager.hpp>
#include <string>
#include <vector>

namespace sinew::testing_support {

/// A counter whose state can be saved.
class Tally {
public:
    Tally() = default;
    explicit Tally(std::int64_t first) : count_(first) {}

    std::int64_t add(std::int64_t more) { return count_ += more; }
    std::int64_t count() const { return count_; }
    void fill(std::uint64_t size) { ballast_.assign(size, std::uint8_t{7}); }
    std::uint64_t filled() const { return ballast_.size(); }
    /// Makes save() throw from now on.
    void spoil() { spoilt_ = true; }
    void exit_with(int code);
    void die();

    struct State {
        std::int64_t count;
        std::vector<std::uint8_t> ballast;
        void encode_to(Writer& writer) const;
        static State decode_from(Reader& reader);
    };
    State save() const;
    void restore(State state);

private:
    std::int64_t count_ = 0;
    std::vector<std::uint8_t> ballast_;
    bool spoilt_ = false;
};

/// A Tally that is kept after every call, whatever its manager's options say.
class CarefulTally : public Tally {
public:
    using Tally::Tally;
    static constexpr Checkpoints checkpoints{.every_calls = 1};
};

}  // namespace sinew::testing_support
