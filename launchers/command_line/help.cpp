// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/help.hpp"

#include <algorithm>
#include <sstream>

#include <sinew/error.hpp>
#include <sinew/version.hpp>

#include "launchers/command_line/flags.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr std::size_t columns = 79, indent = 30;

/// Wraps words into lines that begin at column `indent`.
std::string wrapped(std::string_view words) {
    std::string text;
    std::size_t column = indent;
    while (!words.empty()) {
        std::size_t const end = std::min(words.find(' '), words.size());
        if (column > indent && column + 1 + end > columns) {
            text += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            text += ' ';
            ++column;
        }
        text += words.substr(0, end);
        column += end;
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return text;
}

std::string flag_lines(Flag const& flag) {
    std::string lines, line = "  ";
    for (std::string_view const spelling : spellings(flag)) {
        if (line.size() + spelling.size() + flag.value.size() + 3 > columns) {
            lines += line + "\n";
            line = "    ";
        }
        line += std::string(spelling) + ", ";
    }
    line.resize(line.size() - 2);
    if (!flag.value.empty()) line += " " + std::string(flag.value);
    if (line.size() + 2 > indent) line += "\n" + std::string(indent, ' ');
    else line.resize(indent, ' ');
    return lines + line + wrapped(flag.help) + "\n";
}

std::string list_of_topics() {
    std::ostringstream out;
    for (HelpTopic const& topic : help_topics())
        out << "  " << topic.name << std::string(14 - topic.name.size(), ' ') << topic.about
            << "\n";
    return out.str();
}

}  // namespace

std::string help_text(std::string_view topic) {
    if (topic.empty())
        return text(
            "sinew runs parallel programs: of Open MPI, of MPICH, of sinew, or any other.\n\n"
            "  sinew run -n 4 ./program    start it as 4 ranks\n"
            "  sinew ps                    the jobs that run\n"
            "  sinew logs JOB              their last output; -f: and what follows\n"
            "  sinew attach JOB            output and exit code, as if it were run here\n"
            "  sinew stop JOB              end it\n"
            "  sinew help kubernetes       also events, scale, cp, forward: on clusters\n"
            "  sinew serve                 run jobs of others here: sinew help service\n"
            "  sinew info                  what is built in, and what this machine has\n"
            "  sinew doctor                look for causes of failing or slow jobs\n"
            "  sinew help TOPIC            more, with examples\n\ntopics:\n",
            list_of_topics());
    for (HelpTopic const& known : help_topics()) {
        if (known.name != topic) continue;
        std::string flags;
        for (Flag const& flag : all_flags())
            if (flag.topic == topic) flags += flag_lines(flag);
        if (!flags.empty()) flags = "\nflags:\n" + flags;
        std::string const more =
            topic == "run" ? "\nmore, by sinew help TOPIC:\n" + list_of_topics() : "";
        return text(known.text, flags, more);
    }
    std::vector<std::string_view> names;
    std::string list;
    for (HelpTopic const& known : help_topics()) {
        names.push_back(known.name);
        list += (list.empty() ? "" : ", ") + std::string(known.name);
    }
    std::string_view const like = nearest(topic, names);
    throw UsageError(text("no help on ", topic, " (topics: ", list, ")",
                          like.empty() ? "" : text(". Did you mean ", like, "?")));
}

std::string version_text() { return text("sinew ", version(), "\n"); }

}  // namespace sinew::launch
