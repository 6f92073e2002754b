// SPDX-License-Identifier: Apache-2.0
// Internal: the scan that the readers of bundle text spend their time in.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace spillway::llo {

/// The first character of [at, end) that is one of `kStops`; `end` if there is none.
template <char... kStops>
const char* FindAny(const char* at, const char* end) {
#ifdef __SSE2__
  for (; end - at >= 16; at += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    __m128i found = _mm_setzero_si128();
    ((found = _mm_or_si128(found, _mm_cmpeq_epi8(text, _mm_set1_epi8(kStops)))), ...);
    const int mask = _mm_movemask_epi8(found);
    if (mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
  }
#endif
  while (at < end && ((*at != kStops) && ...)) ++at;
  return at;
}

}  // namespace spillway::llo
