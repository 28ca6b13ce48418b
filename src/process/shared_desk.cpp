// SPDX-License-Identifier: Apache-2.0
#include "src/process/shared_desk.hpp"

#include <unistd.h>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::process {
namespace {

enum class SharedOp : std::uint16_t { get = 1, data, gone };

LetterHead head(SharedOp op, std::uint64_t id) {
    return {MailService::share, static_cast<std::uint16_t>(op), 0, id};
}

}  // namespace

void SharedHandle::encode_to(Writer& writer) const {
    owner.encode_to(writer);
    encode(writer, id);
    encode(writer, path);
    encode(writer, size);
}

SharedHandle SharedHandle::decode_from(Reader& reader) {
    SharedHandle handle;
    handle.owner = ProcessAddress::decode_from(reader);
    handle.id = decode<std::uint64_t>(reader);
    handle.path = decode<std::string>(reader);
    handle.size = decode<std::uint64_t>(reader);
    return handle;
}

/// One object as this process sees it.
class SharedDesk::Object final : public detail::SharedObject {
public:
    Object(SharedDesk& desk, SharedHandle handle, Route route)
        : desk_(desk), handle_(std::move(handle)), route_(route) {}
    ~Object() override {
        auto const lock = desk_.mail_.lock();
        auto const found = desk_.known_.find({handle_.owner.origin, handle_.id});
        if (found != desk_.known_.end() && found->second.expired()) desk_.known_.erase(found);
        if (handle_.owner.origin == desk_.mail_.origin() && desk_.own_.erase(handle_.id) != 0)
            ::unlink(handle_.path.c_str());
    }
    void const* value(Decode decode) override {
        std::lock_guard const lock(decoding_);
        if (!value_) {
            auto const source = desk_.bytes(handle_, route_);
            Reader reader(source.bytes);
            value_ = decode(reader);
        }
        return value_.get();
    }
    void encode_to(Writer& writer) const override { handle_.encode_to(writer); }

private:
    SharedDesk& desk_;
    SharedHandle const handle_;
    Route const route_;
    std::mutex decoding_;
    std::shared_ptr<void const> value_;
};

SharedDesk& SharedDesk::instance() {
    auto& mail = Mail::instance();  // refuses forked processes
    auto const lock = mail.lock();
    static SharedDesk* const desk = new SharedDesk(mail);  // for ever, as the runtime
    return *desk;
}

SharedDesk::SharedDesk(Mail& mail) : mail_(mail) {
    mail_.serve(MailService::share,
                {[this](auto const& peer, Letter const& each) { letter(peer, each); },
                 [this](auto const& peer, std::string const& why) { lost(peer, why); },
                 [this] { arrived_.notify_all(); }});
}

SharedDesk::Route SharedDesk::route(SharedHandle const& handle) const {
    return handle.owner.host == mail_.runtime().host() ? Route::mapped : Route::fetched;
}

std::shared_ptr<detail::SharedObject> SharedDesk::add(std::span<std::byte const> bytes) {
    SharedHandle handle;
    handle.size = bytes.size();
    {
        Lock const lock(mail_.guard());
        handle.id = ++ids_;
        handle.owner = mail_.own_address();
        handle.path = text(mail_.runtime().folder(), "/shared-", handle.id);
    }
    auto mapped = map_new_file(handle.path, bytes);  // without the guard: it may take long
    Lock const lock(mail_.guard());
    own_.emplace(handle.id, std::move(mapped));
    auto object = std::make_shared<Object>(*this, handle, Route::mapped);
    known_[{handle.owner.origin, handle.id}] = object;
    return object;
}

std::shared_ptr<detail::SharedObject> SharedDesk::find(SharedHandle handle, Route route) {
    auto const lock = mail_.lock();
    auto& known = known_[{handle.owner.origin, handle.id}];
    if (auto object = known.lock()) return object;
    auto object = std::make_shared<Object>(*this, std::move(handle), route);
    known = object;
    return object;
}

SharedBytes SharedDesk::bytes(SharedHandle const& handle, Route route) {
    if (handle.owner.origin == mail_.origin()) {
        Lock const lock(mail_.guard());
        auto const found = own_.find(handle.id);
        if (found != own_.end()) return found->second;
        throw Unavailable(
            "a shared object whose last handle in this process, which had shared it, "
            "is gone. Keep one as long as others use it");
    }
    if (route == Route::mapped) {
        if (auto mapped = map_file(handle.path, handle.size); mapped.keeper) return mapped;
    }
    return fetch(handle);  // which also finds out why it is not there
}

SharedBytes SharedDesk::fetch(SharedHandle const& handle) {
    Lock lock(mail_.guard());
    auto const peer = mail_.find(handle.owner);
    Fetch fetch;
    auto const entry = fetches_.emplace(Key{peer.get(), handle.id}, &fetch);
    mail_.send(peer, head(SharedOp::get, handle.id));
    try {
        mail_.wait(lock, arrived_, never,
                   [&] { return fetch.answered || !fetch.why_lost.empty(); });
    } catch (...) {
        fetches_.erase(entry);
        throw;
    }
    fetches_.erase(entry);
    if (!fetch.why_lost.empty())
        throw PeerLost(text("an object that ", handle.owner.name, " had shared is gone (",
                            fetch.why_lost, ")"));
    if (!fetch.bytes.keeper)
        throw Unavailable(
            text("an object that ", handle.owner.name,
                 " had shared, and let go (it has no handle of it any more). Keep one "
                 "there as long as others use it"));
    return fetch.bytes;
}

void SharedDesk::letter(std::shared_ptr<Peer> const& peer, Letter const& letter) {
    auto const id = letter.head.id;
    if (letter.head.op == static_cast<std::uint16_t>(SharedOp::get)) {
        auto const found = own_.find(id);
        if (found == own_.end()) return mail_.send(peer, head(SharedOp::gone, id));
        return mail_.send(peer, head(SharedOp::data, id), found->second.bytes,
                          found->second.keeper);
    }
    SharedBytes bytes;
    if (letter.head.op == static_cast<std::uint16_t>(SharedOp::data)) {
        bytes = {letter.keeper, letter.bytes};
        if (!letter.keeper) {
            auto const copy =
                std::make_shared<std::vector<std::byte>>(letter.bytes.begin(), letter.bytes.end());
            bytes = {copy, *copy};
        }
    }
    auto const [begin, end] = fetches_.equal_range({peer.get(), id});
    for (auto each = begin; each != end; ++each) {
        each->second->answered = true;
        each->second->bytes = bytes;
    }
    arrived_.notify_all();
}

void SharedDesk::lost(std::shared_ptr<Peer> const& peer, std::string const& why) {
    for (auto const& [key, fetch] : fetches_)
        if (key.first == peer.get()) fetch->why_lost = why.empty() ? "its process has ended" : why;
    arrived_.notify_all();
}

}  // namespace sinew::process

namespace sinew::detail {

std::shared_ptr<SharedObject> share_bytes(Writer const& bytes) {
    return process::SharedDesk::instance().add(bytes.bytes());
}

std::shared_ptr<SharedObject> find_shared(Reader& reader) {
    auto handle = process::SharedHandle::decode_from(reader);
    auto& desk = process::SharedDesk::instance();
    auto const route = desk.route(handle);
    return desk.find(std::move(handle), route);
}

}  // namespace sinew::detail
