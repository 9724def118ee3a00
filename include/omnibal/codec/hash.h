// SPDX-License-Identifier: Apache-2.0
//
// XXH128 content hashes, written as `xxhsum -H2` writes them (32 hexadecimal digits, canonical
// byte order).
//
//   OMNIBAL_ASSIGN(const std::string hash, hash_file("plan/steps.npy"));
//   Hasher hasher;
//   hasher.add(piece);   // any number of pieces, then hasher.hex()
//
// Not for secrets: it is fast, not cryptographic.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "omnibal/base/result.h"

namespace omnibal::codec {

/// Incremental hash: add() any number of pieces, then hex().
class Hasher {
 public:
  Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hash_bytes(std::span<const std::byte> bytes);

/// Hash of a regular file's content. Errors: kFileNotFound, kFileUnreadable.
Result<std::string> hash_file(const std::string& path);

}  // namespace omnibal::codec
