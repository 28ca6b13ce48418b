// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <exception>
#include <sinew/error.hpp>
#include <sinew/service.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/service/calls.hpp"

namespace sinew {
namespace {

constexpr std::chrono::nanoseconds longest_queue_limit = std::chrono::hours(24 * 365);

std::vector<std::string> servers_in(std::string_view where) {
    std::vector<std::string> found;
    auto const is_part = [](unsigned char each) {
        return std::isalnum(each) != 0 ||
               std::string_view("-_.:").find(static_cast<char>(each)) != std::string_view::npos;
    };
    for (std::size_t begin = 0; begin <= where.size();) {
        auto const end = std::min(where.find(',', begin), where.size());
        auto word = where.substr(begin, end - begin);
        begin = end + 1;
        while (word.starts_with(' ')) word.remove_prefix(1);
        while (word.ends_with(' ')) word.remove_suffix(1);
        if (word.empty() || word.front() == '-' || !std::all_of(word.begin(), word.end(), is_part))
            throw UsageError(text("Service(\"", where,
                                  "\") must be HOST, HOST:PORT or the name of a service, or "
                                  "several by commas"));
        found.emplace_back(word);
    }
    return found;
}

NodesOptions node_options(std::string_view where, ServiceOptions const& options) {
    if (options.queue_limit < options.queue_limit.zero() ||
        options.time_limit < options.time_limit.zero())
        throw UsageError("queue_limit and time_limit of a Service must be at least 0");
    bool const limited = options.queue_limit > options.queue_limit.zero();
    NodesOptions wanted;
    wanted.backend = "service";
    wanted.hosts = servers_in(where);
    wanted.env = options.env;
    wanted.meta = {.cpu = options.cpus, .memory_mib = options.memory_mib, .gpu = options.gpus};
    wanted.start_timeout =
        limited ? std::min(options.queue_limit, longest_queue_limit) : longest_queue_limit;
    wanted.minimum = 0;
    wanted.name = "call";
    wanted.address = options.address;
    wanted.time_limit = options.time_limit;
    wanted.priority = options.priority;
    wanted.replace = false;
    return wanted;
}

}  // namespace

Service::Service(std::string_view where, ServiceOptions options)
    : calls_(std::make_shared<service::Calls>(std::string(where), node_options(where, options))),
      exceptions_(std::uncaught_exceptions()) {}

// Does nothing in a forked child: the calls belong to the parent.
Service::~Service() {
    if (process::Runtime::forked()) {
        [[maybe_unused]] auto* const kept = new std::shared_ptr<service::Calls>(std::move(calls_));
        return;
    }
    calls_->end(std::uncaught_exceptions() > exceptions_);
}

PoolCalls Service::calls() const { return {calls_, {.retries = 0, .at_most_once = true}}; }

}  // namespace sinew
