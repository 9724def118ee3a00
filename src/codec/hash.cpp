// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/hash.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <vector>

#include "codec/file_descriptor.h"

namespace omnibal::codec {
namespace {

std::string to_hex(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  std::string text;
  for (const unsigned char byte : canonical.digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

struct Hasher::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> xxh3{XXH3_createState()};
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh3.get()); }
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh3.get(), bytes.data(), bytes.size());
}

std::string Hasher::hex() const { return to_hex(XXH3_128bits_digest(state_->xxh3.get())); }

std::string hash_bytes(std::span<const std::byte> bytes) {
  return to_hex(XXH3_128bits(bytes.data(), bytes.size()));
}

Result<std::string> hash_file(const std::string& path) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
  OMNIBAL_ASSIGN(const OpenFile file, open_regular(path));
  Hasher hasher;
  std::vector<std::byte> piece(kPieceBytes);
  while (true) {
    const ssize_t got = ::read(file.fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(ErrorCode::kFileUnreadable, "cannot read", path);
    if (got == 0) return hasher.hex();
    hasher.add(std::span(piece).first(static_cast<std::size_t>(got)));
  }
}

}  // namespace omnibal::codec
