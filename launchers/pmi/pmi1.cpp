// SPDX-License-Identifier: Apache-2.0
//
// The dialect is that of MPICH's simple PMI client. It splits replies at spaces, so no value made
// here has one, and expects `info=ok` where names are published, else `rc`: replies have both.
#include "launchers/pmi/pmi1.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

// Hydra's limits, with which the clients are tested.
constexpr std::size_t longest_name = 256, longest_key = 64, longest_value = 1024;
// MPICH truncates a reply at 1024 bytes. Without this key it compares host names, which works.
constexpr std::size_t longest_mapping = 960;

/// The value of `name` in "cmd=x name=value ...", up to the next space.
std::optional<std::string_view> field(std::string_view line, std::string_view name) {
    for (std::size_t at = 0; at < line.size();) {
        auto const end = std::min(line.find(' ', at), line.size());
        auto const word = line.substr(at, end - at);
        if (word.size() > name.size() && word[name.size()] == '=' && word.starts_with(name))
            return word.substr(name.size() + 1);
        at = end + 1;
    }
    return std::nullopt;
}

/// Returns the last field, whose value is the rest of the line, and cuts it off the line.
std::optional<std::string_view> last_field(std::string_view& line, std::string_view name) {
    auto const start = line.find(text(' ', name, '='));
    if (start == std::string_view::npos) return std::nullopt;
    auto const value = line.substr(start + name.size() + 2);
    line = line.substr(0, start);
    return value;
}

int number(std::optional<std::string_view> digits, int otherwise) {
    int value = otherwise;
    if (digits) std::from_chars(digits->data(), digits->data() + digits->size(), value);
    return value;
}

std::string no_spaces(std::string words) {
    std::replace_if(
        words.begin(), words.end(), [](char c) { return c == ' ' || c == '\n'; }, '_');
    return words;
}

}  // namespace

struct Pmi1Server::Command {
    std::string_view name;
    void (Pmi1Server::*handle)(int local_rank, std::string_view line);
};

Pmi1Server::Pmi1Server(Job job, Hooks hooks)
    : job_(std::move(job)), hooks_(std::move(hooks)), clients_(job_.local_ranks.size()) {
    if (!job_.process_mapping.empty() && job_.process_mapping.size() <= longest_mapping)
        keys_["PMI_process_mapping"] = job_.process_mapping;
}

Pmi1Server::Client& Pmi1Server::client(int local_rank) {
    if (local_rank < 0 || static_cast<std::size_t>(local_rank) >= clients_.size())
        throw std::out_of_range(text("local rank ", local_rank, " sent a PMI-1 request (there are ",
                                     clients_.size(), " on this node)"));
    return clients_[static_cast<std::size_t>(local_rank)];
}

void Pmi1Server::receive(int local_rank, std::string_view bytes) {
    auto& from = client(local_rank);
    while (!bytes.empty() && !from.ended) {
        auto const end = bytes.find('\n');
        auto const part = bytes.substr(0, end);
        if (from.partial.size() + part.size() > longest_line) {
            end_client(local_rank, text("a line of more than ", longest_line, " bytes"));
            return;
        }
        from.partial += part;
        if (end == std::string_view::npos) return;
        bytes.remove_prefix(end + 1);
        // Moved out first, since a hook may call receive() again.
        std::string const whole = std::exchange(from.partial, {});
        line(local_rank, whole);
    }
}

void Pmi1Server::line(int local_rank, std::string_view line) {
    static constexpr Command commands[] = {
        {"init", &Pmi1Server::init},
        {"get_maxes", &Pmi1Server::maxes},
        {"get_appnum", &Pmi1Server::appnum},
        {"get_universe_size", &Pmi1Server::universe_size},
        {"get_my_kvsname", &Pmi1Server::my_kvsname},
        {"put", &Pmi1Server::put},
        {"get", &Pmi1Server::get},
        {"barrier_in", &Pmi1Server::barrier_in},
        {"finalize", &Pmi1Server::finalize},
        {"abort", &Pmi1Server::abort},
        {"publish_name", &Pmi1Server::publish_name},
        {"lookup_name", &Pmi1Server::lookup_name},
        {"unpublish_name", &Pmi1Server::unpublish_name},
    };
    if (client(local_rank).in_spawn || line.starts_with("mcmd=")) {
        spawn_line(local_rank, line);
        return;
    }
    auto const name = field(line, "cmd");
    for (auto const& command : commands)
        if (name == command.name) return (this->*command.handle)(local_rank, line);
    auto const asked = no_spaces(std::string(name.value_or("nothing").substr(0, 64)));
    reply(local_rank, text("cmd=", asked, "_result rc=-1 msg=unknown_request_", asked));
}

// A request has one block of lines for each program; one reply follows the last block.
void Pmi1Server::spawn_line(int local_rank, std::string_view line) {
    auto& from = client(local_rank);
    if (line.starts_with("mcmd=")) {
        from.in_spawn = true;
        from.spawns = from.spawns_so_far = 0;
    } else if (line.starts_with("totspawns=")) {
        from.spawns = number(field(line, "totspawns"), 0);
    } else if (line.starts_with("spawnssofar=")) {
        from.spawns_so_far = number(field(line, "spawnssofar"), 0);
    } else if (line == "endcmd") {
        from.in_spawn = false;
        if (from.spawns_so_far >= from.spawns)
            reply(local_rank, "cmd=spawn_result rc=-1 msg=spawn_not_supported");
    }
}

void Pmi1Server::reply(int local_rank, std::string line) const {
    line += '\n';
    if (hooks_.reply) hooks_.reply(local_rank, line);
}

void Pmi1Server::end_client(int local_rank, std::string why) {
    auto& ended = client(local_rank);
    ended.ended = true;
    ended.partial = {};
    if (hooks_.violation) hooks_.violation(local_rank, std::move(why));
}

void Pmi1Server::init(int local_rank, std::string_view line) {
    bool const known = number(field(line, "pmi_version"), 0) == 1;
    reply(local_rank, text("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=",
                           known ? 0 : -1, known ? "" : " msg=only_version_1.1_is_served"));
    if (known && hooks_.connected) hooks_.connected(local_rank);
}

void Pmi1Server::maxes(int local_rank, std::string_view) {
    reply(local_rank, text("cmd=maxes rc=0 kvsname_max=", longest_name, " keylen_max=", longest_key,
                           " vallen_max=", longest_value));
}

void Pmi1Server::appnum(int local_rank, std::string_view) {
    auto const& apps = job_.app_of_local_rank;
    auto const at = static_cast<std::size_t>(local_rank);
    reply(local_rank, text("cmd=appnum rc=0 appnum=", at < apps.size() ? apps[at] : 0));
}

void Pmi1Server::universe_size(int local_rank, std::string_view) {
    reply(local_rank, text("cmd=universe_size rc=0 size=", std::max(job_.universe, job_.size)));
}

void Pmi1Server::my_kvsname(int local_rank, std::string_view) {
    reply(local_rank, text("cmd=my_kvsname rc=0 kvsname=", job_.name));
}

void Pmi1Server::put(int local_rank, std::string_view line) {
    auto const value = last_field(line, "value");
    auto const key = field(line, "key");
    if (field(line, "kvsname") != job_.name)
        return reply(local_rank, "cmd=put_result rc=-1 msg=no_such_kvsname");
    if (!value || !key || key->empty())
        return reply(local_rank, "cmd=put_result rc=-1 msg=key_or_value_is_missing");
    new_keys_.insert_or_assign(std::string(*key), std::string(*value));
    reply(local_rank, "cmd=put_result rc=0 msg=success");
}

void Pmi1Server::get(int local_rank, std::string_view line) {
    auto const key = field(line, "key");
    if (field(line, "kvsname") != job_.name)
        return reply(local_rank, "cmd=get_result rc=-1 msg=no_such_kvsname value=unknown");
    // Keys put on this node are visible at once, as with a single server for all nodes.
    for (auto const* keys : {&new_keys_, &keys_})
        if (auto const found = keys->find(key.value_or("")); found != keys->end())
            return reply(local_rank, "cmd=get_result rc=0 msg=success value=" + found->second);
    reply(local_rank, text("cmd=get_result rc=-1 msg=no_such_key value=unknown"));
}

void Pmi1Server::barrier_in(int local_rank, std::string_view) {
    auto& from = client(local_rank);
    if (from.in_barrier)
        return end_client(local_rank, "barrier_in by a rank that is in the barrier");
    from.in_barrier = true;
    if (++in_barrier_ < clients_.size()) return;
    auto puts = pack_puts(new_keys_);
    if (hooks_.barrier) hooks_.barrier(std::move(puts));
}

void Pmi1Server::barrier_done(std::vector<std::string> const& puts) {
    for (auto& [key, value] : new_keys_) keys_.insert_or_assign(key, std::move(value));
    new_keys_.clear();
    for (auto const& packed : puts)
        if (auto pairs = unpack_puts(packed))
            for (auto& [key, value] : *pairs)
                keys_.insert_or_assign(std::move(key), std::move(value));
    release_barrier("cmd=barrier_out rc=0 msg=success");
}

void Pmi1Server::barrier_failed(std::string const& why) {
    release_barrier("cmd=barrier_out rc=-1 msg=" + no_spaces(why));
}

void Pmi1Server::release_barrier(std::string const& line) {
    if (in_barrier_ < clients_.size()) return;  // no exchange was requested
    in_barrier_ = 0;
    for (auto& each : clients_) each.in_barrier = false;
    for (std::size_t rank = 0; rank < clients_.size(); ++rank)
        if (!clients_[rank].ended) reply(static_cast<int>(rank), line);
}

void Pmi1Server::finalize(int local_rank, std::string_view) {
    client(local_rank).ended = true;
    reply(local_rank, "cmd=finalize_ack rc=0");
    if (hooks_.finalized) hooks_.finalized(local_rank);
}

void Pmi1Server::abort(int local_rank, std::string_view line) {
    // Some clients other than MPICH's send a text in the last field.
    auto message = last_field(line, "message");
    if (!message) message = last_field(line, "error_msg");
    int const status = number(field(line, "exitcode"), 1);
    if (hooks_.abort) hooks_.abort(local_rank, status, std::string(message.value_or("")));
}

void Pmi1Server::publish_name(int local_rank, std::string_view line) {
    auto const port = last_field(line, "port");
    auto const name = field(line, "service");
    auto answer = [this, local_rank](std::optional<std::string> const& done) {
        reply(local_rank, done ? "cmd=publish_result rc=0 info=ok msg=success"
                               : "cmd=publish_result rc=-1 info=not_published msg=not_published");
    };
    if (!port || !name || !hooks_.publish) return answer(std::nullopt);
    hooks_.publish(std::string(*name), std::string(*port), answer);
}

void Pmi1Server::lookup_name(int local_rank, std::string_view line) {
    auto const name = field(line, "service");
    auto answer = [this, local_rank](std::optional<std::string> const& port) {
        reply(local_rank, port ? "cmd=lookup_result rc=0 info=ok port=" + *port
                               : "cmd=lookup_result rc=-1 info=not_found msg=not_found");
    };
    if (!name || !hooks_.lookup) return answer(std::nullopt);
    hooks_.lookup(std::string(*name), answer);
}

void Pmi1Server::unpublish_name(int local_rank, std::string_view line) {
    auto const name = field(line, "service");
    auto answer = [this, local_rank](std::optional<std::string> const& done) {
        reply(local_rank, done ? "cmd=unpublish_result rc=0 info=ok msg=success"
                               : "cmd=unpublish_result rc=-1 info=not_found msg=not_found");
    };
    if (!name || !hooks_.unpublish) return answer(std::nullopt);
    hooks_.unpublish(std::string(*name), answer);
}

}  // namespace sinew::launch
