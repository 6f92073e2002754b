// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/file.h"

namespace spillway::sweep {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = "spillway.journal/1";
constexpr char kFile[] = "journal.jsonl";

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

template <class T>
bool Take(const Json& object, const char* key, T& value) {
  const auto it = object.find(key);
  if (it == object.end()) return false;
  try {
    value = it->template get<T>();
  } catch (const Json::exception&) {
    return false;
  }
  return true;
}

void Encode(const PointResult& result, Json& object) {
  object["status"] = result.status;
  if (result.ok()) {
    for (const IntegerColumn& column : IntegerColumns()) object[column.name] = result.*column.member;
    object["unmodelled_share"] = result.unmodelled_share;
  }
  if (!result.timer.empty()) {
    object["measured_us"] = result.measured_us;
    object["timer"] = result.timer;
  }
}

std::optional<PointResult> Decode(const Json& object) {
  PointResult result;
  if (!object.is_object() || !Take(object, "status", result.status)) return std::nullopt;
  if (result.ok()) {
    for (const IntegerColumn& column : IntegerColumns()) {
      const auto it = object.find(column.name);
      if (it == object.end() || !it->is_number_integer()) return std::nullopt;
      result.*column.member = it->get<std::int64_t>();
    }
    if (!Take(object, "unmodelled_share", result.unmodelled_share)) return std::nullopt;
  }
  Take(object, "measured_us", result.measured_us);
  Take(object, "timer", result.timer);
  return result;
}

std::optional<JournalHeader> DecodeHeader(const Json& object) {
  JournalHeader header;
  std::string schema;
  const bool good = object.is_object() && Take(object, "schema", schema) && schema == kSchema &&
                    Take(object, "spillway", header.version) && Take(object, "sweep", header.sweep) &&
                    Take(object, "points", header.points) && Take(object, "shard", header.shard) &&
                    Take(object, "shards", header.shards) && Take(object, "axes", header.axes) &&
                    Take(object, "geometric", header.geometric) && Take(object, "title", header.title);
  if (!good || header.geometric.size() != header.axes.size() || header.points < 0) return std::nullopt;
  return header;
}

std::optional<JournalEntry> DecodeEntry(const Json& object, const JournalHeader& header) {
  JournalEntry entry;
  const bool good = object.is_object() && Take(object, "point", entry.point) && Take(object, "key", entry.key) &&
                    Take(object, "values", entry.values);
  if (!good || entry.values.size() != header.axes.size() || entry.point < 0 || entry.point >= header.points) {
    return std::nullopt;
  }
  std::optional<PointResult> result = Decode(object);
  if (!result) return std::nullopt;
  entry.result = std::move(*result);
  return entry;
}

Diagnostic Failed(const std::string& what, const std::string& path) {
  return Error(fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)));
}

}  // namespace

std::string HeaderLine(const JournalHeader& header) {
  Json object = {{"schema", kSchema},       {"spillway", header.version}, {"sweep", header.sweep},
                 {"points", header.points}, {"shard", header.shard},      {"shards", header.shards},
                 {"title", header.title}};
  object["axes"] = header.axes;
  object["geometric"] = header.geometric;
  return Dump(object) + "\n";
}

std::string EntryLine(const JournalEntry& entry) {
  Json object = {{"point", entry.point}, {"key", entry.key}};
  object["values"] = entry.values;
  Encode(entry.result, object);
  return Dump(object) + "\n";
}

std::string EncodeResult(const PointResult& result) {
  Json object = Json::object();
  Encode(result, object);
  return Dump(object);
}

std::optional<PointResult> DecodeResult(const std::string& text) { return Decode(Json::parse(text, nullptr, false)); }

Result<Journal> ReadJournal(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text.errors();
  Journal journal;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = text->find('\n', begin);
    // A line without its end was torn; that its beginning can be read proves nothing.
    const Json object = end == std::string::npos ? Json() : Json::parse(text->substr(begin, end - begin), nullptr, false);
    const bool whole = end != std::string::npos;
    if (begin == 0 && whole) {
      journal.header = DecodeHeader(object);
      if (!journal.header) {
        Diagnostic error = Error("this is not the journal of a sweep", "'spillway sweep -o DIR' writes DIR/journal.jsonl");
        error.file = path;
        error.line = 1;
        return error;
      }
    } else if (std::optional<JournalEntry> entry =
                   whole && journal.header ? DecodeEntry(object, *journal.header) : std::nullopt) {
      journal.entries.push_back(std::move(*entry));
    } else {
      ++journal.bad_lines;
    }
    begin = whole ? end + 1 : text->size();
  }
  return journal;
}

Result<JournalWriter> JournalWriter::Lock(const std::string& directory) {
  JournalWriter writer(directory);
  writer.lock_ = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (writer.lock_ < 0) return Failed("open directory", directory);
  if (flock(writer.lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return writer;  // a file system without locks
    return Error(fmt::format("another sweep is writing into '{}'", directory), "choose another directory with -o");
  }
  return writer;
}

JournalWriter::JournalWriter(JournalWriter&& other) noexcept
    : directory_(std::move(other.directory_)), lock_(std::exchange(other.lock_, -1)), file_(std::exchange(other.file_, -1)) {}

JournalWriter::~JournalWriter() {
  if (file_ >= 0) close(file_);
  if (lock_ >= 0) close(lock_);
}

Status JournalWriter::Start(const JournalHeader& header, const std::vector<JournalEntry>& entries) {
  std::string text = HeaderLine(header);
  for (const JournalEntry& entry : entries) text += EntryLine(entry);
  const std::string path = directory_ + "/" + kFile;
  const Status written = WriteFileAtomically(path, text);
  if (!written.ok()) return written;
  file_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0) return Failed("open", path);
  if (fsync(file_) != 0 || fsync(lock_) != 0) return Failed("write", path);
  return Done{};
}

Status JournalWriter::Append(const std::vector<JournalEntry>& entries) {
  SPILLWAY_CHECK(file_ >= 0);
  std::string text;
  for (const JournalEntry& entry : entries) text += EntryLine(entry);
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t n = write(file_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("write", directory_ + "/" + kFile);
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  if (fsync(file_) != 0) return Failed("write", directory_ + "/" + kFile);
  return Done{};
}

}  // namespace spillway::sweep
