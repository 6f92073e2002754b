// SPDX-License-Identifier: Apache-2.0
// The only place that writes to the standard streams.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/result.h"
#include "sim/base/units.h"

namespace spillway::cli {

/// Makes sure that descriptors 0 to 2 exist (a file opened later must not become standard output by
/// accident; writing to a stream that the caller closed fails) and that a closed pipe is a write
/// error, not a signal.
void PrepareStandardStreams();

/// Whether escapes may go to `fd`: a terminal, NO_COLOR empty, TERM not "dumb".
bool TerminalTakesColor(int fd);

/// Columns of the terminal at standard output; 110 if it is none. At least 60.
std::size_t TerminalWidth();

/// Whether the locale's character set is UTF-8.
bool LocaleIsUtf8();

/// Standard output: results only. Nothing is lost silently: see Flush.
class Output {
 public:
  void Write(std::string_view text);
  /// Writes out what is pending. An error of this or an earlier write is returned, once.
  Status Flush();

 private:
  std::string buffer_;
  int error_ = 0;  // errno of the first failed write
};

/// Standard error: messages for people.
class Console {
 public:
  enum class Color { kAuto, kAlways, kNever };
  struct Settings {
    Color color = Color::kAuto;
    bool quiet = false;
    int verbose = 0;
    bool progress = true;
  };
  ~Console();
  void Configure(const Settings& settings);
  /// Messages are also appended to `path`. Error: it cannot be opened.
  Status OpenLog(const std::string& path);

  /// Warnings and notes are held back by --quiet, errors never.
  void Print(const Diagnostic& diagnostic);
  void Print(const Diagnostics& diagnostics);
  /// Printed when -v was given at least `level` times; always in the log.
  void Say(int level, const std::string& text);
  /// A text as it is (usage), whatever the settings.
  void PrintText(const std::string& text);

  const Settings& settings() const { return settings_; }
  /// A live line may be drawn.
  bool ShowsProgress() const { return live_; }
  /// Replaces the live line; an empty text removes it.
  void SetLine(const std::string& text);

 private:
  void WriteAll(const std::string& text);

  Settings settings_;
  bool color_ = false;
  bool live_ = false;
  bool line_shown_ = false;
  int log_ = -1;
};

/// Progress of one run: nothing in the first second; then, on a terminal, a line at most ten times a
/// second; elsewhere, with -v, a line every ten seconds.
class Progress {
 public:
  explicit Progress(Console& console);
  ~Progress();
  void Update(std::int64_t done, std::int64_t total, Picos simulated);

 private:
  using Clock = std::chrono::steady_clock;
  Console& console_;
  Clock::time_point start_;
  Clock::time_point next_;
};

}  // namespace spillway::cli
