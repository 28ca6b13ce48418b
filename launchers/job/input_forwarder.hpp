// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launchers/common/job.hpp"
#include "launchers/io/input_source.hpp"

namespace sinew::launch {

/// Forwards standard input of `sinew run` to the agents of the ranks that read it: one piece at a
/// time, the next when all have taken the last. On the loop's thread.
class InputForwarder {
public:
    struct Callbacks {
        /// An empty piece is the end of the input.
        std::function<void(int node, std::string const& bytes)> send;
        std::function<bool(int node)> present;  ///< its agent is linked to the root
        std::function<bool()> running;          ///< ranks run: there may be somebody who reads
    };
    /// `readers`: "none", "all", or the number of a rank.
    InputForwarder(wire::Loop& loop, std::string readers, Callbacks callbacks);

    /// The ranks of a new epoch read on where those of the last one ended; what these had read
    /// before is lost.
    void begin(JobMap const& map, std::vector<int> const& agents);
    /// An agent's ranks have taken so many bytes.
    void credit(int node, std::int64_t bytes);

private:
    void ask();
    void on_input(std::string const& bytes);

    wire::Loop& loop_;
    std::string const readers_;
    Callbacks const callbacks_;
    std::unique_ptr<InputSource> source_;
    std::vector<int> agents_;           ///< of the ranks that read
    std::map<int, std::int64_t> owed_;  ///< bytes not yet taken, by agent
    bool ended_ = false;
};

}  // namespace sinew::launch
