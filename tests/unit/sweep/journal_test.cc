// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/journal.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "sim/sweep/tables.h"
#include "tests/support/temporary.h"

namespace spillway::sweep {
namespace {

using Catch::Matchers::Contains;

JournalHeader Header(std::int64_t points = 4) {
  JournalHeader header;
  header.version = "1.2.3";
  header.sweep = "digest";
  header.points = points;
  header.axes = {"S", "name"};
  header.geometric = {true, false};
  header.title = "a title";
  return header;
}

JournalEntry Entry(std::int64_t point, std::int64_t makespan = 1000) {
  JournalEntry entry;
  entry.point = point;
  entry.key = "key" + std::to_string(point);
  entry.values = {std::to_string(point), "say \"a,b\""};
  entry.result.makespan_ps = makespan;
  entry.result.hbm_read_bytes = std::int64_t{1} << 60;
  entry.result.unmodelled_share = 1.0 / 3;
  return entry;
}

JournalEntry Failed(std::int64_t point) {
  JournalEntry entry = Entry(point);
  entry.result = {};
  entry.result.status = "no, \"not\" today";
  return entry;
}

TEST_CASE("a journal reads back what was written, exactly") {
  test::TemporaryDirectory directory;
  {
    Result<JournalWriter> writer = JournalWriter::Lock(directory.path());
    REQUIRE(writer.ok());
    REQUIRE(writer->Start(Header(), {Entry(2)}).ok());
    REQUIRE(writer->Append({Failed(0), Entry(3)}).ok());
  }
  const Result<Journal> journal = ReadJournal(directory.File("journal.jsonl"));
  REQUIRE(journal.ok());
  REQUIRE(journal->header);
  CHECK(HeaderLine(*journal->header) == HeaderLine(Header()));
  REQUIRE(journal->entries.size() == 3);
  CHECK(journal->bad_lines == 0);
  CHECK(EntryLine(journal->entries[0]) == EntryLine(Entry(2)));
  CHECK(EntryLine(journal->entries[1]) == EntryLine(Failed(0)));
  CHECK(journal->entries[0].result.unmodelled_share == 1.0 / 3);
}

TEST_CASE("a journal that was cut off anywhere gives the lines that are whole") {
  test::TemporaryDirectory directory;
  const std::string head = HeaderLine(Header()), first = EntryLine(Entry(0)), second = EntryLine(Entry(1));
  const std::string all = head + first + second;
  for (std::size_t length = 0; length <= all.size(); ++length) {
    const Result<Journal> journal = ReadJournal(directory.Write("j", all.substr(0, length)));
    CAPTURE(length);
    REQUIRE(journal.ok());
    CHECK(journal->header.has_value() == (length >= head.size()));
    const std::size_t whole = length == all.size() ? 2 : length >= head.size() + first.size() ? 1 : 0;
    CHECK(journal->entries.size() == whole);
  }
}

TEST_CASE("lines that are damaged or of another sweep's shape are counted, not believed") {
  test::TemporaryDirectory directory;
  const std::string text = HeaderLine(Header(2)) + "{}\n" + "nonsense\n" + EntryLine(Entry(7)) +
                           "{\"point\":0,\"key\":\"k\",\"values\":[\"1\"],\"status\":\"ok\"}\n" + EntryLine(Entry(1));
  const Result<Journal> journal = ReadJournal(directory.Write("j", text));
  REQUIRE(journal.ok());
  CHECK(journal->entries.size() == 1);
  CHECK(journal->bad_lines == 4);
  CHECK_FALSE(ReadJournal(directory.Write("k", "S,status\n1,ok\n")).ok());
  CHECK_FALSE(ReadJournal(directory.File("absent")).ok());
}

TEST_CASE("a directory has one writer at a time") {
  test::TemporaryDirectory directory;
  {
    Result<JournalWriter> first = JournalWriter::Lock(directory.path());
    REQUIRE(first.ok());
    const Result<JournalWriter> second = JournalWriter::Lock(directory.path());
    REQUIRE_FALSE(second.ok());
    CHECK_THAT(second.errors().front().message, Contains("another sweep"));
  }
  CHECK(JournalWriter::Lock(directory.path()).ok());
}

TEST_CASE("results survive the way from a worker") {
  const std::optional<PointResult> result = DecodeResult(EncodeResult(Entry(1).result));
  REQUIRE(result);
  CHECK(ResultCells(*result) == ResultCells(Entry(1).result));
  CHECK_FALSE(DecodeResult("").has_value());
  CHECK_FALSE(DecodeResult("[]").has_value());
  CHECK_FALSE(DecodeResult("{\"status\":\"ok\"}").has_value());
}

TEST_CASE("the CSV has axes, status and figures, quoted; failed points have a reason and no figures") {
  const std::string csv = SweepCsv(Header(), {Entry(0), Failed(1)});
  CHECK_THAT(csv, Catch::Matchers::StartsWith("S,name,status,makespan_ps,cycles,hbm_read_bytes,hbm_write_bytes,"));
  CHECK_THAT(csv, Contains("\n0,\"say \"\"a,b\"\"\",ok,1000,0,1152921504606846976,0,"));
  CHECK_THAT(csv, Contains("\n1,\"say \"\"a,b\"\"\",\"no, \"\"not\"\" today\",,,,"));
}

TEST_CASE("a long table shows its ends and says how much is between") {
  std::vector<JournalEntry> entries;
  for (int i = 0; i < 100; ++i) entries.push_back(Entry(i));
  TableOptions options;
  options.most_rows = 8;
  options.unicode = false;
  const std::string table = SweepTable(Header(100), entries, options);
  CHECK(std::count(table.begin(), table.end(), '\n') == 2 + 8 + 1);
  CHECK_THAT(table, Contains("\n... 92 more\n98  ") && Contains("\n 5  "));
}

NamedJournal Part(const std::string& path, const std::vector<std::int64_t>& points) {
  NamedJournal part;
  part.path = path;
  part.journal.header = Header();
  for (const std::int64_t point : points) part.journal.entries.push_back(Entry(point));
  return part;
}

TEST_CASE("merge orders points and lists the missing ones") {
  const Result<Merged> merged = Merge({Part("b", {3, 0}), Part("a", {1})});
  REQUIRE(merged.ok());
  CHECK(SweepCsv(merged->header, merged->entries) == SweepCsv(Header(), {Entry(0), Entry(1), Entry(3)}));
  CHECK(merged->missing == std::vector<std::int64_t>{2});
}

TEST_CASE("merge refuses overlaps and strangers") {
  const Result<Merged> twice = Merge({Part("a", {0, 1, 2}), Part("b", {3, 2, 1})});
  REQUIRE_FALSE(twice.ok());
  CHECK(twice.errors().front().message == "'a' and 'b' both have points 1-2");
  NamedJournal stranger = Part("c", {1});
  stranger.journal.header->sweep = "other";
  CHECK_FALSE(Merge({Part("a", {0}), stranger}).ok());
  stranger = Part("c", {1});
  stranger.journal.header->version = "9";
  CHECK_FALSE(Merge({Part("a", {0}), stranger}).ok());
  CHECK_FALSE(Merge({Part("a", {0}), NamedJournal{"empty", {}}}).ok());
}

TEST_CASE("ranges of numbers in words") {
  CHECK(RangesText({3}) == "3");
  CHECK(RangesText({0, 1, 2, 5, 7, 8}) == "0-2, 5, 7-8");
  std::vector<std::int64_t> odd;
  for (int i = 0; i < 1000; ++i) odd.push_back(2 * i);
  CHECK(RangesText(odd).size() < 200);
}

}  // namespace
}  // namespace spillway::sweep
