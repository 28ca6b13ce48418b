// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/http/request.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>

namespace sinew::launch::dashboard {

namespace http = boost::beast::http;

struct RequestReader::Parser : http::request_parser<http::empty_body> {};

RequestReader::RequestReader() : parser_(std::make_unique<Parser>()) {
    parser_->header_limit(largest_head);
    parser_->body_limit(0);
}

RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;

int RequestReader::take(std::string_view bytes) {
    unparsed_ += bytes;
    boost::system::error_code error;
    while (!parser_->is_header_done()) {
        auto const used =
            parser_->put(boost::asio::buffer(unparsed_.data(), unparsed_.size()), error);
        unparsed_.erase(0, used);
        if (error == http::error::need_more) return unparsed_.size() > largest_head ? 431 : 0;
        if (error == http::error::header_limit) return 431;
        if (error == http::error::body_limit) return 413;
        if (error) return 400;
    }
    auto const& head = parser_->get();
    if (parser_->chunked() || parser_->content_length_remaining().value_or(0) > 0) return 413;
    // A second one could be what somebody else looks at.
    for (auto const field : {http::field::host, http::field::origin, http::field::authorization})
        if (head.count(field) > 1) return 400;
    return head.count(http::field::host) == 1 ? 200 : 400;
}

Request RequestReader::request() const {
    auto const& head = parser_->get();
    auto const value = [&](http::field field) { return std::string(head[field]); };
    return {.method = std::string(head.method_string()),
            .target = std::string(head.target()),
            .host = value(http::field::host),
            .origin = value(http::field::origin),
            .authorization = value(http::field::authorization)};
}

}  // namespace sinew::launch::dashboard
