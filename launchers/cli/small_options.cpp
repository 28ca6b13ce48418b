// SPDX-License-Identifier: Apache-2.0
#include "launchers/cli/small_options.hpp"

#include <sinew/error.hpp>

#include "launchers/command_line/flags.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace po = boost::program_options;

namespace {

std::string suggestion(std::string word, po::options_description const& flags,
                       std::string const& command) {
    word.erase(0, word.find_first_not_of('-'));
    std::vector<std::string> names;
    for (auto const& flag : flags.options()) names.push_back(flag->long_name());
    std::string_view const like = nearest(word, {names.begin(), names.end()});
    if (like.empty()) return text("See sinew ", command, " --help");
    return text("Did you mean --", like, "?");
}

}  // namespace

po::variables_map parse_small(std::vector<std::string> const& arguments,
                              po::options_description const& flags, std::string const& command,
                              std::string const& words) {
    // Abbreviations such as --timeou are refused: later flags could change their meaning.
    int const style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::variables_map values;
    try {
        po::positional_options_description places;
        if (!words.empty()) places.add(words.c_str(), -1);
        po::store(
            po::command_line_parser(arguments).options(flags).positional(places).style(style).run(),
            values);
        po::notify(values);
    } catch (po::too_many_positional_options_error const&) {
        throw UsageError(text("takes flags only. See sinew ", command, " --help"));
    } catch (po::unknown_option const& error) {
        std::string const name = error.get_option_name();
        throw UsageError(text("does not know ", name, ". ", suggestion(name, flags, command)));
    } catch (po::error const& error) {
        throw UsageError(text(error.what(), ". See sinew ", command, " --help"));
    }
    return values;
}

}  // namespace sinew::launch
