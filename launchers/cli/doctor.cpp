// SPDX-License-Identifier: Apache-2.0
#include "launchers/cli/doctor.hpp"

#include <array>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>

#include "launchers/checks/facts.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

using Counts = std::array<int, 4>;

Counts count(std::vector<Diagnosis> const& diagnoses) {
    Counts counts{};
    for (auto const& diagnosis : diagnoses)
        for (auto const& finding : diagnosis.findings)
            ++counts[static_cast<std::size_t>(finding.severity)];
    return counts;
}

std::string summary(Counts const& counts) {
    std::string words;
    for (int index = 3; index >= 0; --index) {
        auto const severity = static_cast<Severity>(index);
        if (counts[index] == 0) continue;
        bool const plural = counts[index] > 1 && severity != Severity::ok;
        words +=
            text(words.empty() ? "" : ", ", counts[index], ' ', name(severity), plural ? "s" : "");
    }
    return words;
}

void write_finding(Diagnosis const& diagnosis, Finding const& finding, std::ostream& out) {
    std::string const subject = finding.host.empty() ? "" : finding.host + ": ";
    out << "  " << std::left << std::setw(9) << name(finding.severity) << std::setw(15)
        << diagnosis.check.name << subject << finding.found << '\n';
    std::string const indent(26, ' ');
    if (!finding.cause.empty()) out << indent << "likely: " << finding.cause << '\n';
    if (!finding.remedy.empty()) out << indent << "remedy: " << finding.remedy << '\n';
}

}  // namespace

std::vector<Diagnosis> diagnose(Facts const& facts) {
    std::vector<Diagnosis> diagnoses;
    for (auto const& check : checks()) diagnoses.push_back({check, check.run(facts)});
    return diagnoses;
}

bool has_errors(std::vector<Diagnosis> const& diagnoses) {
    return count(diagnoses)[static_cast<std::size_t>(Severity::error)] > 0;
}

void write_text(std::vector<Diagnosis> const& diagnoses, Facts const& facts, std::ostream& out) {
    out << "sinew " << facts.own_version << " on " << facts.own_name << '\n';
    for (auto const& diagnosis : diagnoses)
        for (auto const& finding : diagnosis.findings) write_finding(diagnosis, finding, out);
    out << summary(count(diagnoses)) << '\n';
}

void write_json(std::vector<Diagnosis> const& diagnoses, Facts const& facts, std::ostream& out) {
    nlohmann::ordered_json report{{"sinew", facts.own_version}, {"host", facts.own_name}};
    auto& findings = report["findings"] = nlohmann::ordered_json::array();
    for (auto const& diagnosis : diagnoses)
        for (auto const& finding : diagnosis.findings) {
            nlohmann::ordered_json row{
                {"check", diagnosis.check.name},
                {"host", finding.host.empty() ? facts.own_name : finding.host},
                {"severity", name(finding.severity)},
                {"found", finding.found}};
            if (!finding.cause.empty()) row["cause"] = finding.cause;
            if (!finding.remedy.empty()) row["remedy"] = finding.remedy;
            findings.push_back(std::move(row));
        }
    auto const counts = count(diagnoses);
    for (std::size_t index = 0; index < counts.size(); ++index)
        report["counts"][std::string(name(static_cast<Severity>(index)))] = counts[index];
    // ssh's output may have any encoding.
    out << report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace sinew::launch
