// SPDX-License-Identifier: Apache-2.0
#include "src/ring/commit_file.hpp"

#include <deque>
#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/text.hpp"

namespace sinew::ring {
namespace {

constexpr char const* file_name = "commit";

}  // namespace

CommitFile::CommitFile(std::string const& folder)
    : folder_(std::make_shared<StateFolder const>(folder)) {}

void CommitFile::load(int size, Commits& commits) const {
    auto const bytes = folder_->read(file_name);
    if (!bytes) return;
    Reader reader(*bytes);
    auto const number = decode<std::uint64_t>(reader);
    auto const members = decode<std::uint32_t>(reader);
    if (members != static_cast<std::uint32_t>(size))
        throw UsageError(text("the commit in ", folder_->path().string(), " is of a ring of ",
                              members, " members (this one has ", size,
                              "). Start as many, or give this ring another folder"));
    Commits::States states;
    for (std::uint32_t rank = 0; rank < members; ++rank) {
        State state;
        state.type = decode<std::string>(reader);
        auto const value = reader.take(decode<std::uint64_t>(reader));
        state.value.assign(value.begin(), value.end());
        states.push_back(std::make_shared<State const>(std::move(state)));
    }
    commits.resume(number, std::move(states));
}

std::function<void()> CommitFile::writing(std::uint64_t number, Commits::States states) const {
    return [folder = folder_, number, states = std::move(states)] {
        std::deque<Writer> heads(1);
        encode(heads.back(), number);
        encode(heads.back(), static_cast<std::uint32_t>(states.size()));
        std::vector<std::span<std::byte const>> parts{heads.back().bytes()};
        for (auto const& state : states) {
            auto& head = heads.emplace_back();
            encode(head, state->type);
            encode(head, static_cast<std::uint64_t>(state->value.size()));
            parts.emplace_back(head.bytes());
            parts.emplace_back(state->value);
        }
        folder->write(file_name, parts);
    };
}

}  // namespace sinew::ring
