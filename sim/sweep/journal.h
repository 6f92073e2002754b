// SPDX-License-Identifier: Apache-2.0
// journal.jsonl: what is finished, safe against a power cut. The first line says what the sweep is, each
// further line is one finished point.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/sweep/point_result.h"

namespace spillway::sweep {

struct JournalHeader {
  std::string version;                 ///< Of spillway.
  std::string sweep;                   ///< Digest of everything that defines the list of points.
  std::int64_t points = 0;             ///< Of the whole sweep, all shards.
  int shard = 1, shards = 1;
  std::vector<std::string> axes;
  std::vector<bool> geometric;         ///< Of each axis: for the picture.
  std::string title;                   ///< For the picture.
};

struct JournalEntry {
  std::int64_t point = 0;              ///< Index in the whole sweep.
  std::string key;                     ///< Digest of everything that the result depends on.
  std::vector<std::string> values;     ///< One for each axis.
  PointResult result;
};

struct Journal {
  std::optional<JournalHeader> header; ///< None: the file is empty or breaks off in its first line.
  std::vector<JournalEntry> entries;   ///< In the order of writing.
  int bad_lines = 0;                   ///< Lines that cannot be read, a torn last one among them.
};

/// Errors: the file cannot be read, or its first line is not that of a journal.
Result<Journal> ReadJournal(const std::string& path);

/// Appends to a journal. One process at a time: the directory is locked while the writer lives.
class JournalWriter {
 public:
  /// Locks `directory`, which must exist. Error: another process holds the lock.
  static Result<JournalWriter> Lock(const std::string& directory);
  JournalWriter(JournalWriter&& other) noexcept;
  JournalWriter& operator=(JournalWriter&&) = delete;
  ~JournalWriter();

  /// Replaces journal.jsonl by `header` and `entries`, all or nothing, and opens it for appending.
  Status Start(const JournalHeader& header, const std::vector<JournalEntry>& entries);
  /// Writes the lines and waits until they are on disk.
  Status Append(const std::vector<JournalEntry>& entries);

 private:
  explicit JournalWriter(std::string directory) : directory_(std::move(directory)) {}

  std::string directory_;
  int lock_ = -1, file_ = -1;
};

/// One line each, with its line feed.
std::string HeaderLine(const JournalHeader& header);
std::string EntryLine(const JournalEntry& entry);

/// The result alone, as a worker sends it to its parent.
std::string EncodeResult(const PointResult& result);
std::optional<PointResult> DecodeResult(const std::string& text);

}  // namespace spillway::sweep
