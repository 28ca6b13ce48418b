// SPDX-License-Identifier: Apache-2.0
#include "src/process/shared/registry.hpp"

#include <mutex>

#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>

#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::process {
namespace {

/// To the owner: `get`, with the requester's host if the copy is for all of that host; `have`, with
/// the FilePlace of the copy (no file: other processes cannot use it). From the owner: `data`;
/// `at`, with a FilePlace on the requester's host; `gone`, as an answer, or when the owner's last
/// handle is destroyed.
enum class SharedOp : std::uint16_t { get = 1, data, gone, at, have };

MessageHeader head(SharedOp op, std::uint64_t id) {
    return {ServiceId::share, static_cast<std::uint16_t>(op), 0, id};
}

}  // namespace

/// One object as this process sees it.
class SharedRegistry::Object final : public detail::SharedObject {
public:
    Object(SharedRegistry& registry, SharedHandle handle, Route route)
        : registry_(registry), handle_(std::move(handle)), route_(route) {}
    ~Object() override {
        if (Runtime::forked()) return;  // the object, and its file, are the parent's
        auto const lock = registry_.messenger_.lock();
        auto const found = registry_.known_.find({handle_.owner.origin, handle_.id});
        if (found != registry_.known_.end() && found->second.expired())
            registry_.known_.erase(found);
        if (handle_.owner.origin == registry_.messenger_.origin()) registry_.let_go(handle_.id);
    }
    std::span<std::byte const> bytes() override { return source().bytes; }
    void const* value(Decode decode) override {
        std::lock_guard const lock(decoding_);
        if (!value_) {
            auto const encoded = registry_.bytes(handle_, route_);
            Reader reader(encoded.bytes);
            value_ = decode(reader);
        }
        return value_.get();
    }
    void encode_to(Writer& writer) const override { handle_.encode_to(writer); }

private:
    SharedBytes const& source() {
        std::lock_guard const lock(decoding_);
        if (!source_) source_ = registry_.bytes(handle_, route_);
        return *source_;
    }

    SharedRegistry& registry_;
    SharedHandle const handle_;
    Route const route_;
    std::mutex decoding_;
    std::optional<SharedBytes> source_;  ///< for callers of bytes()
    std::shared_ptr<void const> value_;
};

SharedRegistry::SharedRegistry(Messenger& messenger) : messenger_(messenger) {
    messenger_.serve(ServiceId::share,
                     {[this](auto const& peer, Message const& each) { message(peer, each); },
                      [this](auto const& peer, std::string const& why) { lost(peer, why); },
                      [this] { messenger_.notify_all(arrived_); }});
}

SharedRegistry::Route SharedRegistry::route(SharedHandle const& handle) const {
    return handle.owner.host == messenger_.runtime().host() ? Route::mapped : Route::fetched;
}

// SINEW_TMPDIR may name a folder on a disk, for objects that do not fit into memory.
std::string SharedRegistry::folder_of_files() {
    if (!env("SINEW_TMPDIR")) return "";
    Lock const lock(messenger_.guard());
    return messenger_.runtime().folder();
}

std::shared_ptr<detail::SharedObject> SharedRegistry::add(std::span<std::byte const> bytes) {
    Own own;
    if (bytes.size() > small_message) {
        own.file =
            SharedFile::make(bytes, folder_of_files());  // without the guard: it may take long
        own.bytes = own.file->bytes();
    } else {
        auto const copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
        own.bytes = {copy, *copy};
    }
    SharedHandle handle;
    handle.size = bytes.size();
    if (own.file) handle.file = own.file->place();
    Lock const lock(messenger_.guard());
    handle.id = ++ids_;
    handle.owner = messenger_.own_address();
    own_.emplace(handle.id, std::move(own));
    auto object = std::make_shared<Object>(*this, handle, Route::mapped);
    known_[{handle.owner.origin, handle.id}] = object;
    return object;
}

std::shared_ptr<detail::SharedObject> SharedRegistry::find(SharedHandle handle, Route route) {
    auto const lock = messenger_.lock();
    auto& known = known_[{handle.owner.origin, handle.id}];
    if (auto object = known.lock()) return object;
    auto object = std::make_shared<Object>(*this, std::move(handle), route);
    known = object;
    return object;
}

SharedBytes SharedRegistry::bytes(SharedHandle const& handle, Route route) {
    if (handle.owner.origin == messenger_.origin()) {
        Lock const lock(messenger_.guard());
        auto const found = own_.find(handle.id);
        if (found != own_.end()) return found->second.bytes;
        throw Unavailable(
            "the last handle of a shared object in this process, which had shared it, is gone. "
            "Keep one as long as others use it");
    }
    if (route == Route::mapped) {
        if (auto mapped = map_shared_file(handle.file)) return *std::move(mapped);
    }
    return fetch(handle);  // which also reports why the file is gone
}

SharedBytes SharedRegistry::fetch(SharedHandle const& handle) {
    Lock lock(messenger_.guard());
    auto const peer = messenger_.find(handle.owner);
    if (auto const found = kept_.find({peer.get(), handle.id}); found != kept_.end())
        return found->second.bytes();
    bool const for_host = handle.size > small_message;
    auto got = ask(lock, handle, peer, for_host ? messenger_.runtime().host() : "");
    if (got.place.is_file()) {
        lock.unlock();
        if (auto mapped = map_shared_file(got.place)) return *std::move(mapped);
        lock.lock();  // the holder has just ended, or cannot be seen from here
        return ask(lock, handle, peer, "").bytes;
    }
    lock.unlock();
    return for_host ? keep(peer, handle.id, got.bytes) : got.bytes;
}

/// Asks the owner and waits for its answer: bytes, or a place. Throws PeerLost, Unavailable.
SharedRegistry::Fetch SharedRegistry::ask(Lock& lock, SharedHandle const& handle,
                                          std::shared_ptr<Peer> const& peer,
                                          std::string const& host) {
    Fetch fetch;
    auto const entry = fetches_.emplace(Key{peer.get(), handle.id}, &fetch);
    messenger_.send(peer, head(SharedOp::get, handle.id), std::as_bytes(std::span(host)));
    try {
        messenger_.wait(lock, arrived_, never,
                        [&] { return fetch.answered || !fetch.why_lost.empty(); });
    } catch (...) {
        fetches_.erase(entry);
        throw;
    }
    fetches_.erase(entry);
    if (!fetch.why_lost.empty())
        throw PeerLost(text("an object that ", handle.owner.name, " had shared is gone (",
                            fetch.why_lost, ")"));
    if (!fetch.bytes.keeper && !fetch.place.is_file())
        throw Unavailable(text("an object that ", handle.owner.name,
                               " had shared was released (that process no longer has a handle of "
                               "it). Keep one there as long as others use it"));
    return fetch;
}

/// Keeps the fetched bytes for all processes of this host, and reports the place to the owner.
SharedBytes SharedRegistry::keep(std::shared_ptr<Peer> const& peer, std::uint64_t id,
                                 SharedBytes const& bytes) {
    std::optional<SharedFile> file;
    try {
        file = SharedFile::make(bytes.bytes, folder_of_files());
    } catch (SystemError const& error) {
        log_warning(text("the other processes of this host fetch a shared object for themselves: ",
                         error.what()));
    }
    Lock const lock(messenger_.guard());
    auto const place = file ? file->place() : FilePlace();
    messenger_.send(peer, head(SharedOp::have, id), bytes_of(place));
    if (!file) return bytes;
    return kept_.insert_or_assign({peer.get(), id}, *std::move(file)).first->second.bytes();
}

void SharedRegistry::let_go(std::uint64_t id) {
    auto const found = own_.find(id);
    if (found == own_.end()) return;
    for (auto const& peer : found->second.copies.holders())
        messenger_.send(peer, head(SharedOp::gone, id));
    own_.erase(found);
}

void SharedRegistry::message(std::shared_ptr<Peer> const& peer, Message const& message) {
    switch (static_cast<SharedOp>(message.head.op)) {
        case SharedOp::get:
            return asked(peer, message);
        case SharedOp::have:
            return arrived(peer, message);
        default:
            return answer(peer, message);
    }
}

void SharedRegistry::asked(std::shared_ptr<Peer> const& peer, Message const& message) {
    auto const id = message.head.id;
    auto const found = own_.find(id);
    if (found == own_.end()) return messenger_.send(peer, head(SharedOp::gone, id));
    auto& own = found->second;
    std::string const host(reinterpret_cast<char const*>(message.bytes.data()),
                           message.bytes.size());
    using Answer = SharedCopies::Answer;
    auto const how = host.empty() ? Answer::ship : own.copies.asked(host, peer);
    if (how == Answer::ship) ship(peer, id, own);
    if (how == Answer::at)
        messenger_.send(peer, head(SharedOp::at, id), bytes_of(own.copies.place(host)));
}

void SharedRegistry::ship(std::shared_ptr<Peer> const& peer, std::uint64_t id, Own const& own) {
    messenger_.send(peer, head(SharedOp::data, id), own.bytes.bytes, own.bytes.keeper);
}

void SharedRegistry::arrived(std::shared_ptr<Peer> const& peer, Message const& message) {
    auto bytes = message.bytes;
    auto const place = take_value<FilePlace>(bytes);
    auto const id = message.head.id;
    auto const found = own_.find(id);
    if (!place) return;
    // The object was released while the copy was in flight: its holder must drop it.
    if (found == own_.end()) return messenger_.send(peer, head(SharedOp::gone, id));
    auto& own = found->second;
    if (place->is_file()) {
        for (auto const& each : own.copies.arrived(peer, *place))
            messenger_.send(each, head(SharedOp::at, id), bytes_of(*place));
    } else {
        for (auto const& each : own.copies.lost(peer)) ship(each, id, own);
    }
}

void SharedRegistry::answer(std::shared_ptr<Peer> const& peer, Message const& message) {
    Key const key{peer.get(), message.head.id};
    SharedBytes bytes;
    FilePlace place;
    if (message.head.op == static_cast<std::uint16_t>(SharedOp::data)) {
        bytes = {message.keeper, message.bytes};
        if (!message.keeper) {
            auto const copy = std::make_shared<std::vector<std::byte>>(message.bytes.begin(),
                                                                       message.bytes.end());
            bytes = {copy, *copy};
        }
    } else if (message.head.op == static_cast<std::uint16_t>(SharedOp::at)) {
        auto rest = message.bytes;
        place = take_value<FilePlace>(rest).value_or(FilePlace());
    } else {
        kept_.erase(key);
    }
    auto const [begin, end] = fetches_.equal_range(key);
    for (auto each = begin; each != end; ++each) {
        each->second->answered = true;
        each->second->bytes = bytes;
        each->second->place = place;
    }
    messenger_.notify_all(arrived_);
}

void SharedRegistry::lost(std::shared_ptr<Peer> const& peer, std::string const& why) {
    for (auto const& [key, fetch] : fetches_)
        if (key.first == peer.get()) fetch->why_lost = why.empty() ? "its process has ended" : why;
    std::erase_if(kept_, [&](auto const& each) { return each.first.first == peer.get(); });
    for (auto& [id, own] : own_)
        for (auto const& each : own.copies.lost(peer)) ship(each, id, own);
    messenger_.notify_all(arrived_);
}

}  // namespace sinew::process

namespace sinew::detail {

std::shared_ptr<SharedObject> share_bytes(std::span<std::byte const> bytes) {
    return process::SharedRegistry::instance().add(bytes);
}

std::shared_ptr<SharedObject> find_shared(Reader& reader) {
    auto handle = process::SharedHandle::decode_from(reader);
    auto& registry = process::SharedRegistry::instance();
    auto const route = registry.route(handle);
    return registry.find(std::move(handle), route);
}

}  // namespace sinew::detail
