// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <sstream>

#include "k8s/objects/yaml_scalar.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

using Json = nlohmann::json;

constexpr std::size_t max_text = std::size_t(16) << 20;
constexpr std::size_t max_values = 100'000;  // aliases may repeat what is there
constexpr int max_depth = 100;

// ---- writing

int rank_of(std::string const& key) {
    static constexpr std::array<std::string_view, 6> first{"apiVersion", "kind", "metadata",
                                                           "type",       "spec", "data"};
    auto const found = std::find(first.begin(), first.end(), key);
    return int(found - first.begin());
}

std::vector<Json::const_iterator> in_order(Json const& object, bool top) {
    std::vector<Json::const_iterator> found;
    for (auto at = object.begin(); at != object.end(); ++at) found.push_back(at);
    std::stable_sort(found.begin(), found.end(), [&](auto const& a, auto const& b) {
        auto const key = [&](auto const& at) {
            // A name is what a reader looks for first.
            return top ? rank_of(at.key()) : at.key() == "name" ? 0 : 1;
        };
        return key(a) < key(b);
    });
    return found;
}

// A string of several lines as a block "|", if nothing in it needs an escape.
bool block_fits(std::string const& value) {
    if (value.find('\n') == value.npos || value[0] == ' ' || value[0] == '\n') return false;
    for (std::size_t i = 0; i < value.size(); ++i) {
        auto const c = static_cast<unsigned char>(value[i]);
        if (c != '\n' && (c < 0x20 || c > 0x7e)) return false;
        if (c == ' ' && (i + 1 == value.size() || value[i + 1] == '\n')) return false;
    }
    return true;
}

class YamlWriter {
public:
    void document(Json const& value) {
        if (value.is_structured() && !value.empty()) write(value, 0, true);
        else out += inline_text(value, 0) + '\n';
    }
    std::string out;

private:
    static std::string inline_text(Json const& value, int indent) {
        if (value.is_string()) {
            auto const& string = value.get_ref<std::string const&>();
            return block_fits(string) ? block(string, indent) : scalar_text(string);
        }
        if (value.is_discarded() || value.is_binary()) return "null";
        return value.dump();  // numbers, booleans, null, {}, []
    }

    static std::string block(std::string const& value, int indent) {
        auto const lines = value.find_last_not_of('\n') + 1;
        auto const breaks = value.size() - lines;
        std::string text = breaks == 0 ? "|-" : breaks == 1 ? "|" : "|+";
        std::string const margin(std::size_t(indent) + 2, ' ');
        std::size_t at = 0;
        auto const end = breaks == 0 ? value.size() : value.size() - 1;
        while (at <= end) {
            auto const next = std::min(value.find('\n', at), value.size());
            if (at == value.size()) break;
            text += '\n';
            if (next > at) text += margin + value.substr(at, next - at);
            at = next + 1;
        }
        return text;
    }

    // The members or elements, each on its own lines from column `indent`; the first one where the
    // cursor is if `inside` a list's element.
    void write(Json const& value, int indent, bool top = false, bool inside = false) {
        std::string const margin(std::size_t(indent), ' ');
        bool first = inside;
        if (value.is_object()) {
            for (auto const& at : in_order(value, top)) {
                out += (first ? "" : margin) + scalar_text(at.key()) + ':';
                first = false;
                if (at->is_structured() && !at->empty()) {
                    out += '\n';
                    write(*at, at->is_array() ? indent : indent + 2);
                } else {
                    out += ' ' + inline_text(*at, indent) + '\n';
                }
            }
            return;
        }
        for (auto const& element : value) {
            out += (first ? "" : margin) + "- ";
            first = false;
            if (element.is_structured() && !element.empty())
                write(element, indent + 2, false, true);
            else out += inline_text(element, indent) + '\n';
        }
    }
};

// ---- reading

// yaml-cpp 0.7 reads no further at a token that begins nothing (","), and would give empty documents
// for ever: each document must begin after the one before.
class DocumentsAdvance : public YAML::EventHandler {
public:
    void OnDocumentStart(YAML::Mark const& mark) override {
        if (mark.pos <= last_) throw YAML::ParserException(mark, "begins nothing");
        last_ = mark.pos;
    }
    void OnDocumentEnd() override {}
    void OnNull(YAML::Mark const&, YAML::anchor_t) override {}
    void OnAlias(YAML::Mark const&, YAML::anchor_t) override {}
    void OnScalar(YAML::Mark const&, std::string const&, YAML::anchor_t,
                  std::string const&) override {}
    void OnSequenceStart(YAML::Mark const&, std::string const&, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {}
    void OnSequenceEnd() override {}
    void OnMapStart(YAML::Mark const&, std::string const&, YAML::anchor_t,
                    YAML::EmitterStyle::value) override {}
    void OnMapEnd() override {}

private:
    int last_ = -1;
};

void check_documents(std::string const& input) {
    std::istringstream stream(input);
    YAML::Parser parser(stream);
    DocumentsAdvance handler;
    while (parser.HandleNextDocument(handler)) {}
}

class Reader {
public:
    explicit Reader(std::string const& name) : name_(name) {}

    Json read(YAML::Node const& node, int depth = 0) {
        if (depth > max_depth) refuse(node, text("nested deeper than ", max_depth));
        if (++count_ > max_values) refuse(node, text("more than ", max_values, " values"));
        switch (node.Type()) {
            case YAML::NodeType::Scalar:
                return scalar(node);
            case YAML::NodeType::Sequence: {
                auto list = Json::array();
                for (auto const& element : node) list.push_back(read(element, depth + 1));
                return list;
            }
            case YAML::NodeType::Map:
                return map(node, depth);
            default:
                return nullptr;
        }
    }

private:
    [[noreturn]] void refuse(YAML::Node const& node, std::string const& why) const {
        auto const mark = node.Mark();
        throw UsageError(mark.is_null()
                             ? text(name_, ": ", why)
                             : text(name_, ":", mark.line + 1, ":", mark.column + 1, ": ", why));
    }

    Json scalar(YAML::Node const& node) const {
        if (!is_utf8(node.Scalar())) refuse(node, "a string that is not UTF-8");
        auto const& tag = node.Tag();
        if (tag == "!" || tag == "tag:yaml.org,2002:str") return node.Scalar();
        return plain_scalar(node.Scalar());
    }

    Json map(YAML::Node const& node, int depth) {
        auto object = Json::object();
        std::vector<Json> merged;
        for (auto const& entry : node) {
            if (!entry.first.IsScalar()) refuse(entry.first, "the key of a map is no string");
            auto const& key = entry.first.Scalar();
            if (!is_utf8(key)) refuse(entry.first, "a key that is not UTF-8");
            if (key == "<<" && entry.first.Tag() != "!") {
                auto found = read(entry.second, depth + 1);
                if (found.is_array())
                    for (auto& each : found) merged.push_back(std::move(each));
                else merged.push_back(std::move(found));
                continue;
            }
            if (object.contains(key)) refuse(entry.first, text("the key ", key, " is there twice"));
            object[key] = read(entry.second, depth + 1);
        }
        for (auto& each : merged) {
            if (!each.is_object()) refuse(node, "<< merges something that is no map");
            for (auto const& [key, value] : each.items())
                if (!object.contains(key)) object[key] = value;
        }
        return object;
    }

    std::string const& name_;
    std::size_t count_ = 0;
};

}  // namespace

std::string to_yaml(Json const& object) {
    YamlWriter writer;
    writer.document(object);
    return std::move(writer.out);
}

std::string to_yaml(std::vector<Json> const& objects) {
    std::string out;
    for (auto const& object : objects) {
        if (!out.empty()) out += "---\n";
        out += to_yaml(object);
    }
    return out;
}

std::vector<Json> from_yaml(std::string_view input, std::string const& name) {
    if (input.size() > max_text)
        throw UsageError(
            text(name, " has ", input.size(), " bytes; at most ", max_text, " are read"));
    try {
        std::vector<Json> found;
        check_documents(std::string(input));
        Reader reader(name);
        for (auto const& node : YAML::LoadAll(std::string(input)))
            if (auto value = reader.read(node); !value.is_null()) found.push_back(std::move(value));
        return found;
    } catch (YAML::Exception const& problem) {
        auto const mark = problem.mark;
        throw UsageError(mark.is_null() ? text(name, ": ", problem.msg)
                                        : text(name, ":", mark.line + 1, ":", mark.column + 1, ": ",
                                               problem.msg));
    }
}

}  // namespace sinew::k8s
