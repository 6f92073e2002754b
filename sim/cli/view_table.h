// SPDX-License-Identifier: Apache-2.0
// Tables built row by row, and wrapped paragraphs, for the views of commands.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/cli/program_view.h"
#include "sim/output/table.h"

namespace spillway::cli {

inline output::Column TextColumn(std::string header, int priority = 0, bool flexible = false) {
  return {std::move(header), false, priority, flexible, {}, {}};
}
inline output::Column NumberColumn(std::string header, int priority = 0) {
  return {std::move(header), true, priority, false, {}, {}};
}

class ViewTable {
 public:
  explicit ViewTable(std::vector<output::Column> columns) : columns_(std::move(columns)) {}
  void Row(std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size() && i < columns_.size(); ++i) columns_[i].cells.push_back(std::move(cells[i]));
  }
  /// Indented by two spaces. Call once.
  std::string Text(const ViewStyle& style) {
    output::TableStyle table;
    table.width = style.width;
    table.unicode = style.unicode;
    return output::RenderTable(std::move(columns_), table);
  }

 private:
  std::vector<output::Column> columns_;
};

/// `text` broken at spaces into lines of at most `width` columns with a final newline; later lines are indented.
inline std::string WrapText(const std::string& text, std::size_t width, std::size_t indent) {
  std::string out, line;
  std::size_t at = text.find_first_not_of(' ');
  line = text.substr(0, at == std::string::npos ? 0 : at);
  bool first = true;
  while (at != std::string::npos && at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!first && output::DisplayWidth(line) + 1 + output::DisplayWidth(word) > width) {
      out += line + "\n";
      line = std::string(indent, ' ') + word;
    } else {
      line += first ? word : " " + word;
    }
    first = false;
    at = end < text.size() ? end + 1 : text.size();
  }
  return out + line + "\n";
}

}  // namespace spillway::cli
