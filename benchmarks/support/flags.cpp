// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/flags.hpp"

#include <charconv>
#include <sinew/error.hpp>

#include "benchmarks/support/text.hpp"

namespace po = boost::program_options;

namespace sinew::bench {

po::variables_map parse_flags(int argc, char** argv, po::options_description const& flags) {
    po::variables_map given;
    try {
        po::positional_options_description const none;
        po::store(po::command_line_parser(argc, argv).options(flags).positional(none).run(), given);
        po::notify(given);
    } catch (po::too_many_positional_options_error const&) {
        throw UsageError("an argument without a flag before it. --help lists all flags");
    } catch (po::error const& problem) {
        throw UsageError(text(problem.what(), ". --help lists all flags"));
    }
    return given;
}

std::optional<int> optional_int(po::variables_map const& given, char const* flag) {
    if (given.count(flag) == 0) return {};
    return given[flag].as<int>();
}

std::vector<int> parse_counts(char const* flag, std::string const& list, int most) {
    std::vector<int> counts;
    for (auto const& word : split(list, ',')) {
        int count = 0;
        auto const* const end = word.data() + word.size();
        auto const [read, error] = std::from_chars(word.data(), end, count);
        if (error != std::errc() || read != end || count < 1 || count > most)
            throw UsageError(
                text("--", flag, " ", word, " (must be numbers from 1 to ", most, ", as 2,4)"));
        counts.push_back(count);
    }
    return counts;
}

void require_within(char const* flag, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value < least || value > most)
        throw UsageError(text("--", flag, " ", value, " (must be ", least, " to ", most, ")"));
}

void require_rounds(int rounds) { require_within("rounds", rounds, 1, 100'000); }

void require_seconds(double seconds) {
    if (!(seconds > 0 && seconds <= 60))
        throw UsageError(text("--seconds ", seconds, " (must be above 0, at most 60)"));
}

}  // namespace sinew::bench
