// SPDX-License-Identifier: Apache-2.0
#include "src/lease/gpus/gpu_choice.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

namespace sinew::lease {
namespace {

constexpr double most_sets = 20'000;

bool has(std::vector<int> const& numbers, int number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

/// What sets are compared by; the first that differ decide, and greater is better.
using Score = std::array<std::int64_t, 4>;

class Choice {
public:
    Choice(Connections const& connections, std::vector<int> const& free,
           std::vector<int> const& held, std::size_t count)
        : connections_(connections), free_(free), held_(held), count_(count) {}

    std::vector<int> best() {
        if (count_ == 0) return {};
        if (number_of_sets() <= most_sets) try_all(0);
        else
            for (int const first : free_) offer(grown_from(first));
        return best_;
    }

private:
    double number_of_sets() const {
        double sets = 1;
        for (std::size_t i = 0; i < count_; ++i)
            sets = sets * static_cast<double>(free_.size() - i) / static_cast<double>(i + 1);
        return sets;
    }

    Score score(std::vector<int> const& set) const {
        std::int64_t worst = std::numeric_limits<std::int64_t>::max();
        std::int64_t sum = 0, lost = 0, kept = 0;
        for (std::size_t i = 0; i < set.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                std::int64_t const level = connections_.between(set[i], set[j]);
                worst = std::min(worst, level);
                sum += level;
            }
            for (int const other : free_)
                if (!has(set, other)) lost += connections_.between(set[i], other);
            if (has(held_, set[i])) ++kept;
        }
        return {worst, sum, -lost, kept};
    }

    // Of equal sets the first one stays: sets are tried in the order of their numbers.
    void offer(std::vector<int> set) {
        auto const score_of_set = score(set);
        if (best_score_ && score_of_set <= *best_score_) return;
        best_score_ = score_of_set;
        best_ = std::move(set);
    }

    void try_all(std::size_t from) {
        if (chosen_.size() == count_) return offer(chosen_);
        for (std::size_t i = from; free_.size() - i >= count_ - chosen_.size(); ++i) {
            chosen_.push_back(free_[i]);
            try_all(i + 1);
            chosen_.pop_back();
            if (i + 1 == free_.size()) break;
        }
    }

    std::vector<int> grown_from(int first) const {
        std::vector<int> set{first};
        while (set.size() < count_) {
            std::optional<Score> best_of_next;
            int next = -1;
            for (int const candidate : free_) {
                if (has(set, candidate)) continue;
                set.push_back(candidate);
                auto const with_it = score(set);
                set.pop_back();
                if (best_of_next && with_it <= *best_of_next) continue;
                best_of_next = with_it;
                next = candidate;
            }
            set.push_back(next);
        }
        std::sort(set.begin(), set.end());
        return set;
    }

    Connections const& connections_;
    std::vector<int> const& free_;
    std::vector<int> const& held_;
    std::size_t const count_;
    std::vector<int> chosen_;
    std::vector<int> best_;
    std::optional<Score> best_score_;
};

}  // namespace

std::vector<int> choose_gpus(Connections const& connections, std::vector<int> const& free,
                             std::vector<int> const& held, std::size_t count) {
    return Choice(connections, free, held, count).best();
}

}  // namespace sinew::lease
