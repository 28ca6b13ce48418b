// SPDX-License-Identifier: Apache-2.0
#include "launchers/slurm/submission.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <sinew/error.hpp>

#include "launchers/common/own_path.hpp"
#include "launchers/common/shell_quoted.hpp"
#include "launchers/program/command_output.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::slurm {
namespace {

// Slurm sends SIGTERM at the time limit, and SIGKILL after its KillWait, 30 s by default. A longer
// grace period needs an earlier signal.
constexpr auto kill_wait = std::chrono::seconds(25), report_time = std::chrono::seconds(10);

int ranks_of(RunOptions const& options) {
    int ranks = 0;
    for (auto const& app : options.apps) ranks += app.ranks;
    return ranks;
}

// Of the ranks; 0: any number.
int most_on_a_node(RunOptions const& options) {
    if (options.per_node > 0 || options.nodes == 0) return options.per_node;
    return (ranks_of(options) + options.nodes - 1) / options.nodes;
}

// For the agent of each node: of what is asked for each task, Slurm would give it that of one.
std::string gpus_of_a_node(RunOptions const& options) {
    if (options.gpus == 0) return {};
    int const ranks = ranks_of(options) == 1 ? 1 : most_on_a_node(options);
    if (ranks == 0)
        throw UsageError(
            "--gpu with --backend slurm needs the number of ranks on a node. Say -N, or --nodes "
            "and "
            "-n");
    return std::to_string(options.gpus * ranks);
}

void add_if(Words& words, std::string_view option, std::string const& value) {
    if (!value.empty()) words.push_back(text(option, "=", value));
}

}  // namespace

std::string comment_of(RunOptions const& options) {
    auto comment = text(comment_word, " ", ranks_of(options));
    for (auto const& app : options.apps) {
        comment += &app == &options.apps.front() ? "" : " :";
        for (auto const& word : app.argv) comment += text(" ", word);
    }
    constexpr std::size_t longest = 200;
    if (comment.size() > longest) comment.resize(longest);
    // One line, in ASCII: lists of jobs are read by line.
    for (char& c : comment)
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
    return comment;
}

std::optional<Comment> parse_comment(std::string_view text) {
    if (!text.starts_with(comment_word)) return std::nullopt;
    text.remove_prefix(comment_word.size());
    if (!text.starts_with(' ')) return std::nullopt;
    text.remove_prefix(1);
    Comment comment;
    auto const [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), comment.ranks);
    if (error != std::errc() || comment.ranks < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with(' ')) return std::nullopt;
    comment.command = text.substr(1);
    return comment;
}

Words resource_words(RunOptions const& options) {
    Words words;
    auto const& slurm = options.slurm;
    int const ranks = ranks_of(options);
    if (options.nodes > 0) add_if(words, "--nodes", std::to_string(options.nodes));
    if (ranks > 0) add_if(words, "--ntasks", std::to_string(ranks));
    // Slurm would fill the first nodes.
    if (int const most = most_on_a_node(options); most > 0)
        add_if(words, "--ntasks-per-node", std::to_string(most));
    add_if(words, "--partition", slurm.partition);
    add_if(words, "--account", slurm.account);
    add_if(words, "--qos", slurm.qos);
    add_if(words, "--time", slurm.time);
    add_if(words, "--gres", slurm.gres);
    add_if(words, "--constraint", slurm.constraint);
    if (slurm.exclusive) words.emplace_back("--exclusive");
    words.insert(words.end(), slurm.arguments.begin(), slurm.arguments.end());
    return words;
}

std::string output_name(std::string const& job, std::string const& id) {
    return text(job, "-", id);
}

// Slurm replaces %j by the job's number, and %% by %, also in the names of folders.
std::string output_pattern(std::string const& folder, std::string const& job) {
    if (folder.find('\\') != std::string::npos)
        throw UsageError(text("the job cannot write its output into ", folder,
                              " (to Slurm, a backslash means something else). Start it in another "
                              "folder"));
    std::string pattern;
    for (char const c : folder) pattern += c == '%' ? std::string("%%") : std::string(1, c);
    return text(pattern, "/", output_name(job, "%j"));
}

std::optional<std::chrono::seconds> early_signal(RunOptions const& options) {
    if (options.grace <= kill_wait) return std::nullopt;
    return std::chrono::ceil<std::chrono::seconds>(options.grace + report_time);
}

Words submit_words(RunOptions const& options, std::string const& job) {
    auto const output = output_pattern(options.folder, job);
    Words words{"sbatch",
                "--parsable",
                "--export=ALL",
                text("--job-name=", job),
                text("--comment=", comment_of(options)),
                text("--output=", output, ".out"),
                text("--error=", output, ".err"),
                "--open-mode=append"};  // a job that Slurm begins again continues them
    if (auto const early = early_signal(options))
        words.push_back(text("--signal=B:TERM@", early->count()));
    add_if(words, "--gpus-per-node", gpus_of_a_node(options));
    for (auto& word : resource_words(options)) words.push_back(std::move(word));
    return words;
}

std::string script(RunOptions const& options, std::string const& job) {
    Words words{"run", "--backend", "slurm", "--name", job};
    words.insert(words.end(), options.words.begin(), options.words.end());
    auto lines = text("#!/bin/sh\n# Submitted by sinew run.\np=", shell_quoted(own_path()),
                      "; [ -x \"$p\" ] || p=sinew\nexec \"$p\"");
    for (auto const& word : words) lines += text(" ", shell_quoted(word));
    return lines + "\n";
}

std::string submit(RunOptions const& options, std::string const& job) {
    // sbatch reads the script from its standard input, and the shell's has it from a variable, so
    // that there is no file.
    Words command{"sh", "-c",
                  "printf %s \"$SINEW_BATCH_SCRIPT\" | env -u SINEW_BATCH_SCRIPT \"$@\"", "sh"};
    auto words = submit_words(options, job);
    command.insert(command.end(), words.begin(), words.end());
    std::vector<std::string> environment;
    for (char** each = ::environ; *each != nullptr; ++each) environment.emplace_back(*each);
    environment.push_back(text("SINEW_BATCH_SCRIPT=", script(options, job)));
    auto const asked = command_output(command, {.time = std::chrono::seconds(60)}, environment);
    auto said = asked.err;
    while (!said.empty() && said.back() == '\n') said.pop_back();
    if (asked.timed_out)
        throw Unavailable("sbatch does not answer for 60 s. Is slurmctld there? See sinfo");
    if (!asked.succeeded())
        throw Unavailable(text("sbatch has not taken the job", said.empty() ? "" : ": ", said));
    // "7", or "7;cluster"
    auto const id = asked.out.substr(0, asked.out.find_first_not_of("0123456789"));
    if (id.empty())
        throw Unavailable(text("sbatch has not said the job's number: ", asked.out, said));
    return id;
}

}  // namespace sinew::launch::slurm
