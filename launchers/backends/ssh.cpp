// SPDX-License-Identifier: Apache-2.0
#include "launchers/backends/ssh.hpp"

#include <sinew/error.hpp>
#include <utility>

#include "launchers/command_line/options.hpp"
#include "launchers/common/host_name.hpp"
#include "launchers/common/own_path.hpp"
#include "launchers/common/shell_quoted.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// Splits words as a POSIX shell does, without expansions.
std::vector<std::string> split_words(std::string const& line) {
    std::vector<std::string> words;
    std::string word;
    bool inside = false;
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        char const c = line[i];
        if (quote == 0 && (c == ' ' || c == '\t')) {
            if (inside) words.push_back(std::exchange(word, {}));
            inside = false;
            continue;
        }
        inside = true;
        if (quote == 0 && (c == '\'' || c == '"')) quote = c;
        else if (c == quote) quote = 0;
        else if (c == '\\' && quote != '\'' && i + 1 < line.size()) word += line[++i];
        else word += c;
    }
    if (quote != 0)
        throw UsageError(text("--launch-agent ", line, ": a quote (", quote, ") is not closed"));
    if (inside) words.push_back(word);
    return words;
}

std::string fill(std::string word, std::string const& name, std::string const& value) {
    for (auto at = word.find(name); at != std::string::npos;
         at = word.find(name, at + value.size()))
        word.replace(at, name.size(), value);
    return word;
}

// Runs the same path as here if that exists on the remote host, otherwise the sinew in its PATH.
std::string remote_command() {
    auto const here = own_path();
    auto const script =
        text("p=", shell_quoted(here), "; [ -x \"$p\" ] || p=sinew; exec \"$p\" agent");
    return text("sh -c ", shell_quoted(script));
}

class Ssh : public Backend {
public:
    explicit Ssh(std::string agent_template) : template_(std::move(agent_template)) {}

    std::string_view name() const override { return template_.empty() ? "ssh" : "launch-agent"; }
    int window() const override { return 64; }
    bool on_this_host() const override { return false; }

    AgentProcess command(AgentStart const& start) const override {
        if (!template_.empty())
            return {.argv = fill_template(template_, start, {own_path(), "agent"})};
        // As in mpirun, no sshd is needed to start an agent on this host.
        if (is_this_host(start.host)) return {.argv = {own_path(), "agent"}};
        return {.argv = ssh_command(start.host, remote_command())};
    }

    std::string explain(int exit_code, std::string_view words) const override {
        auto const says = [&](char const* what) { return words.find(what) != words.npos; };
        if (says("cannot reach sinew run"))  // printed by the agent, so ssh has worked
            return "Name an address of this host that the other can reach by --root-address, and "
                   "check that no firewall is between them";
        if (says("Permission denied"))
            return "The host does not accept your key: ssh-copy-id to it, or start an ssh-agent";
        if (says("Host key verification failed"))
            return "The host is not known: ssh to it once by hand, or add it to known_hosts";
        if (says("Could not resolve") || says("Name or service not known"))
            return "The name does not resolve: see the hostfile, or sinew doctor";
        if (says("Connection refused"))
            return "No sshd listens there: start it, or choose another way by --launch-agent";
        if (says("timed out") || says("No route"))
            return "The host does not answer: see its network, or sinew doctor";
        if (says("cannot be executed"))
            return template_.empty() ? "Debian: apt-get install openssh-client"
                                     : "The first word of --launch-agent is a command of this host";
        if (exit_code == 127) return "Install sinew on that host, in PATH or where it is here";
        return "Try the command by hand, or sinew doctor";
    }

private:
    std::string template_;  ///< of --launch-agent
};

}  // namespace

std::vector<std::string> ssh_command(std::string const& host, std::string const& remote) {
    return {"ssh",
            "-T",
            "-x",
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=10",
            "-o",
            "ServerAliveInterval=5",
            "-o",
            "ServerAliveCountMax=3",
            host,
            "--",
            remote};
}

std::string in_folder(std::string const& folder, std::vector<std::string> const& words) {
    auto script =
        folder.empty() ? std::string() : text("cd ", shell_quoted(folder), " 2>/dev/null; ");
    script += "exec";
    for (auto const& word : words) script += text(" ", shell_quoted(word));
    return text("sh -c ", shell_quoted(script));
}

std::vector<std::string> fill_template(std::string const& line, AgentStart const& start,
                                       std::vector<std::string> const& command) {
    std::vector<std::string> words;
    bool commanded = false;
    for (auto& word : split_words(line)) {
        if (word == "{command}") {
            words.insert(words.end(), command.begin(), command.end());
            commanded = true;
            continue;
        }
        word = fill(fill(word, "{host}", start.host), "{node}", std::to_string(start.node));
        auto const brace = word.find('{');
        if (brace != std::string::npos && word.find('}', brace) != std::string::npos)
            throw UsageError(text("--launch-agent ", line, ": ", word.substr(brace),
                                  " is not known (there are {host}, {node} and {command})"));
        words.push_back(std::move(word));
    }
    if (words.empty()) throw UsageError("--launch-agent is empty (a command was expected)");
    if (!commanded) words.insert(words.end(), command.begin(), command.end());
    return words;
}

std::unique_ptr<Backend> make_ssh(RunOptions const& options) {
    return std::make_unique<Ssh>(options.launch_agent);
}

}  // namespace sinew::launch
