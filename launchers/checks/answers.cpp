// SPDX-License-Identifier: Apache-2.0
//
// Interprets the output of other programs.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string_view>

#include "launchers/checks/facts.hpp"

namespace sinew::launch {

std::vector<MpiLibrary> mpi_libraries(std::string const& cache) {
    struct Known {
        std::string_view library, implementation;
    };
    // libmpi.so.12 is the common name of MPICH and its derivatives.
    constexpr std::array known{Known{"libmpi.so.40", "Open MPI"}, Known{"libmpi.so.20", "Open MPI"},
                               Known{"libmpich.so.12", "MPICH"},
                               Known{"libmpi.so.12", "MPICH or Intel MPI"}};
    std::vector<MpiLibrary> found;
    std::set<std::string> seen;
    std::istringstream lines(cache);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        for (auto const& one : known)
            if (name == one.library && seen.insert(name).second)
                found.push_back({std::string(one.implementation), name, {}});
    }
    return found;
}

std::string version_in(std::string const& text) {
    auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (!is_digit(text[at]) || (at > 0 && is_digit(text[at - 1]))) continue;
        auto const end = text.find_first_not_of("0123456789.", at);
        std::string word = text.substr(at, end - at);
        while (!word.empty() && word.back() == '.') word.pop_back();
        if (std::count(word.begin(), word.end(), '.') >= 1) return word;
    }
    return {};
}

Reach::Outcome ssh_outcome(int exit_code, std::string const& words) {
    using Outcome = Reach::Outcome;
    struct Sign {
        std::string_view words;
        Outcome outcome;
    };
    // The order matters: "Permission denied" also ends the output after a changed host key.
    constexpr std::array signs{
        Sign{"IDENTIFICATION HAS CHANGED", Outcome::host_key},
        Sign{"Host key verification failed", Outcome::host_key},
        Sign{"Could not resolve hostname", Outcome::unresolved},
        Sign{"Connection refused", Outcome::refused},
        Sign{"No route to host", Outcome::unreachable},
        Sign{"Network is unreachable", Outcome::unreachable},
        Sign{"timed out", Outcome::timed_out},
        Sign{"Permission denied", Outcome::denied},
        Sign{"Too many authentication failures", Outcome::denied},
    };
    if (exit_code != 255) return Outcome::failed;  // not an error of ssh itself
    for (auto const& sign : signs)
        if (words.find(sign.words) != std::string::npos) return sign.outcome;
    return Outcome::failed;
}

void read_answer(Reach& reach, std::string const& answer, double asked, double heard) {
    std::istringstream lines(answer);
    // Skip lines that login scripts printed before.
    for (std::string line; std::getline(lines, line);) {
        char* end = nullptr;
        double const theirs = std::strtod(line.c_str(), &end);
        if (!reach.clock_least && theirs > 1e9 && end != line.c_str()) {
            reach.clock_least = theirs - heard;
            reach.clock_most = theirs - asked;
        } else if (reach.clock_least && line.find("sinew") != std::string::npos) {
            reach.sinew_version = version_in(line);
            return;
        }
    }
}

}  // namespace sinew::launch
