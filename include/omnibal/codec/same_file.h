// SPDX-License-Identifier: Apache-2.0
//
// Which names lead to one file, so that nothing is written over what is read.
//
//   is_same_file("lengths.jsonl", "./link-to-it");   // true
//   lies_in("state/steps.jsonl", "state");           // true
//   is_same_file("/dev/stdin", "lengths.jsonl");     // true under `< lengths.jsonl`
//
// Not for comparing what files hold: hash.h.
#pragma once

#include <string>

namespace omnibal::codec {

/// The same file behind links of both kinds, or the same name where there is none yet. Character
/// devices (/dev/null, a terminal) are never the same: what is written there is read nowhere.
bool is_same_file(const std::string& a, const std::string& b);

/// Whether `path` is `directory` or lies in it, however deep, behind links.
bool lies_in(const std::string& path, const std::string& directory);

}  // namespace omnibal::codec
