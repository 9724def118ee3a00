// SPDX-License-Identifier: Apache-2.0
#include "data_paths.h"

namespace omnibal {

std::string case_file(const std::string& file) { return OMNIBAL_TESTS "/cases/" + file; }

std::string test_data(const std::string& file) { return OMNIBAL_TESTS "/data/" + file; }

std::string shared_data(const std::string& file) {
  return OMNIBAL_TESTS "/../../shared/data/" + file;
}

}  // namespace omnibal
