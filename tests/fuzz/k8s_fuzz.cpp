// SPDX-License-Identifier: Apache-2.0
// What files and API servers say: the first byte chooses who reads the rest.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <string>

#include "k8s/config/kubeconfig.hpp"
#include "k8s/credentials/exec_credential.hpp"
#include "k8s/known_objects.hpp"
#include "k8s/objects/event_view.hpp"
#include "k8s/objects/job_view.hpp"
#include "k8s/objects/parse_json.hpp"
#include "k8s/objects/pod_view.hpp"
#include "k8s/objects/quantity.hpp"
#include "k8s/objects/strategic_merge.hpp"
#include "k8s/objects/yaml.hpp"
#include "k8s/watch_lines.hpp"

namespace {

using namespace sinew::k8s;

// What is written must be read as what it was, except numbers that only look different.
void yaml(std::string_view text) {
    for (auto const& value : from_yaml(text, "input")) {
        auto const again = from_yaml(to_yaml(value), "output");
        if (again.size() != 1 || again[0] != value) std::abort();
    }
}

void strings(std::string const& text) {
    auto const value = nlohmann::json{{"key", text}};
    auto const again = from_yaml(to_yaml(value), "output");
    auto const valid = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    bool const is_utf8 = valid.find("\xef\xbf\xbd") == std::string::npos;
    if (again.size() != 1 || (is_utf8 && again[0] != value)) std::abort();
}

void watch(std::string_view text) {
    WatchLines lines;
    KnownObjects known;
    auto const half = text.size() / 2;
    for (auto const part : {text.substr(0, half), text.substr(half)})
        if (!lines
                 .read(part,
                       [&](WatchLines::Line const& line) {
                           if (line.type == WatchLines::Line::Type::deleted)
                               return known.erase(line.object);
                           return known.put(line.object);
                       })
                 .empty())
            return;
}

void views(std::string_view text) {
    auto const object = parse_json(text);
    std::ignore = PodView(object).trouble();
    std::ignore = JobView(object).complete();
    std::ignore = EventView(object).warning();
    if (!object.is_discarded()) std::ignore = strategic_merge(object, object);
}

void quantity(std::string_view text) {
    auto const found = Quantity::parse(text, "input");
    if (Quantity::parse(found.text(), "output") != found) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(unsigned char const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string const text(reinterpret_cast<char const*>(data) + 1, size - 1);
    try {
        switch (data[0] % 7) {
            case 0:
                yaml(text);
                break;
            case 1:
                strings(text);
                break;
            case 2:
                watch(text);
                break;
            case 3:
                views(text);
                break;
            case 4:
                quantity(text);
                break;
            case 5: {
                ExecPlugin plugin;
                plugin.api_version = "client.authentication.k8s.io/v1";
                std::ignore = parse_exec_credential(text, plugin);
                break;
            }
            default:
                std::ignore = read_kubeconfig({{"/k/config", text}}, {});
        }
    } catch (sinew::UsageError const&) {  // that is how they refuse
    }
    return 0;
}
