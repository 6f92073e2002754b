// SPDX-License-Identifier: Apache-2.0
#include "sim/base/result.h"

#include <fmt/format.h>

namespace spillway {
namespace {

const char* Word(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "error";
}

}  // namespace

Diagnostic Error(std::string message, std::string hint) {
  Diagnostic diagnostic;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  return diagnostic;
}

Diagnostic Warning(std::string message, std::string hint) {
  Diagnostic diagnostic = Error(std::move(message), std::move(hint));
  diagnostic.severity = Severity::kWarning;
  return diagnostic;
}

std::string Render(const Diagnostic& d) {
  std::string out;
  if (!d.file.empty()) {
    out += d.file + ":";
    if (d.line > 0) out += fmt::format("{}:{}:", d.line, d.column);
    out += " ";
  }
  out += fmt::format("{}: {}\n", Word(d.severity), d.message);
  if (!d.source_line.empty()) {
    out += "  " + d.source_line + "\n";
    if (d.caret > 0) {
      // Tabs are kept so that the caret lines up under the text above it.
      std::string pad;
      for (int i = 0; i + 1 < d.caret && i < static_cast<int>(d.source_line.size()); ++i) {
        pad += d.source_line[static_cast<std::size_t>(i)] == '\t' ? '\t' : ' ';
      }
      out += "  " + pad + "^\n";
    }
  }
  if (!d.hint.empty()) out += "hint: " + d.hint + "\n";
  return out;
}

void CheckFailed(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: invariant broken: {}", file, line, condition));
}

}  // namespace spillway
