// SPDX-License-Identifier: Apache-2.0
#include <sinew/managed/counter.hpp>
#include <sinew/manager.hpp>
#include <utility>

namespace sinew::managed {

/// A counter as its manager holds it. It wraps around, like a clock.
class Tally {
public:
    explicit Tally(std::int64_t first) : value_(static_cast<std::uint64_t>(first)) {}
    std::int64_t add(std::int64_t more) {
        value_ += static_cast<std::uint64_t>(more);
        return get();
    }
    std::int64_t get() const { return static_cast<std::int64_t>(value_); }
    std::int64_t reset(std::int64_t to) {
        return static_cast<std::int64_t>(std::exchange(value_, static_cast<std::uint64_t>(to)));
    }

    // Checkpointable.
    std::int64_t save() const { return get(); }
    void restore(std::int64_t value) { reset(value); }

private:
    std::uint64_t value_;
};

char const* AsyncCounter::kept() { return typeid(Tally).name(); }
Reply<std::int64_t> AsyncCounter::add(std::int64_t more) const {
    return object().async<&Tally::add>(more);
}
Reply<std::int64_t> AsyncCounter::get() const { return object().async<&Tally::get>(); }
Reply<std::int64_t> AsyncCounter::reset(std::int64_t to) const {
    return object().async<&Tally::reset>(to);
}
void AsyncCounter::count(std::int64_t more) const { object().oneway<&Tally::add>(more); }

}  // namespace sinew::managed

namespace sinew {

managed::Counter Manager::counter(std::int64_t first) {
    return managed::Counter(create<managed::Tally>(first));
}

}  // namespace sinew
