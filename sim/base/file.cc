// SPDX-License-Identifier: Apache-2.0
#include "sim/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>

namespace spillway {
namespace {

constexpr std::size_t kMaxInflatedBytes = std::size_t{4} << 30;  // a gzip bomb is bad input

Result<std::string> ReadDescriptor(int fd, const std::string& path) {
  std::string data;
  struct stat info {};
  std::size_t room = 64u << 10;
  if (fstat(fd, &info) == 0) {
    if (S_ISDIR(info.st_mode)) return Error(fmt::format("'{}' is a directory", path));
    if (info.st_size > 0) room = static_cast<std::size_t>(info.st_size) + 1;  // 1: to see the end
  }
  std::size_t used = 0;
  for (;;) {
    if (used == data.size()) data.resize(used + std::max(room, used));
    const ssize_t n = read(fd, data.data() + used, data.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  data.resize(used);
  return data;
}

// The last word of a gzip file is its length before compression (of the last member, modulo 2^32). Only a
// hint: a deflated byte makes at most 1032.
std::size_t InflatedSizeHint(std::string_view data) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4 && data.size() >= 4; ++i) {
    size |= std::size_t{static_cast<unsigned char>(data[data.size() - 4 + i])} << 8 * i;
  }
  return std::min(size, 32 * data.size() + 1024);
}

Result<std::string> Inflate(std::string_view data, const std::string& path) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (decompressor == nullptr) return Error("no memory to undo gzip");
  std::string out(InflatedSizeHint(data), '\0');
  std::size_t used = 0;
  while (!data.empty()) {  // a member a turn, or the same one again with more room
    std::size_t read = 0, written = 0;
    const libdeflate_result code =
        libdeflate_gzip_decompress_ex(decompressor.get(), data.data(), data.size(), out.data() + used,
                                      out.size() - used, &read, &written);
    if (code == LIBDEFLATE_INSUFFICIENT_SPACE) {
      if (out.size() >= kMaxInflatedBytes) return Error(fmt::format("'{}' inflates to more than 4 GiB", path));
      out.resize(std::min(2 * out.size() + 1024, kMaxInflatedBytes));
      continue;
    }
    if (code != LIBDEFLATE_SUCCESS) {
      return Error(fmt::format("'{}' is a broken or truncated gzip file", path));
    }
    data.remove_prefix(read);
    used += written;
  }
  out.resize(used);
  return out;
}

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  const bool standard_input = path == "-";
  const int fd = standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error(fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  Result<std::string> data = ReadDescriptor(fd, path);
  if (!standard_input) close(fd);
  if (!data.ok()) return data;
  if (data->size() >= 2 && (*data)[0] == '\x1f' && (*data)[1] == '\x8b') {
    return Inflate(*data, path);
  }
  return data;
}

Status WriteFileAtomically(const std::string& path, std::string_view contents) {
  const std::string temporary = fmt::format("{}.tmp{}", path, getpid());
  const auto fail = [&](const char* action) -> Status {
    const int error = errno;
    unlink(temporary.c_str());
    return Error(fmt::format("cannot {} '{}': {}", action, path, std::strerror(error)));
  };
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return fail("create");
  while (!contents.empty()) {
    const ssize_t n = write(fd, contents.data(), contents.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      close(fd);
      errno = error;
      return fail("write");
    }
    contents.remove_prefix(static_cast<std::size_t>(n));
  }
  if (close(fd) != 0) return fail("write");
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return fail("write");
  return Done{};
}

LineColumn Locate(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  LineColumn at;
  const std::string_view before = text.substr(0, offset);
  at.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const std::size_t end = std::min(text.find('\n', offset), text.size());
  at.column = static_cast<int>(offset - begin) + 1;
  constexpr std::size_t kWidth = 160;
  const std::size_t from = offset - begin > kWidth / 2 ? offset - kWidth / 2 : begin;
  for (const char c : text.substr(from, std::min(end - from, kWidth))) {
    // Control bytes of a binary file must not reach the terminal.
    at.line_text += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? '?' : c;
  }
  at.column_in_text = static_cast<int>(offset - from) + 1;
  return at;
}

Diagnostic ErrorAt(std::string_view text, const std::string& file, std::size_t offset,
                   std::string message, std::string hint) {
  LineColumn at = Locate(text, offset);
  Diagnostic diagnostic = Error(std::move(message), std::move(hint));
  diagnostic.file = file;
  diagnostic.line = at.line;
  diagnostic.column = at.column;
  diagnostic.source_line = std::move(at.line_text);
  diagnostic.caret = at.column_in_text;
  return diagnostic;
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  int best_distance = 3;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(word, candidate);
    if (distance < best_distance && distance < static_cast<int>(word.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace spillway
