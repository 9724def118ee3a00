// SPDX-License-Identifier: Apache-2.0
//
// Packs ten samples through the installed library; exits 0 if each is placed once.
#include <omnibal/pack/isf.h>
#include <omnibal/pack/packs.h>

#include <cstdio>
#include <vector>

int main() {
  using namespace omnibal;
  const std::vector<std::uint32_t> vision(10, 1);
  const std::vector<std::uint32_t> tokens(10, 400);
  const metrics::SampleColumns samples{vision, tokens};
  const auto limits = pack::PackLimits::with_paper_floors(9, 4096);
  const auto admitted = pack::admit(samples, limits, {});
  if (!admitted) return 1;
  const pack::Packs packs = pack::pack_isf(samples, admitted->accepted, limits, 0);
  std::printf("%lld packs\n", static_cast<long long>(packs.size()));
  return packs.samples.size() == 10 && packs.size() == 2 ? 0 : 1;
}
