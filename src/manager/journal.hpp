// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <sinew/keeping.hpp>
#include <sinew/remote_error.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/manager/escrow.hpp"
#include "src/manager/line.hpp"
#include "src/process/queue_mail.hpp"

namespace sinew::manager {

/// What a thread has executed of one object, and is to answer.
struct Executed {
    ObjectId object = 0;
    void* instance = nullptr;
    Call const* making = nullptr;  ///< it has been made
    std::uint64_t calls = 0;       ///< of methods
    Saves saves = Saves::no;
    std::vector<Answer> const& answers;
    Writer const& bytes;
};

/// A manager's side of being started anew: tells its maker of its objects, and lets answers leave when
/// what they tell of is kept. Everything with the guard held, but `executed`.
class Journal {
public:
    struct Hands {
        std::function<void(Parcel const&)> send;
        std::function<void(ObjectId, Call)> append;  ///< a call, in the object's turn
    };
    Journal(process::Mail& mail, Line line, Hands hands);
    Journal(Journal const&) = delete;

    Line const& line() const { return line_; }
    /// An object that is to be made; again: the maker knows of it.
    void add(ObjectId object, detail::TaskEntry const& maker, std::uint64_t parallel, bool again);
    /// One that this thread has made within a call, whose answer then waits until it is kept.
    void made_here(ObjectId object, std::span<std::byte const> arguments);
    void ended(ObjectId object);
    void named(ObjectId object, std::string const& name, std::shared_ptr<Parcel> const& answer);
    void detached(ObjectId object, std::shared_ptr<Parcel> const& answer);
    bool can_save(ObjectId object) const { return escrow_.can_save(object); }
    /// The maker has it.
    void kept(Escrow::Record record);
    /// The maker has it, but not where it was to be, too: what depends on it fails.
    void not_kept(Escrow::Record record, std::string const& why);
    /// To the maker: all objects are there again.
    void remade();
    /// The manager ends: nothing is kept any more, and all answers leave.
    void open();

    void executed(Executed const& executed);

private:
    struct Object {
        detail::TaskEntry const* maker = nullptr;
        std::uint64_t parallel = 1;
        std::chrono::nanoseconds interval{0};
        process::Clock::time_point saved{};
        bool again = false;
    };
    Escrow::Record tell(Op op, ObjectId object, std::span<std::byte const> bytes);
    Escrow::Record tell_made(ObjectId object, std::span<std::byte const> arguments);
    void send(Op op, std::uint64_t number, std::shared_ptr<Writer const> const& record);
    void save(process::Lock& lock, Executed const& executed, Object const& object,
              Escrow::Record record);
    static void turn_into_failures(Parcel& parcel, ErrorRecord const& error);
    void look_at_intervals();

    process::Mail& mail_;
    Line const line_;
    Hands const hands_;
    std::shared_ptr<process::Peer> const maker_;
    Escrow escrow_;
    std::unordered_map<ObjectId, Object> objects_;
    wire::Loop::Handle watch_;
    std::chrono::nanoseconds period_{0};
    bool open_ = false;
};

}  // namespace sinew::manager
