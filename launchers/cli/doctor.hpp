// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "launchers/checks/check.hpp"

namespace sinew::launch {

/// `sinew doctor`: looks for what makes jobs fail or slow, on this host and on those given. Every
/// question has a deadline. Returns 0 if there is no error, 1 if there are some, 2 for wrong usage.
int doctor_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err);

/// The findings of one check.
struct Diagnosis {
    Check check;
    Findings findings;
};
std::vector<Diagnosis> diagnose(Facts const& facts);
bool has_errors(std::vector<Diagnosis> const& diagnoses);
void write_text(std::vector<Diagnosis> const& diagnoses, Facts const& facts, std::ostream& out);
void write_json(std::vector<Diagnosis> const& diagnoses, Facts const& facts, std::ostream& out);

}  // namespace sinew::launch
