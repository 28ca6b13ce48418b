// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/answer_reader.hpp"

#include <chrono>
#include <sinew/error.hpp>
#include <utility>

namespace sinew::launch {
namespace {

constexpr std::size_t most_ahead = std::size_t{4} << 20;

}  // namespace

AnswerReader::AnswerReader(ControlConnection& connection)
    : connection_(connection), thread_([this] { read(); }) {}

AnswerReader::~AnswerReader() {
    {
        std::lock_guard const lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void AnswerReader::read() {
    // Short waits, so that the destructor is heard.
    constexpr auto turn = std::chrono::milliseconds(100);
    try {
        for (;;) {
            std::optional<std::string> line;
            bool late = false;
            try {
                line = connection_.line(ControlConnection::Clock::now() + turn);
            } catch (Timeout const&) {
                late = true;
            }
            std::unique_lock lock(mutex_);
            if (ending_) return;
            if (late) continue;
            if (!line) break;
            size_ += line->size();
            lines_.push_back(std::move(*line));
            changed_.notify_all();
            changed_.wait(lock, [this] { return ending_ || size_ < most_ahead; });
            if (ending_) return;
        }
    } catch (...) {
        std::lock_guard const lock(mutex_);
        problem_ = std::current_exception();
    }
    std::lock_guard const lock(mutex_);
    ended_ = true;
    changed_.notify_all();
}

std::optional<ControlAnswer> AnswerReader::next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !lines_.empty(); });
    if (lines_.empty()) {
        if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
        return std::nullopt;
    }
    auto const line = std::move(lines_.front());
    lines_.pop_front();
    size_ -= line.size();
    changed_.notify_all();
    lock.unlock();
    return parse_answer(line);
}

}  // namespace sinew::launch
