// SPDX-License-Identifier: Apache-2.0
#include "src/manager/pending.hpp"

#include <utility>

#include "src/base/text.hpp"
#include "src/manager/connection.hpp"
#include "src/manager/executor.hpp"

namespace sinew::manager {

bool Pending::wait_until(std::chrono::steady_clock::time_point deadline) {
    if (ready()) return true;
    if (process::Runtime::forked()) process::Runtime::instance();  // refuses
    auto& mail = connection_->mail();
    auto lock = mail.lock();
    if (!lock.owns_lock())
        throw UsageError(sinew::text("waiting for ", text(),
                                     " in a callback (which must not wait: "
                                     "nothing would arrive meanwhile). Wait in another thread"));
    if (connection_->here() && object_ != 0 && Executor::current() == object_)
        throw UsageError(sinew::text("waiting for ", text(),
                                     " within a call of the same object (it "
                                     "would wait for its own end). Call its method directly"));
    return mail.wait_driving(lock, changed_, deadline, [this] { return ready(); });
}

Reader Pending::result() {
    if (error_) std::rethrow_exception(error_);
    return Reader(result_.bytes);
}

void Pending::cancel() {
    if (ready()) return;
    auto const lock = connection_->mail().lock();
    if (!ready()) connection_->cancel(object_, number_);
}

void Pending::throw_timeout(std::chrono::nanoseconds limit) {
    throw Timeout(sinew::text(text(), " has not answered within ",
                              std::chrono::duration<double>(limit).count(),
                              " s (the call goes on). Wait longer, or cancel() it"));
}

void Pending::succeed(process::Letter const& letter) {
    found_ = letter.head.id;
    if (letter.keeper) {
        result_.keeper = letter.keeper;
        result_.bytes = letter.bytes;
    } else {
        result_.own.assign(letter.bytes.begin(), letter.bytes.end());
        result_.bytes = result_.own;
    }
    settle();
}

void Pending::fail(std::exception_ptr error) {
    error_ = std::move(error);
    settle();
}

void Pending::settle() {
    ready_.store(true, std::memory_order_release);
    connection_->mail().runtime().seat().notify_all(changed_);
}

std::string Pending::text() const {
    auto const what = method_ != nullptr ? detail::task_name(*method_) : "a question";
    return sinew::text(what, " of an object in ", connection_->name());
}

}  // namespace sinew::manager
