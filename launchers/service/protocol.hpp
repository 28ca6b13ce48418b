// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/control/job_summary.hpp"
#include "launchers/service/job_request.hpp"
#include "launchers/service/service_entry.hpp"
#include "src/wire/link.hpp"

namespace sinew::launch::service {

/// What messages of a link between a client and a server are.
enum class MessageKind : std::uint8_t {
    request = 1,  ///< client: JSON, see parse_client_request
    answer = 2,   ///< server: JSON, see parse_server_answer
    out = 3,      ///< server: bytes of the job's standard output
    err = 4,      ///< server: bytes of the job's standard error
};

/// Of both ends: a client that is stopped (Ctrl-Z) counts as lost after `dead_after`.
wire::LinkOptions link_options();
inline constexpr std::size_t largest_message = std::size_t{1} << 20;

/// What a client asks. A client follows at most one job at a time.
struct ClientRequest {
    enum class Verb : std::uint8_t {
        submit,    ///< `job`; answered by `accepted`
        status,    ///< answered by `status`
        list,      ///< answered by `jobs`, several times
        follow,    ///< `id`; answered by output, `state` at each change, and `end`
        stop,      ///< `id`; answered by `stopping`
        announce,  ///< `service`, to a registry; answered by `services`
        services,  ///< to a registry; answered by `services`
    };
    Verb verb = Verb::status;
    JobRequest job = {};
    std::int64_t id = 0;
    // follow
    std::uint64_t out = 0, err = 0;  ///< bytes of each that the client has
    std::optional<int> tail = {};    ///< begin with the last lines instead
    bool until_end = true;           ///< false: `end` comes after the output that is there
    bool owner = false;  ///< the client has submitted the job, which is cancelled without it
    // stop
    bool now = false;
    std::optional<std::chrono::milliseconds> grace = {};
    ServiceEntry service = {};
};

std::string to_json(ClientRequest const& request);
/// Throws UsageError, which names what is wrong.
ClientRequest parse_client_request(std::string_view json);

/// What a server has, for the choice among several and for `sinew ps`.
struct ServerStatus {
    std::string name;  ///< host name, or --name
    Resources all, available;
    int waiting = 0, active = 0;
};

/// A job as clients see it.
struct JobEntry {
    std::int64_t id = 0;
    std::string name = {}, state = {}, command = {}, owner = {}, gpus = {}, cause = {};
    Resources needs = {};
    int ranks = 1, priority = 0;
    JobSummary::Time submitted{};
    std::optional<JobSummary::Time> started{}, ended{};
    std::optional<int> exit_code{};
    std::uint64_t memory_in_use = 0;  ///< resident bytes of its processes, if it runs
};

struct ServerAnswer {
    enum class Kind : std::uint8_t {
        accepted,
        error,
        status,
        jobs,
        state,
        end,
        stopping,
        services
    };
    Kind kind = Kind::error;
    std::int64_t id = 0;    ///< accepted, stopping
    std::string text = {};  ///< error: for people
    bool usage = false;     ///< error: the request is at fault
    ServerStatus server = {};
    std::vector<JobEntry> jobs = {};  ///< jobs; one for state and end
    bool last = true;                 ///< jobs: no more follow
    int ahead = 0;                    ///< state: how many jobs are ahead in the queue
    std::vector<ServiceEntry> services = {};
};

std::string to_json(ServerAnswer const& answer);
/// Throws UsageError, which names what is wrong.
ServerAnswer parse_server_answer(std::string_view json);

}  // namespace sinew::launch::service
