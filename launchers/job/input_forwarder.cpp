// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/input_forwarder.hpp"

#include <unistd.h>

#include <utility>

namespace sinew::launch {

InputForwarder::InputForwarder(wire::Loop& loop, std::string readers, Callbacks callbacks)
    : loop_(loop), readers_(std::move(readers)), callbacks_(std::move(callbacks)) {}

void InputForwarder::begin(JobMap const& map, std::vector<int> const& agents) {
    agents_.clear();
    if (readers_ == "none") return;
    int const rank = readers_ == "all" ? -1 : std::stoi(readers_);
    for (std::size_t node = 0; node < agents.size(); ++node)
        if (rank < 0 || (rank < map.size() && map.ranks[rank].node == static_cast<int>(node)))
            agents_.push_back(agents[node]);
    owed_.clear();
    if (ended_) on_input({});
    else ask();
}

void InputForwarder::credit(int node, std::int64_t bytes) {
    owed_[node] -= bytes;
    ask();
}

void InputForwarder::ask() {
    if (readers_ == "none" || ended_ || !callbacks_.running()) return;
    for (auto const& [node, owed] : owed_)
        if (owed > 0 && callbacks_.present(node)) return;
    if (!source_)
        source_ = std::make_unique<InputSource>(
            loop_, STDIN_FILENO, [this](std::string const& bytes) { on_input(bytes); });
    source_->want();
}

void InputForwarder::on_input(std::string const& bytes) {
    ended_ = bytes.empty();
    owed_.clear();
    for (int const agent : agents_) {
        owed_[agent] = static_cast<std::int64_t>(bytes.size());
        callbacks_.send(agent, bytes);
    }
}

}  // namespace sinew::launch
