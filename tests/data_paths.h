// SPDX-License-Identifier: Apache-2.0
//
// Test support: where the tests' files lie. Defined in one source file, so that a clone at another
// path finds every other test object in the compiler cache.
#pragma once

#include <string>

namespace omnibal {

// tests/cases/<file>: inputs with what must come of them.
std::string case_file(const std::string& file);
// tests/data/<file>: model configurations and workload W.
std::string test_data(const std::string& file);
// The real sample lengths that are not part of the repository: may be absent, then tests skip.
std::string shared_data(const std::string& file);

}  // namespace omnibal
