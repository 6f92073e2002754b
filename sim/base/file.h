// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"

namespace spillway {

/// The whole of a file; gzip is undone (by magic number, not by name). "-" is standard input.
/// Errors: missing, unreadable, a directory, broken gzip.
Result<std::string> ReadFile(const std::string& path);

/// Writes to a temporary name in the same directory and renames: no half file is left behind.
Status WriteFileAtomically(const std::string& path, std::string_view contents);

/// Position of byte `offset` in `text` and the text of its line.
struct LineColumn {
  int line = 1;
  int column = 1;
  std::string line_text;  ///< Cut to at most 160 characters around the column.
  int column_in_text = 1; ///< Where the column lies inside `line_text`.
};
LineColumn Locate(std::string_view text, std::size_t offset);

/// An error at byte `offset` of the text of `file`, with line, column and source line filled in.
Diagnostic ErrorAt(std::string_view text, const std::string& file, std::size_t offset,
                   std::string message, std::string hint = "");

/// The candidate nearest to `word` within edit distance 2 (for "did you mean"); empty if none.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace spillway
