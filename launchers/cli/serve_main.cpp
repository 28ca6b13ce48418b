// SPDX-License-Identifier: Apache-2.0
#include "launchers/cli/serve_main.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <ostream>
#include <sinew/error.hpp>

#include "launchers/cli/small_options.hpp"
#include "launchers/command_line/values.hpp"
#include "launchers/common/host_name.hpp"
#include "launchers/service/client/resolve.hpp"
#include "launchers/service/key_file.hpp"
#include "launchers/service/server/registry.hpp"
#include "src/base/env.hpp"
#include "src/base/text.hpp"
#if SINEW_HAVE_SQLITE
#include "launchers/service/server/host_resources.hpp"
#include "launchers/service/server/server.hpp"
#endif

namespace sinew::launch {
namespace {

namespace po = boost::program_options;
using namespace service;
using std::string;

constexpr char serve_usage[] =
    "sinew serve [flags]: runs jobs that sinew run --at submits, in order, with GPUs of their "
    "own\n\n"
    "  sinew serve --new-key ~/.config/sinew/key   make the key, which clients need, too\n"
    "  sinew serve                                 serve this machine's users\n"
    "  sinew serve --address 10.0.0.3              and those of other machines, who have the "
    "key\n\n"
    "A signal ends it; the jobs that run go on, and the next sinew serve with the same --state\n"
    "finds them, and the queue. See docs/service.md.\n\n";

constexpr char registry_usage[] =
    "sinew registry [flags]: keeps the names of servers, so that --at finds them\n\n"
    "  sinew registry --address 10.0.0.2\n"
    "  sinew serve --address 10.0.0.3 --registry 10.0.0.2 --name tensorflow --alias "
    "tensorflow-2.1\n"
    "  sinew run --registry 10.0.0.2 --at tensorflow ./train\n"
    "  sinew registry --list --address 10.0.0.2    the servers that it knows\n\n";

string word_of(po::variables_map const& values, char const* flag) {
    return values.count(flag) != 0 ? values[flag].as<string>() : string();
}

std::chrono::milliseconds time_of_flag(po::variables_map const& values, char const* flag,
                                       std::chrono::milliseconds otherwise) {
    auto const word = word_of(values, flag);
    if (word.empty()) return otherwise;
    auto const time = parse_duration(word);
    if (!time) throw UsageError(text("--", flag, " ", word, " (must be a time such as 30s or 2h)"));
    return std::chrono::ceil<std::chrono::milliseconds>(*time);
}

wire::Address address_of(po::variables_map const& values, int port) {
    auto const word = word_of(values, "address");
    if (word.ends_with(":0")) return wire::Address::parse(text("tcp:", word));  // any free port
    return wire::Address::parse(text("tcp:", with_port(word, port)));
}

// Each client has a connection, and each job that runs a descriptor.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

void run_until_signal(wire::Loop& loop) {
    auto const signals = loop.signals({SIGINT, SIGTERM, SIGHUP}, [&](int) { loop.stop(); });
    loop.run();
}

void add_common_flags(po::options_description& flags, char const* address_help) {
    flags.add_options()("help,h", "this text")(
        "address", po::value<string>()->value_name("HOST[:PORT]")->default_value("127.0.0.1"),
        address_help)("key", po::value<string>()->value_name("FILE"),
                      "the key; default ~/.config/sinew/key");
}

#if SINEW_HAVE_SQLITE

int count_of_flag(po::variables_map const& values, char const* flag, int most) {
    auto const word = values[flag].as<string>();
    auto const count = parse_int(word, 1, most);
    if (!count) throw UsageError(text("--", flag, " ", word, " (must be 1 to ", most, ")"));
    return *count;
}

string state_folder_of(po::variables_map const& values) {
    if (auto const given = word_of(values, "state"); !given.empty()) return given;
    if (auto const folder = env("XDG_STATE_HOME"); folder && folder->front() == '/')
        return *folder + "/sinew-serve";
    if (auto const home = env("HOME")) return *home + "/.sinew-serve";
    throw UsageError("HOME is not set, so that there is no ~/.sinew-serve. Say --state FOLDER");
}

std::optional<dashboard::Settings> dashboard_settings(po::variables_map const& values) {
    if (values.count("dashboard") == 0) return std::nullopt;
    auto const word = values["dashboard"].as<string>();
    dashboard::Settings settings{.token_file = env("SINEW_DASHBOARD_TOKEN_FILE").value_or("")};
    if (word.empty()) return settings;
    auto const port = parse_int(word, 2, 65535);
    if (!port) throw UsageError(text("--dashboard=", word, " (must be a port from 2 to 65535)"));
    settings.port = static_cast<std::uint16_t>(*port);
    return settings;
}

ServerOptions server_options(po::variables_map const& values) {
    using namespace std::chrono_literals;
    ServerOptions options{.address = address_of(values, default_port),
                          .key = read_key(key_path(word_of(values, "key"))),
                          .state_folder = state_folder_of(values),
                          .name = host_name(),
                          .all = resources_of_host(),
                          .backfill = values.count("backfill") != 0 ? Backfill::yes : Backfill::no,
                          .most_active = count_of_flag(values, "max-running", 10'000),
                          .client_patience = time_of_flag(values, "client-timeout", 10s)};
    options.retention = std::chrono::ceil<std::chrono::hours>(
        time_of_flag(values, "retention", std::chrono::hours(24 * 7)));
    if (auto const name = word_of(values, "name"); !name.empty()) {
        options.announced.names.push_back(service_name(name));
        options.name = name;
    }
    if (values.count("alias") != 0)
        for (auto const& alias : values["alias"].as<std::vector<string>>())
            options.announced.names.push_back(service_name(alias));
    options.dashboard = dashboard_settings(values);
    auto const registry = word_of(values, "registry");
    if (registry.empty() != options.announced.names.empty())
        throw UsageError(
            "--registry without --name, or --name without --registry (must be both: the registry "
            "keeps the name)");
    if (registry.empty()) return options;
    options.registry =
        wire::Address::parse(text("tcp:", with_port(registry, default_registry_port)));
    auto const& host = options.address.host;
    bool const any = host == "0.0.0.0" || host == "::";
    if (auto const address = word_of(values, "announce"); !address.empty())
        options.announced.address =
            with_port(address, options.address.port != 0 ? options.address.port : default_port);
    else if (any)
        throw UsageError(
            text("--address ", host, " is no address for clients. Say --announce HOST, too"));
    return options;
}

int serve(po::variables_map const& values, std::ostream& out) {
    auto options = server_options(values);
    raise_descriptor_limit();
    wire::Loop loop;
    auto const all = options.all;
    Server server(loop, std::move(options));
    out << "listening on " << server.address().text().substr(std::string_view("tcp:").size())
        << " (" << all.gpus << " GPUs, " << all.cpus << " processors)" << std::endl;
    if (auto const address = server.dashboard_address())
        std::cerr << text("sinew: dashboard: ", *address, "\n");
    run_until_signal(loop);
    return 0;
}

#else

int serve(po::variables_map const&, std::ostream&) {
    throw Unavailable(
        "this sinew was built without SQLite, in which sinew serve keeps its jobs. Debian: apt-get "
        "install libsqlite3-dev, and build it again");
}

#endif

}  // namespace

int serve_main(std::vector<string> const& arguments, std::ostream& out) {
    po::options_description flags("flags");
    add_common_flags(flags, "listen there; default: this machine only, port 7420");
    flags.add_options()("new-key", po::value<string>()->value_name("FILE"),
                        "make a key in FILE, and do nothing else")(
        "state", po::value<string>()->value_name("FOLDER"),
        "queue, output and audit log; default ~/.sinew-serve")(
        "backfill", "let jobs overtake that cannot delay the first, by their --time-limit")(
        "max-running", po::value<string>()->value_name("COUNT")->default_value("64"),
        "how many jobs run at the same time")(
        "client-timeout", po::value<string>()->value_name("TIME"),
        "how long a job without --keep goes on when its client is gone; default 10s")(
        "retention", po::value<string>()->value_name("TIME"),
        "how long jobs that have ended are kept; default 7 days")(
        "dashboard", po::value<string>()->implicit_value("")->value_name("PORT"),
        "serve a page about the queue and the GPUs on this host, and print its address; =PORT: "
        "there")("registry", po::value<string>()->value_name("HOST[:PORT]"),
                 "announce this server to a sinew registry")(
        "name", po::value<string>()->value_name("NAME"), "under this name")(
        "alias", po::value<std::vector<string>>()->value_name("NAME"),
        "and under this one; may be repeated")("announce",
                                               po::value<string>()->value_name("HOST[:PORT]"),
                                               "with this address; default: that of --address");
    auto const values = parse_small(arguments, flags, "serve");
    if (values.count("help") != 0) {
        out << serve_usage << flags;
        return 0;
    }
    if (auto const path = word_of(values, "new-key"); !path.empty()) {
        create_key(path);
        out << "made the key " << path << " (mode 0600). Copy it to clients by a secure way\n";
        return 0;
    }
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);  // a limit of the size of files is an error of write
    return serve(values, out);
}

int registry_main(std::vector<string> const& arguments, std::ostream& out) {
    po::options_description flags("flags");
    add_common_flags(flags, "listen there; default: this machine only, port 7421");
    flags.add_options()("expiry", po::value<string>()->value_name("TIME"),
                        "forget a server that was silent for so long; default 6s")(
        "list", "print the servers of the registry at --address, and end");
    auto const values = parse_small(arguments, flags, "registry");
    if (values.count("help") != 0) {
        out << registry_usage << flags;
        return 0;
    }
    ::signal(SIGPIPE, SIG_IGN);
    auto const key = read_key(key_path(word_of(values, "key")));
    if (values.count("list") != 0) {
        for (auto const& each :
             known_services({.file = "/dev/null", .registry = word_of(values, "address")}, key)) {
            out << each.address;
            for (auto const& name : each.names) out << ' ' << name;
            out << '\n';
        }
        return 0;
    }
    raise_descriptor_limit();
    wire::Loop loop;
    Registry registry(loop, address_of(values, default_registry_port), key,
                      time_of_flag(values, "expiry", 3 * announcement_period));
    out << "listening on " << registry.address().text().substr(std::string_view("tcp:").size())
        << std::endl;
    run_until_signal(loop);
    return 0;
}

}  // namespace sinew::launch
