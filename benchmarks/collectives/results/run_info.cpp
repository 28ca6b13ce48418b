// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/results/run_info.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "benchmarks/support/sizes.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

using Json = nlohmann::ordered_json;

/// Returns "AMD EPYC" from the kernel's description of the first processor; empty if it has none.
std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name") && line.find(": ") != std::string::npos)
            return line.substr(line.find(": ") + 2);
    return {};
}

/// "6.1" of "6.1.0-18-amd64".
std::string main_version(std::string const& release) {
    auto const numbers = split(release, '.');
    return numbers.size() < 2 ? release : numbers[0] + '.' + numbers[1];
}

std::string limits_text(MachineLimits const& limits) {
    std::vector<std::string> rates;
    for (CopyRate const& rate : limits.copies)
        rates.push_back(
            text(fixed(rate.gbs, 1), " (", format_size(rate.footprint), ", ", rate.way, ")"));
    std::string words = text("# limits of this machine: ", limits.processors,
                             limits.processors == 1 ? " processor copies " : " processors copy ",
                             join(rates), " GB/s read and written");
    if (limits.context_switch_ns > 0)
        words +=
            text("; a context switch takes ", fixed(limits.context_switch_ns * 1e-3, 2), " us");
    words += '\n';
    for (bool const live : {false, true}) {
        std::vector<std::string> sums;
        for (SumTime const& time : limits.sums)
            if (!live || time.live_us != time.us)
                sums.push_back(text(fixed(live ? time.live_us : time.us, 2), " (",
                                    format_size(time.bytes), ")"));
        if (!sums.empty())
            words += text("# ", limits.processors, " processors sum the vectors of all ranks",
                          live ? ", just written," : "", " in ", join(sums),
                          " us, without waits and switches\n");
    }
    return words;
}

}  // namespace

std::string to_json(RunInfo const& run) {
    Json copies = Json::array();
    for (CopyRate const& rate : run.limits.copies)
        copies.push_back({{"footprint", rate.footprint}, {"gbs", rate.gbs}, {"way", rate.way}});
    Json sums = Json::array();
    for (SumTime const& time : run.limits.sums)
        sums.push_back({{"bytes", time.bytes},
                        {"us", time.us},
                        {"live_us", time.live_us},
                        {"piece", time.piece}});
    Json const json = {{"version", run.version},
                       {"date", run.date},
                       {"machine", run.machine},
                       {"ranks", run.ranks},
                       {"nodes", run.nodes},
                       {"transport", run.transport},
                       {"mpi", run.mpi},
                       {"mpi_thread", run.mpi_thread},
                       {"barrier", run.barrier},
                       {"own_sessions", run.own_sessions},
                       {"zero_copy", run.zero_copy},
                       {"oversubscribed", run.oversubscribed},
                       {"limits",
                        {{"processors", run.limits.processors},
                         {"copies", copies},
                         {"sums", sums},
                         {"context_switch_ns", run.limits.context_switch_ns}}}};
    return Json{{"run", json}}.dump();
}

RunInfo run_info_from_json(std::string const& line) {
    try {
        Json const parsed = Json::parse(line);
        Json const& json = parsed.at("run");
        Json const& limits = json.at("limits");
        RunInfo run{.version = json.at("version"),
                    .date = json.at("date"),
                    .machine = json.at("machine"),
                    .ranks = json.at("ranks"),
                    .nodes = json.at("nodes"),
                    .transport = json.at("transport"),
                    .mpi = json.at("mpi"),
                    .mpi_thread = json.at("mpi_thread"),
                    .barrier = json.at("barrier"),
                    .own_sessions = json.at("own_sessions"),
                    .zero_copy = json.at("zero_copy"),
                    .oversubscribed = json.at("oversubscribed"),
                    .limits = {.processors = limits.at("processors"),
                               .context_switch_ns = limits.at("context_switch_ns")}};
        for (Json const& rate : limits.at("copies"))
            run.limits.copies.push_back({rate.at("footprint"), rate.at("gbs"), rate.at("way")});
        for (Json const& time : limits.value("sums", Json::array()))
            run.limits.sums.push_back(
                {.bytes = time.at("bytes"),
                 .us = time.at("us"),
                 .live_us = time.value("live_us", time.at("us").get<double>()),
                 .piece = time.at("piece")});
        return run;
    } catch (Json::exception const& problem) {
        throw UsageError(text("not the description of a run (", problem.what(), ")"));
    }
}

std::string to_text(RunInfo const& run) {
    std::string words =
        text("# sinew ", run.version, ", ", run.ranks, run.ranks == 1 ? " rank on " : " ranks on ",
             run.nodes, run.nodes == 1 ? " node (" : " nodes (", run.machine, "), transport ",
             run.transport);
    if (!run.mpi.empty()) words += text(", ", run.mpi, " at ", thread_level(run));
    words += text("\n# ranks meet between timed blocks by ", run.barrier);
    if (run.oversubscribed) words += "; more ranks than processors";
    if (run.own_sessions) words += "; each rank in a session of its own";
    if (run.zero_copy) words += "; buffers in shared memory";
    words += '\n';
    if (!run.limits.copies.empty()) words += limits_text(run.limits);
    return words;
}

std::string thread_level(RunInfo const& run) {
    std::string words = "MPI_THREAD_" + run.mpi_thread;
    for (char& c : words) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return words;
}

std::string machine_text() {
    utsname kernel{};
    ::uname(&kernel);
    std::string const processor = processor_name();
    long const count = ::sysconf(_SC_NPROCESSORS_ONLN);
    return text(processor.empty() ? std::string(kernel.machine) : processor, ", ", count,
                count == 1 ? " processor, " : " processors, ", kernel.sysname, ' ',
                main_version(kernel.release));
}

std::string date_text() {
    std::time_t const now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 16> words{};
    std::strftime(words.data(), words.size(), "%Y-%m-%d", &parts);
    return words.data();
}

}  // namespace sinew::bench
