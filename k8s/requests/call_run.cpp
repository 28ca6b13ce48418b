// SPDX-License-Identifier: Apache-2.0
#include "k8s/requests/call_run.hpp"

#include <sinew/error.hpp>

#include "k8s/api_error.hpp"
#include "k8s/objects/json_access.hpp"
#include "k8s/objects/parse_json.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

char const* verb_of(ApiCall const& call) {
    if (call.subresource == "log") return "read the log of";
    switch (call.verb) {
        case ApiCall::Verb::create:
            return "create";
        case ApiCall::Verb::get:
            return "get";
        case ApiCall::Verb::list:
            return "list";
        case ApiCall::Verb::patch:
            return "patch";
        default:
            return "delete";
    }
}

std::string message_of(std::exception_ptr const& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (std::exception const& error) {
        return error.what();
    }
}

// The object with our mark, so that it can be told from one of the same name.
std::string marked(std::string const& body, std::string const& annotation, std::string const& id) {
    auto object = Json::parse(body);
    if (object["metadata"].is_null() || object["metadata"].is_object()) {
        auto& annotations = object["metadata"]["annotations"];
        if (annotations.is_null() || annotations.is_object()) annotations[annotation] = id;
    }
    return object.dump();
}

constexpr int most_first_attempts = 3;  // of a server that has never answered
constexpr int most_server_errors = 4;   // 500 may be for good (a webhook that fails)

}  // namespace

CallRun::CallRun(Session& session, ApiCall call, Done done)
    : session_(session), call_(std::move(call)), done_(std::move(done)) {
    call_.ns = session.ns_or_default(call_.ns);
    subject_ = {verb_of(call_), call_.resource, call_.ns, call_.name};
    if (call_.name.empty() && call_.verb != ApiCall::Verb::create &&
        call_.verb != ApiCall::Verb::list)
        throw UsageError(
            text("cannot ", subject_.verb, " ", call_.resource.plural, " without a name"));
    if (!call_.create_id.empty())
        call_.body = marked(call_.body, session.options.create_annotation, call_.create_id);
    std::ignore = request();  // throws if its names cannot be in a URL
    began_ = Session::Clock::now();
    auto const limit = call_.timeout.count() > 0 ? call_.timeout : session.options.call_timeout;
    deadline_ = began_ + limit;
    limit_ = session.loop.at(deadline_, [this, limit] {
        auto const why = last_failure_
                             ? message_of(last_failure_)
                             : text("no answer of ", session_.configuration.cluster.server, " (",
                                    session_.configuration.source, ")");
        finish(std::make_exception_ptr(Timeout(text("cannot ", describe(subject_), " within ",
                                                    double(limit.count()) / 1000, " s: ", why))),
               nullptr);
    });
    attempt();
}

void CallRun::cancel() noexcept {
    done_ = nullptr;
    timer_ = Registration();
    limit_ = Registration();
    exchange_.reset();
}

HttpRequest CallRun::request() const {
    HttpRequest made;
    Query query = call_.query;
    bool const create = call_.verb == ApiCall::Verb::create && step_ == Step::call;
    if (call_.verb == ApiCall::Verb::list && paged_)
        query.emplace_back("limit", std::to_string(session_.options.page_size));
    if (!next_page_.empty()) query.emplace_back("continue", next_page_);
    made.target =
        target_of(call_.resource, call_.ns, create ? "" : call_.name, call_.subresource, query);
    made.connect_timeout = session_.options.connect_timeout;
    made.timeout = std::max(
        std::chrono::milliseconds(1),
        std::min(session_.options.attempt_timeout,
                 std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Session::Clock::now())));
    if (step_ == Step::verify_by_get) return made;
    made.body = step_ == Step::verify_by_patch ? "{}" : call_.body;
    made.content_type =
        step_ == Step::verify_by_patch ? "application/merge-patch+json" : call_.content_type;
    if (step_ == Step::verify_by_patch || call_.verb == ApiCall::Verb::patch) made.method = "PATCH";
    else if (create) made.method = "POST";
    else if (call_.verb == ApiCall::Verb::remove) made.method = "DELETE";
    return made;
}

void CallRun::attempt() {
    ++attempts_;
    body_.clear();
    exchange_ = std::make_unique<Exchange>(session_, request(), *this);
}

TransferListener::Take CallRun::data(std::string_view bytes) {
    if (body_.size() + bytes.size() > session_.options.max_answer)
        return TransferListener::Take::refuse;
    body_ += bytes;
    return TransferListener::Take::all;
}

void CallRun::ended(ExchangeEnd end) {
    exchange_.reset();
    if (end.succeeded()) return succeeded();
    if (end.transfer.result == TransferEnd::Result::refused && end.transfer.status / 100 == 2 &&
        body_.size() + 65536 > session_.options.max_answer)
        end.transfer.problem =
            text("the answer has more than ", session_.options.max_answer, " bytes");
    failed(failure_of(session_, subject_, end));
}

void CallRun::succeeded() {
    if (call_.text_answer) return finish(nullptr, std::move(body_));
    auto answer = parse_json(body_);
    if (!answer.is_object())
        return finish(wrong_answer(session_, subject_,
                                   answer.is_discarded() ? "no JSON" : "JSON, but not an object"),
                      nullptr);
    if (step_ != Step::call) return verified(answer);
    if (call_.verb == ApiCall::Verb::list) return add_page(std::move(answer));
    finish(nullptr, std::move(answer));
}

void CallRun::add_page(Json page) {
    list_bytes_ += body_.size();
    auto& items = page["items"];
    if (items.is_null()) items = Json::array();
    if (!items.is_array())
        return finish(wrong_answer(session_, subject_, "a list without items"), nullptr);
    if (list_bytes_ > session_.options.max_list)
        return finish(
            wrong_answer(session_, subject_,
                         text("a list of more than ", session_.options.max_list, " bytes")),
            nullptr);
    if (items_.is_null()) items_ = std::move(items);
    else
        for (auto& item : items) items_.push_back(std::move(item));
    auto next = string_in(page, "metadata", "continue");
    if (!next.empty() && next == next_page_)
        return finish(wrong_answer(session_, subject_, "the same page of a list twice"), nullptr);
    next_page_ = std::move(next);
    if (next_page_.empty()) {
        page["items"] = std::move(items_);
        return finish(nullptr, std::move(page));
    }
    attempts_ = 0;
    attempt();
}

void CallRun::failed(Failure failure) {
    // A page whose list has been forgotten: all of it again, at once.
    if (failure.status == 410 && call_.verb == ApiCall::Verb::list && !next_page_.empty() &&
        paged_) {
        items_ = nullptr;
        next_page_.clear();
        list_bytes_ = 0;
        paged_ = false;
        return attempt();
    }
    if (failure.conflict && !call_.conditional) failure.retry = true;
    bool const exists =
        failure.status == 409 && !failure.conflict && call_.verb == ApiCall::Verb::create;
    if (exists && maybe_done_ && !call_.create_id.empty() && step_ == Step::call) {
        exists_ = failure.error;
        step_ = Step::verify_by_get;
        return attempt();
    }
    if (step_ == Step::verify_by_get && failure.status == 403) {
        step_ = Step::verify_by_patch;
        return attempt();
    }
    if (step_ != Step::call && !failure.retry)  // it has vanished, or is not ours to see
        return finish(exists_, nullptr);
    if (call_.verb == ApiCall::Verb::remove && failure.status == 404 && maybe_done_)
        return finish(nullptr, {{"kind", "Status"}, {"status", "Success"}});
    maybe_done_ = maybe_done_ || failure.maybe_done;
    last_failure_ = failure.error;
    if (failure.status == 500) ++server_errors_;
    // Without a name, or marked by nobody, a create must not be repeated if it may have succeeded.
    bool const repeatable = call_.verb != ApiCall::Verb::create || !call_.create_id.empty() ||
                            !maybe_done_ ||
                            call_.resource == access_reviews;  // a question, which makes nothing
    auto const now = Session::Clock::now();
    auto const delay = failure.retry_after ? Session::Clock::duration(*failure.retry_after)
                                           : session_.delay(attempts_);
    if (!failure.retry || !repeatable || now + delay >= deadline_ ||
        server_errors_ >= most_server_errors ||
        (!session_.answered && attempts_ >= most_first_attempts))
        return finish(failure.error, nullptr);
    timer_ = session_.loop.at(now + delay, [this] { attempt(); });
}

void CallRun::verified(Json const& object) {
    auto const mark =
        string_in(object, "metadata", "annotations", session_.options.create_annotation);
    if (mark == call_.create_id) return finish(nullptr, object);
    finish(exists_, nullptr);
}

void CallRun::finish(std::exception_ptr failure, Json answer) {
    auto const done = std::exchange(done_, nullptr);
    timer_ = Registration();
    limit_ = Registration();
    exchange_.reset();
    if (done) done(std::move(failure), std::move(answer));
}

}  // namespace sinew::k8s
