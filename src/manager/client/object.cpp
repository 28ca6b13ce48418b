// SPDX-License-Identifier: Apache-2.0
#include "src/manager/client/object.hpp"

#include <sinew/task/encoding.hpp>

#include "src/base/text.hpp"
#include "src/manager/object_registry.hpp"
#include "src/task/demangle.hpp"

namespace sinew::manager {
namespace {

// Waits for the answer to a question, and throws its error.
void finish(process::Lock& lock, PendingReply& asked) {
    if (lock.owns_lock()) lock.unlock();
    asked.wait_until(process::never);
    asked.result();
}

}  // namespace

RemoteObject::~RemoteObject() {
    if (process::Runtime::forked()) return;
    auto const lock = registry_.messenger().lock();
    auto const found = registry_.objects_.find({connection_.get(), id_});
    if (found == registry_.objects_.end() || !found->second.expired()) return;
    registry_.objects_.erase(found);
    // An encoded handle may still be in flight to another process, so its object stays held.
    if (!travelled_ && !connection_->is_lost()) connection_->tell(Op::release, id_);
}

std::shared_ptr<PendingReply> RemoteObject::submit(Op op, detail::TaskEntry const& method,
                                                   Writer& arguments, std::uint32_t gives) {
    if (process::Runtime::forked()) process::Runtime::instance();  // throws in a forked process
    auto const id = detail::id_of(method).value;
    arguments.overwrite(offsetof(CallHead, method), &id, sizeof id);
    auto lock = registry_.messenger().lock();
    return connection_->call(lock, op, id_, &method, arguments, row_, gives);
}

std::shared_ptr<detail::PendingCall> RemoteObject::call(detail::TaskEntry const& method,
                                                        Writer& arguments, detail::CallKind kind) {
    return submit(Op::call, method, arguments,
                  kind == detail::CallKind::gives_object ? gives_object : 0);
}

void RemoteObject::oneway(detail::TaskEntry const& method, Writer& arguments) {
    submit(Op::oneway, method, arguments);
}

void RemoteObject::encode_to(Writer& writer) {
    connection_->address().encode_to(writer);
    encode(writer, id_);
    encode(writer, static_cast<std::uint64_t>(connection_->most_pending()));
    encode(writer, std::string(type_));
    auto const& incarnation = connection_->incarnation();
    encode(writer, incarnation != nullptr);
    if (incarnation) encode(writer, *incarnation);
    auto const lock = registry_.messenger().lock();
    travelled_ = true;
}

void RemoteObject::checkpoint() {
    Writer writer;
    CallHead const head;
    writer.write(&head, sizeof head);
    auto lock = registry_.messenger().lock();
    finish(lock, *connection_->call(lock, Op::checkpoint, id_, nullptr, writer, row_));
}

std::shared_ptr<detail::ObjectEnd> RemoteObject::refreshed(std::chrono::nanoseconds limit) {
    auto const deadline = detail::deadline_after(limit);
    auto lock = registry_.messenger().lock();
    if (!connection_->is_lost()) return nullptr;
    if (!connection_->incarnation())
        throw ObjectLost(text("an object in ", connection_->name(),
                              ": the manager is gone, and is not started again. See "
                              "ManagerOptions::max_restarts"),
                         false);
    if (!lock.owns_lock())
        throw UsageError(
            "a handle cannot be refreshed in a callback (which must not wait). "
            "Refresh it in another thread");
    auto const place = registry_.place_after(lock, *connection_->incarnation(), deadline);
    auto const later = registry_.connection(place.address, connection_->most_pending(),
                                            std::make_shared<Incarnation const>(place.incarnation));
    return registry_.object(later, id_, type_, false);
}

void RemoteObject::publish(std::string const& name) {
    auto lock = registry_.messenger().lock();
    finish(lock, *connection_->ask(lock, Op::publish, id_, bytes_of(name)));
}

void RemoteObject::detach() {
    auto lock = registry_.messenger().lock();
    finish(lock, *connection_->ask(lock, Op::detach, id_, {}));
}

std::shared_ptr<detail::ObjectEnd> ObjectRegistry::read_object(Reader& reader, char const* type) {
    auto const owner = process::ProcessAddress::decode_from(reader);
    auto const id = decode<std::uint64_t>(reader);
    auto const most_pending = decode<std::uint64_t>(reader);
    auto const is = decode<std::string>(reader);
    if (is != type)
        throw DecodeError(text("a handle of a ", detail::demangle(is.c_str()), " where one of a ",
                               detail::demangle(type),
                               " was expected. Do both sides name the same type?"));
    std::shared_ptr<Incarnation const> incarnation;
    if (decode<bool>(reader))
        incarnation = std::make_shared<Incarnation const>(decode<Incarnation>(reader));
    return object(connection(owner, most_pending, incarnation), id, type, false);
}

}  // namespace sinew::manager

namespace sinew::detail {

Writer& argument_writer() {
    constexpr std::size_t worth_keeping = std::size_t{1} << 20;
    thread_local Writer writer;
    if (writer.size() > worth_keeping) writer = Writer();
    writer.clear();
    manager::CallHead const head;
    writer.write(&head, sizeof head);
    return writer;
}

std::shared_ptr<ObjectEnd> find_object(Reader& reader, char const* type) {
    auto& registry = manager::ObjectRegistry::instance();
    auto const lock = registry.messenger().lock();
    return registry.read_object(reader, type);
}

}  // namespace sinew::detail
