// SPDX-License-Identifier: Apache-2.0
// Splits the text of a `…-final_bundles.txt` file into bundles and operations. Knows the layout of
// the text (addresses, braces, `;;`, nested and multi-line comments, region marks), no opcode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"

namespace spillway::llo {

/// One operation of a bundle: a view into the text, comments included.
struct OpText {
  std::string_view text;
  int line = 0;
};

struct BundleText {
  std::int64_t address = 0;
  int line = 0;
  int depth = 0;                       ///< Loop depth: the number of `>` before the brace.
  std::string_view marker;             ///< "LB", "PF", … or empty.
  std::vector<OpText> ops;
  std::vector<int> regions;            ///< Regions that start at this bundle.
  std::string_view comment;            ///< All that follows the closing brace.
};

/// Walks the bundles of `text` in order. Nothing of a broken text is skipped silently: a line that
/// is no bundle after the first bundle, a gap in the addresses or an unclosed brace is an error.
class BundleReader {
 public:
  /// `text` must outlive the reader and the views it hands out; `file` is for messages.
  BundleReader(std::string_view text, std::string file);

  /// Fills `bundle` with the next one; false at the end of the text or on an error.
  bool Next(BundleText& bundle);
  /// The error that stopped Next, if any.
  const Diagnostics& errors() const { return errors_; }

 private:
  bool ReadHeader(BundleText& bundle);
  bool ReadBody(BundleText& bundle);
  void ReadTrailer(BundleText& bundle);
  bool SkipComment();
  void SkipLine();
  void Fail(const std::string& message, std::size_t offset);

  std::string_view text_;
  std::string file_;
  std::size_t position_ = 0;
  int line_ = 1;
  std::int64_t next_address_ = 0;
  Diagnostics errors_;
};

/// Text of an operation without comments. `/*name=*/` before an operand becomes `@name=`, other
/// comments vanish; the first of them is stored in `comment` (if not null), trimmed.
std::string StripComments(std::string_view text, std::string* comment);

std::string_view Trim(std::string_view text);

}  // namespace spillway::llo
