// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/manager/protocol.hpp"
#include "src/manager/restart/incarnation.hpp"
#include "src/manager/restart/restart_policy.hpp"
#include "src/manager/restart/snapshot_folder.hpp"
#include "src/manager/restart/snapshot_store.hpp"
#include "src/process/background_work.hpp"
#include "src/process/rpc/messenger.hpp"

namespace sinew::manager {

/// Where a manager is to be called.
struct ManagerPlace {
    process::ProcessAddress address;
    Incarnation line;

    void encode_to(Writer& writer) const;
    static ManagerPlace decode_from(Reader& reader);
};

/// A manager's supervisor's side of starting it anew: keeps what its objects are made of, has its process
/// started again, gives that the objects, and tells those who ask where it is. Everything with the
/// guard held.
class Supervisor {
public:
    struct Callbacks {
        std::function<void()> start;  ///< its process; what it throws counts as a death
        std::function<void()> kill;   ///< the process, which does not come to be ready
        std::function<void(ManagerPlace const&)> alive;
    };
    struct Options {
        std::string name;
        std::uint32_t max_restarts;
        Checkpoints checkpoints;
        std::chrono::nanoseconds start_timeout;
    };
    /// `folder`: where it is kept, too, what objects with names are made of; null: nowhere. Those that are
    /// there are made again in the first process.
    Supervisor(process::Messenger& messenger, std::uint64_t lineage, Options options,
               std::unique_ptr<SnapshotFolder> folder, Callbacks callbacks);
    Supervisor(Supervisor const&) = delete;

    /// Of the process that starts, or is there; the key apart.
    Incarnation line() const;
    /// What that process is told at its start.
    Incarnation line_to_start() const;
    /// It listens; its objects are sent to it.
    void ready(process::ProcessAddress const& address);
    /// False: there will be no other.
    bool died(std::string const& how);
    /// The manager is to end. Those who ask are told `why`.
    void end(std::string const& why);

    void message(std::shared_ptr<process::Peer> const& peer, process::Message const& message);
    /// Waits until it can be called. Throws ObjectLost where it never will be, Timeout. `lost`: an
    /// incarnation that is not meant, as far as the caller knows; all before are not either.
    ManagerPlace wait_for_place(process::Lock& lock, std::optional<std::uint32_t> lost,
                                process::Clock::time_point deadline);

private:
    struct Asker {
        std::shared_ptr<process::Peer> peer;
        std::uint64_t number;
        std::uint32_t lost;
    };
    void start_after(std::chrono::milliseconds pause);
    void start();
    void remake_all(process::ProcessAddress const& address);
    void send_remake(std::shared_ptr<process::Peer> const& peer, ObjectId id,
                     SnapshotStore::Entry const& entry);
    bool record(process::Message const& message);
    std::function<void()> to_be_written(process::Message const& message);
    void answer(std::shared_ptr<process::Peer> const& peer, Op op,
                process::MessageHeader const& record, std::string const& words = "");
    void destroyed(ObjectId object);
    void now_alive();
    void tell(Asker const& asker);
    void tell_those_who_ask(bool also_of_the_same);
    bool is_decided() const { return policy_.state() != RestartPolicy::State::starting; }
    bool is_later_than(std::uint32_t lost) const;
    std::string lost_text() const;
    std::string why_late() const;

    process::Messenger& messenger_;
    std::uint64_t const lineage_;
    std::uint64_t const key_;
    Options const options_;
    Callbacks const callbacks_;
    RestartPolicy policy_;
    SnapshotStore store_;
    std::unique_ptr<SnapshotFolder> const folder_;
    std::chrono::nanoseconds const write_timeout_;    ///< of one file of it
    std::optional<process::BackgroundWork> writing_;  ///< to it, until the end
    process::ProcessAddress address_;
    std::vector<Asker> askers_;
    std::condition_variable changed_;
    std::string last_death_;
    bool too_late_ = false;  ///< it was killed, as it did not come to be ready
    wire::Loop::Handle doubts_;
    wire::Loop::Handle timer_;  ///< until the process starts, or is ready at the latest
};

}  // namespace sinew::manager
