// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace spillway {

enum class Severity { kError, kWarning, kNote };

/// One message about the user's input. `line` and `column` count from 1; 0 means unknown.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string message;      ///< What is wrong, lower case, no full stop.
  std::string file;         ///< As the user named it; empty for the command line.
  int line = 0;
  int column = 0;
  std::string source_line;  ///< The text of that line (cut to a readable width).
  int caret = 0;            ///< Column inside `source_line`; 0: no caret.
  std::string hint;         ///< What to do about it; may be empty.
};
using Diagnostics = std::vector<Diagnostic>;

Diagnostic Error(std::string message, std::string hint = "");
Diagnostic Warning(std::string message, std::string hint = "");

/// `file:line:col: error: message`, the source line, a caret, `hint: …`.
std::string Render(const Diagnostic& diagnostic);

/// A broken invariant: our bug, never the user's (exit code 4).
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
#define SPILLWAY_CHECK(condition) \
  ((condition) ? (void)0 : ::spillway::CheckFailed(#condition, __FILE__, __LINE__))

/// A value or the reasons why there is none. The core reports user mistakes this way: it never
/// prints, exits or throws for them.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}                      // NOLINT: implicit by intent
  Result(Diagnostic error) : state_(Diagnostics{std::move(error)}) {}  // NOLINT
  Result(Diagnostics errors) : state_(std::move(errors)) {}            // NOLINT

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  /// REQUIRES: ok().
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  /// REQUIRES: !ok().
  const Diagnostics& errors() const { return std::get<Diagnostics>(state_); }

 private:
  std::variant<T, Diagnostics> state_;
};

/// Result of an action without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace spillway
