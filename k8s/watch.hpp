// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace sinew::k8s {

struct WatchOptions {
    /// Until the first list is complete; the watch fails otherwise.
    std::chrono::milliseconds sync_timeout = std::chrono::seconds(60);
    /// Without any answer of the server, before the watch fails; 0: never.
    std::chrono::milliseconds give_up_after = std::chrono::minutes(5);
    /// The server ends each request after this time, and the watch resumes.
    std::chrono::seconds request_timeout = std::chrono::minutes(4);
};

/// One change of the set of objects that a watch sees.
struct WatchEvent {
    /// synced: all that existed at the start has been reported. failed: there will be no more.
    enum class Type { added, modified, deleted, synced, failed };

    Type type;
    /// The object, without managedFields; of a deletion its last known state. Null for synced and
    /// failed.
    std::shared_ptr<nlohmann::json const> object = {};
    /// Of failed: ApiError (rights are missing, no such resource), Unavailable, Timeout.
    std::exception_ptr failure = {};
};

/// Follows a set of objects. The events are consistent: an object is added before it is modified or
/// deleted, one that is replaced by another of its name (with another uid) is deleted first, and no
/// deletion is lost, whatever happens to connections, and though the server forgets old versions
/// (410): the set is then listed anew, and the differences are reported.
class Watch {
public:
    using Callback = std::function<void(WatchEvent const&)>;
    class Body;

    Watch();
    explicit Watch(std::shared_ptr<Body> body);
    Watch(Watch&&) noexcept;
    Watch& operator=(Watch&&) noexcept;
    /// Ends the watch.
    ~Watch();
    explicit operator bool() const { return body_ != nullptr; }

    bool synced() const;
    /// How long the server has not been reachable for this watch; 0 while connected.
    std::chrono::steady_clock::duration disconnected_for() const;

private:
    std::shared_ptr<Body> body_;
};

}  // namespace sinew::k8s
