// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "k8s/resource.hpp"

namespace sinew::k8s {

using Json = nlohmann::json;

/// Which objects of a type; empty members restrict nothing.
struct Selection {
    std::string ns = {};              ///< empty: the configuration's namespace
    std::string label_selector = {};  ///< "job-name=a,app in (x, y)"
    std::string field_selector = {};  ///< "involvedObject.name=a"
};

enum class PatchType { merge, strategic_merge, json };

struct DeleteOptions {
    enum class Propagation { background, foreground, orphan };
    Propagation propagation = Propagation::background;
    std::optional<std::chrono::seconds> grace_period = {};  ///< nothing: the object's own
    std::string uid = {};  ///< delete only the object with this uid (else 409); empty: any
};

/// One request of the API, which Client::call or Client::start sends. The functions below make it;
/// an empty `ns` means the namespace of the object, else of the configuration.
struct ApiCall {
    enum class Verb { create, get, list, patch, remove };

    Verb verb = Verb::get;
    Resource resource = {};
    std::string ns = {}, name = {};
    std::vector<std::pair<std::string, std::string>> query = {};
    std::string body = {}, content_type = {};
    std::string subresource = {};
    bool text_answer = false;    ///< the answer is not JSON; it is given as a string
    bool conditional = false;    ///< it names the version or the uid that it is meant for
    std::string create_id = {};  ///< the value of the annotation that marks what this call made
    /// Of all attempts together; 0: that of the client's options.
    std::chrono::milliseconds timeout = {};
};

/// The answer is the object. The request has an id, with which the client marks the object
/// (ClientOptions::create_annotation): if an answer is lost, and the repeated request finds an object
/// with this mark, the call has succeeded.
ApiCall create(Resource const& resource, Json object, std::string ns = {});
ApiCall get(Resource const& resource, std::string name, std::string ns = {});
/// The answer is a list with all `items`, however many pages it takes.
ApiCall list(Resource const& resource, Selection selection = {});
/// The answer is the object. A patch must bear repetition: it is retried if its answer is lost.
ApiCall patch(Resource const& resource, std::string name, PatchType type, Json const& changes,
              std::string ns = {});
/// The answer is a Status, or the object if it waits for finalizers or its grace period. ApiError
/// with not_found() if there is none; a retry that finds none has succeeded.
ApiCall remove(Resource const& resource, std::string name, DeleteOptions const& options = {},
               std::string ns = {});

}  // namespace sinew::k8s
