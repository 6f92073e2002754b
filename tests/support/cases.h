// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace spillway::test {

/// How many random cases to run of those whose every case is slow: a third with a sanitizer, where a case takes
/// five times as long. They are the first of the same sequence, so the plain build runs them too.
constexpr int Cases(int all) {
#ifdef __SANITIZE_ADDRESS__
  return all / 3;
#else
  return all;
#endif
}

}  // namespace spillway::test
