// SPDX-License-Identifier: Apache-2.0
//
// TextTable: aligned columns for people; the first column to the left, the others to the right.
#pragma once

#include <string>
#include <vector>

namespace omnibal::cli {

/// `rows[0]` is the header. Widths count code points, so that units and names may be UTF-8.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

/// The same with a note behind each row but the header, not aligned.
std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<std::string>& notes);

}  // namespace omnibal::cli
