// SPDX-License-Identifier: Apache-2.0
//
// What `sinew serve` and a registry take from clients and from files, and clients from them, with any
// contents: it is refused with UsageError, or stays as it is when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sinew/error.hpp>
#include <string>
#include <string_view>

#include "launchers/service/job/job_files.hpp"
#include "launchers/service/protocol.hpp"
#include "launchers/service/service_table.hpp"

namespace {

using namespace sinew::launch::service;

void expect(bool holds) {
    if (!holds) std::abort();
}

void client_request(std::string_view input) {
    auto const found = parse_client_request(input);
    auto const written = to_json(found);
    expect(to_json(parse_client_request(written)) == written);
    if (found.verb != ClientRequest::Verb::submit) return;
    // It names a folder of the server.
    expect(is_job_token(found.job.token) && !found.job.words.empty());
    expect(found.job.needs.gpus >= 0 && found.job.ranks > 0);
}

void server_answer(std::string_view input) {
    auto const found = parse_server_answer(input);
    auto const written = to_json(found);
    expect(to_json(parse_server_answer(written)) == written);
    bool const about_one =
        found.kind == ServerAnswer::Kind::end || found.kind == ServerAnswer::Kind::state;
    expect(!about_one || found.jobs.size() == 1);
}

void services(std::string_view input) {
    for (auto const& each : parse_services(input, "services")) {
        expect(!each.names.empty());
        for (auto const& name : each.names) expect(name == service_name(name));
    }
}

void job(std::string_view input) {
    auto const written = to_json(parse_job_request(input));
    expect(to_json(parse_job_request(written)) == written);
}

}  // namespace

/// The first byte selects the parser.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view const input(reinterpret_cast<char const*>(data) + 1, size - 1);
    try {
        switch (data[0] % 5) {
            case 0:
                client_request(input);
                break;
            case 1:
                server_answer(input);
                break;
            case 2:
                services(input);
                break;
            case 3:
                job(input);
                break;
            default:
                parse_supervisor_record(std::string(input));
        }
    } catch (sinew::UsageError const&) {}
    return 0;
}
