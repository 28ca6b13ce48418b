// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/submission.hpp"

#include <sinew/error.hpp>

#include "k8s/api_error.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

struct Created {
    k8s::Resource resource;
    std::string name;
};

bool remove(k8s::Client& client, Created const& what, std::string const& ns,
            k8s::DeleteOptions const& options) {
    try {
        client.call(k8s::remove(what.resource, what.name, options, ns));
        return true;
    } catch (k8s::ApiError const& error) {
        if (error.not_found()) return false;
        throw;
    }
}

// Removes what can be removed; the first failure is reported by whoever called.
void roll_back(k8s::Client& client, std::vector<Created> const& created, std::string const& ns) {
    for (auto at = created.rbegin(); at != created.rend(); ++at) {
        try {
            remove(client, *at, ns, {});
        } catch (Error const& error) {
            log_warning(text(at->resource.kind, " ", at->name, " in namespace ", ns,
                             " could not be removed (", error.what(), "). Delete it by kubectl"));
        }
    }
}

std::string name_of(nlohmann::json const& object) { return object["metadata"]["name"]; }

}  // namespace

void create_job(k8s::Client& client, JobObjects const& objects, std::string const& ns) {
    std::vector<Created> created;
    auto const create = [&](ClusterObject const& wanted) {
        auto answer = client.call(k8s::create(wanted.resource, wanted.object, ns));
        created.push_back({wanted.resource, name_of(wanted.object)});
        return answer;
    };
    try {
        std::string root_ip;
        for (auto const& wanted : objects.before()) {
            auto const answer = create(wanted);
            if (wanted.resource == k8s::services && name_of(wanted.object) == objects.service())
                root_ip = answer.value("spec", k8s::Json::object()).value("clusterIP", "");
        }
        auto const job = create(objects.job(root_ip));
        auto const patch = objects.owner_patch(job["metadata"]["uid"]);
        auto const before = created;
        for (auto const& [resource, name] : before)
            if (!(resource == k8s::jobs))
                client.call(k8s::patch(resource, name, k8s::PatchType::merge, patch, ns));
    } catch (...) {
        roll_back(client, created, ns);
        throw;
    }
}

bool delete_job(k8s::Client& client, std::string const& name, std::string const& ns,
                std::optional<std::chrono::seconds> grace) {
    bool const existed = remove(client, {k8s::jobs, name}, ns, {.grace_period = grace});
    for (auto const& rest : {Created{k8s::services, name}, Created{k8s::services, name + "-pods"},
                             Created{k8s::secrets, name}}) {
        try {
            remove(client, rest, ns, {});
        } catch (k8s::ApiError const& error) {
            if (!error.forbidden()) throw;
        }
    }
    return existed;
}

}  // namespace sinew::launch::kubernetes
