// SPDX-License-Identifier: Apache-2.0
//
// Nodes::acquire: what a program, `sinew acquire` and an agent say to each other is refused, or is safe
// to use as words of a command, as variables and as numbers of nodes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>
#include <span>
#include <string>
#include <string_view>

#include "launchers/acquire/request.hpp"
#include "src/nodes/acquire/agent_config.hpp"
#include "src/nodes/acquire/backend_protocol.hpp"

namespace {

using namespace sinew;

void expect(bool holds) {
    if (!holds) std::abort();
}

void request(std::string_view input) {
    auto const found = launch::parse_acquire_request(input);
    expect(found.count >= 0 && found.count <= 1 << 16 && found.cpu >= 0 && found.gpu >= 0);
    expect(!found.command.empty() && !found.command.front().empty());
    for (auto const& host : found.hosts)
        expect(!host.empty() && host.front() != '-' &&
               host.find_first_of(" \t\n'\"\\$;&|<>`()") == std::string::npos);
    for (auto const& [name, value] : found.env)
        expect(!name.empty() && (name + value).find('\0') == std::string::npos);
    expect(found.configuration.find('\n') == std::string::npos);
}

void command(std::string_view input) {
    auto const found = launch::parse_acquire_command(input);
    if (found.count) expect(*found.count >= 0 && *found.count <= 1 << 16);
}

void event(std::string_view input) {
    auto const found = nodes::parse_event(input);
    expect(std::ranges::none_of(found.text, [](unsigned char each) { return each < 0x20; }));
}

void config(std::string_view input) {
    auto const found = nodes::parse_config(input);
    expect(!found.addresses.empty() && found.meta.cpu >= 0 && found.meta.gpu >= 0);
    for (auto const& each : found.env) expect(each.find('=') != std::string::npos);
}

void join(std::string_view input) {
    auto const found = nodes::decode_join(std::as_bytes(std::span(input)));
    expect(found.cores >= 1 && found.gpus >= 0);
    expect(std::ranges::none_of(found.id, [](unsigned char each) { return each < 0x20; }));
}

}  // namespace

/// The first byte selects the parser.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view const input(reinterpret_cast<char const*>(data) + 1, size - 1);
    try {
        switch (data[0] % 5) {
            case 0:
                request(input);
                break;
            case 1:
                command(input);
                break;
            case 2:
                event(input);
                break;
            case 3:
                config(input);
                break;
            default:
                join(input);
                break;
        }
    } catch (UsageError const&) {
    } catch (DecodeError const&) {}
    return 0;
}
