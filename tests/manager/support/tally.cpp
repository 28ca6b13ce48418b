// SPDX-License-Identifier: Apache-2.0
#include "tests/manager/support/tally.hpp"

#include <unistd.h>

#include <csignal>
#include <sinew/task/encoding.hpp>
#include <stdexcept>
#include <utility>

namespace sinew::testing_support {

void Tally::exit_with(int code) { ::_exit(code); }

void Tally::die() { ::raise(SIGKILL); }

void Tally::State::encode_to(Writer& writer) const {
    encode(writer, count);
    encode(writer, ballast);
}

Tally::State Tally::State::decode_from(Reader& reader) {
    State state{decode<std::int64_t>(reader), {}};
    state.ballast = decode<std::vector<std::uint8_t>>(reader);
    return state;
}

Tally::State Tally::save() const {
    if (spoilt_) throw std::runtime_error("a spoilt tally");
    return {count_, ballast_};
}

void Tally::restore(State state) {
    count_ = state.count;
    ballast_ = std::move(state.ballast);
}

}  // namespace sinew::testing_support
