// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace sinew::detail {

/// Writes JSON to a descriptor without allocating memory, so that a signal handler can. The caller
/// takes care of the order of its parts; commas are put in here.
class JsonStream {
public:
    explicit JsonStream(int descriptor) : descriptor_(descriptor) {}
    JsonStream(JsonStream const&) = delete;
    JsonStream& operator=(JsonStream const&) = delete;

    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }
    void key(std::string_view name) {
        separate();
        quoted(name);
        put(':');
        fresh_ = true;
    }
    void value(std::string_view text) {
        separate();
        quoted(text);
    }
    void value(bool yes) {
        separate();
        put(yes ? std::string_view("true") : std::string_view("false"));
    }
    template <class Integer>
    requires(!std::is_same_v<Integer, bool> &&
             std::is_integral_v<Integer>) void value(Integer number) {
        separate();
        std::array<char, 24> digits;
        auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        put({digits.data(), static_cast<std::size_t>(end - digits.data())});
    }
    void null() {
        separate();
        put("null");
    }
    template <class Value>
    void member(std::string_view name, Value const& content) {
        key(name);
        value(content);
    }
    void line() { put('\n'); }

    /// Writes what is left. Returns whether everything could be written.
    bool flush() {
        char const* from = buffer_.data();
        while (used_ > 0 && good_) {
            auto const count = ::write(descriptor_, from, used_);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) {
                good_ = false;
                break;
            }
            from += count;
            used_ -= static_cast<std::size_t>(count);
        }
        used_ = 0;
        return good_;
    }

private:
    void put(char c) {
        if (used_ == buffer_.size()) flush();
        buffer_[used_++] = c;
    }
    void put(std::string_view text) {
        for (char const c : text) put(c);
    }
    void separate() {
        if (!fresh_) put(',');
        fresh_ = false;
    }
    void open(char bracket) {
        separate();
        put(bracket);
        fresh_ = true;
    }
    void close(char bracket) {
        put(bracket);
        fresh_ = false;
    }
    /// Bytes that are no ASCII become "?": the text may not be UTF-8.
    void quoted(std::string_view text) {
        put('"');
        for (char const c : text) {
            auto const code = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\') put('\\'), put(c);
            else if (c == '\n') put("\\n");
            else put(code < 0x20 || code > 0x7e ? '?' : c);
        }
        put('"');
    }

    int descriptor_;
    std::array<char, 4096> buffer_;
    std::size_t used_ = 0;
    bool fresh_ = true, good_ = true;
};

}  // namespace sinew::detail
