// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace spillway::cli {
namespace {

/// 0 or the errno of the failure.
int WriteFully(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

std::string Paint(const Diagnostic& diagnostic) {
  std::string text = Render(diagnostic);
  const bool error = diagnostic.severity == Severity::kError;
  const std::string word = error                                       ? "error:"
                           : diagnostic.severity == Severity::kWarning ? "warning:"
                                                                       : "note:";
  const char* color = error                                       ? "\x1b[1;31m"
                      : diagnostic.severity == Severity::kWarning ? "\x1b[1;33m"
                                                                  : "\x1b[1;36m";
  const std::size_t at = text.find(word, diagnostic.file.size());
  if (at != std::string::npos) text.replace(at, word.size(), color + word + "\x1b[0m");
  const std::size_t hint = text.rfind("\nhint:");
  if (!diagnostic.hint.empty() && hint != std::string::npos) {
    text.replace(hint + 1, 5, "\x1b[1;32mhint:\x1b[0m");
  }
  return text;
}

}  // namespace

void PrepareStandardStreams() {
  // The other direction than the stream's own: a use of it fails with EBADF.
  const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    const int opened = open("/dev/null", modes[fd]);
    if (opened >= 0 && opened != fd) {
      dup2(opened, fd);
      close(opened);
    }
  }
  std::signal(SIGPIPE, SIG_IGN);
}

bool TerminalTakesColor(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (term != nullptr && std::strcmp(term, "dumb") != 0);
}

std::size_t TerminalWidth() {
  constexpr std::size_t kDefault = 110, kLeast = 60;
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return kDefault;
  return std::max<std::size_t>(size.ws_col, kLeast);
}

bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale = value;
    for (const char* word : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (locale.find(word) != std::string::npos) return true;
    }
    return false;
  }
  return false;
}

void Output::Write(std::string_view text) {
  buffer_ += text;
  constexpr std::size_t kPiece = 1u << 20;
  if (buffer_.size() < kPiece) return;
  if (error_ == 0) error_ = WriteFully(STDOUT_FILENO, buffer_);
  buffer_.clear();
}

Status Output::Flush() {
  if (error_ == 0) error_ = WriteFully(STDOUT_FILENO, buffer_);
  buffer_.clear();
  const int error = std::exchange(error_, 0);
  if (error != 0) return Error(fmt::format("cannot write to standard output: {}", std::strerror(error)));
  return Done{};
}

Console::~Console() {
  SetLine("");
  if (log_ >= 0) close(log_);
}

void Console::Configure(const Settings& settings) {
  settings_ = settings;
  color_ = settings.color == Color::kAlways ||
           (settings.color == Color::kAuto && TerminalTakesColor(STDERR_FILENO));
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  live_ = settings.progress && !settings.quiet && !dumb && isatty(STDERR_FILENO) == 1;
}

Status Console::OpenLog(const std::string& path) {
  log_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (log_ < 0) return Error(fmt::format("cannot create '{}': {}", path, std::strerror(errno)));
  return Done{};
}

void Console::WriteAll(const std::string& text) {
  if (line_shown_) SetLine("");
  WriteFully(STDERR_FILENO, text);  // nowhere left to report a failure
}

void Console::Print(const Diagnostic& diagnostic) {
  if (log_ >= 0) WriteFully(log_, Render(diagnostic));
  if (settings_.quiet && diagnostic.severity != Severity::kError) return;
  WriteAll(color_ ? Paint(diagnostic) : Render(diagnostic));
}

void Console::Print(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) Print(diagnostic);
}

void Console::Say(int level, const std::string& text) {
  if (log_ >= 0) WriteFully(log_, text + "\n");
  if (settings_.verbose >= level && !settings_.quiet) WriteAll(text + "\n");
}

void Console::PrintText(const std::string& text) { WriteAll(text); }

void Console::SetLine(const std::string& text) {
  if (text.empty() && !line_shown_) return;
  WriteFully(STDERR_FILENO, "\r\x1b[K" + text);
  line_shown_ = !text.empty();
}

Progress::Progress(Console& console) : console_(console), start_(Clock::now()) {
  next_ = start_ + (console.ShowsProgress() ? std::chrono::seconds(1) : std::chrono::seconds(10));
}

Progress::~Progress() { console_.SetLine(""); }

void Progress::Update(std::int64_t done, std::int64_t total, Picos simulated) {
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
  std::string text = fmt::format("{:3.0f}%  {} of {} ops  simulated {}", share * 100, done, total,
                                 FormatDuration(simulated));
  if (share > 0 && share < 1) text += fmt::format("  about {:.0f} s left", seconds / share - seconds);
  if (console_.ShowsProgress()) {
    console_.SetLine(text);
    next_ = now + std::chrono::milliseconds(100);
  } else {
    console_.Say(1, text);
    next_ = now + std::chrono::seconds(10);
  }
}

}  // namespace spillway::cli
