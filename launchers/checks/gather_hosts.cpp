// SPDX-License-Identifier: Apache-2.0
//
// Gathers the facts of other hosts: their names, and the results of ssh.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <sstream>
#include <thread>

#include "launchers/checks/facts.hpp"
#include "launchers/program/command_output.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

using std::chrono::milliseconds;

/// Returns `column` of each line of getent's output, each word once, in order.
LookUp ask_getent(std::string const& database, std::string const& key, int column,
                  milliseconds timeout) {
    auto const begin = std::chrono::steady_clock::now();
    auto const answer = command_output({"getent", "--", database, key}, {.time = timeout});
    LookUp found;
    found.took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
    found.timed_out = answer.timed_out;
    std::istringstream lines(answer.out);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        for (int index = 0; index <= column; ++index)
            if (!(words >> word)) word.clear();
        if (!word.empty() &&
            std::find(found.answers.begin(), found.answers.end(), word) == found.answers.end())
            found.answers.push_back(word);
    }
    return found;
}

double now() {
    auto const since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

std::string last_line(std::string const& words) {
    std::istringstream lines(words);
    std::string last;
    for (std::string line; std::getline(lines, line);) {
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
        if (!line.empty()) last = line;
    }
    return last;
}

Reach reach(std::string const& host, milliseconds timeout) {
    auto const seconds = std::max<long long>(1, timeout.count() / 1000);
    // The command has no redirections, because the remote shell may be of any kind.
    std::vector<std::string> const argv{"ssh",
                                        "-o",
                                        "BatchMode=yes",
                                        "-o",
                                        text("ConnectTimeout=", seconds),
                                        "-o",
                                        "ConnectionAttempts=1",
                                        "--",
                                        host,
                                        "date +%s.%N; sinew --version"};
    double const asked = now();
    auto const answer = command_output(argv, {.time = timeout});
    double const heard = now();
    Reach reach;
    read_answer(reach, answer.out, asked, heard);
    if (reach.clock_least) {
        reach.outcome = Reach::Outcome::reached;
        return reach;
    }
    reach.words = last_line(answer.err);
    if (answer.start_error == ENOENT) reach.outcome = Reach::Outcome::no_ssh;
    else if (answer.timed_out) reach.outcome = Reach::Outcome::timed_out;
    else reach.outcome = ssh_outcome(answer.exit_code, answer.err);
    return reach;
}

HostFacts ask(std::string const& target, milliseconds timeout) {
    HostFacts facts;
    facts.host = target;
    std::string const name = target.substr(target.find('@') + 1);  // without the user
    facts.forward = look_up_name(name, timeout);
    if (!facts.forward.answers.empty())
        facts.reverse = look_up_address(facts.forward.answers.front(), timeout);
    facts.reach = reach(target, timeout);
    return facts;
}

}  // namespace

LookUp look_up_name(std::string const& name, milliseconds timeout) {
    return ask_getent("ahosts", name, 0, timeout);
}

LookUp look_up_address(std::string const& address, milliseconds timeout) {
    return ask_getent("hosts", address, 1, timeout);
}

std::vector<HostFacts> gather_hosts(GatherOptions const& options) {
    std::vector<HostFacts> facts(options.hosts.size());
    std::atomic<std::size_t> next{0};
    auto const work = [&] {
        for (std::size_t index; (index = next++) < facts.size();)
            facts[index] = ask(options.hosts[index], options.timeout);
    };
    std::vector<std::jthread> workers;
    for (std::size_t worker = 0; worker < std::min<std::size_t>(facts.size(), options.window);
         ++worker)
        workers.emplace_back(work);
    workers.clear();  // joins
    return facts;
}

}  // namespace sinew::launch
