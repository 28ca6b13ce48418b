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

/// Where to call a manager.
struct ManagerPlace {
    process::ProcessAddress address;
    Incarnation incarnation;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(address, incarnation);
    }
};

/// Restarts a manager: keeps what its objects are made of, has its process started again, sends it
/// the objects, and tells callers where it is. All methods with the guard held.
class Supervisor {
public:
    struct Callbacks {
        std::function<void()> start;  ///< starts its process; an exception counts as a death
        std::function<void()> kill;   ///< kills a process that does not become ready
        std::function<void(ManagerPlace const&)> alive;
    };
    struct Options {
        std::string name;
        std::uint32_t max_restarts;
        Checkpoints checkpoints;
        std::chrono::nanoseconds start_timeout;
    };
    /// `folder`: where published objects are kept, too; null: nowhere. Objects that are there are
    /// made again in the first process.
    Supervisor(process::Messenger& messenger, std::uint64_t lineage, Options options,
               std::unique_ptr<SnapshotFolder> folder, Callbacks callbacks);
    Supervisor(Supervisor const&) = delete;

    /// Of the process that starts or runs, without the key.
    Incarnation incarnation() const;
    /// What that process is told at its start.
    Incarnation incarnation_to_start() const;
    /// The process listens; its objects are sent to it.
    void ready(process::ProcessAddress const& address);
    /// False: it will not be restarted.
    bool died(std::string const& how);
    /// The manager is to end. Askers are told `why`.
    void end(std::string const& why);

    void message(std::shared_ptr<process::Peer> const& peer, process::Message const& message);
    /// Waits until the manager can be called. Throws ObjectLost if it never will be, Timeout.
    /// `lost`: the caller knows that this incarnation and all earlier ones are gone.
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
    std::chrono::nanoseconds const write_timeout_;    ///< for one file
    std::optional<process::BackgroundWork> writing_;  ///< to the folder, until the end
    process::ProcessAddress address_;
    std::vector<Asker> askers_;
    std::condition_variable changed_;
    std::string last_death_;
    bool too_late_ = false;  ///< the process was killed because it did not become ready
    wire::Loop::Handle doubts_;
    wire::Loop::Handle timer_;  ///< until the process starts, or must be ready
};

}  // namespace sinew::manager
