// What may lie in a bucket where the log of a job is kept: names and contents of objects, by
// anybody. The first record is a pattern of lines; each further one is a name and a content.
#include "plans/fleet/kept_logs.h"

#include <map>
#include <string>
#include <vector>

#include "plans/fleet/line_pattern.h"
#include "providers/base/text.h"
#include "tests/fuzz/fuzz_target.h"

namespace podctl::fuzz {
namespace {

constexpr std::string_view kRecordEnd = "\x1e";
constexpr char kNameEnd = '\x1f';
constexpr std::size_t kMostObjects = 50;

class SomeObjects final : public KeptObjects {
 public:
  Result<std::vector<std::string>> List(const std::string&, const std::string&,
                                        const std::stop_token&) override {
    std::vector<std::string> names;
    for (const auto& [name, text] : objects) names.push_back(name);
    return names;
  }
  Result<std::string> Read(const std::string& name, const std::stop_token&) override {
    return objects.at(name);
  }
  std::map<std::string, std::string> objects;
};

class Listener final : public KeptLogWatcher {
 public:
  void OnStrangers(std::size_t pieces, int highest_worker) override {
    Expect(pieces > 0 && highest_worker >= 3, "strangers are told where there are some");
  }
  void OnWorkers(const std::vector<int>&) override {}
  void OnAttempt(const KeptPiece& first) override {
    ExpectShowable(first.run);
    Expect(first.attempt >= 1, "attempts are counted from 1");
  }
  void OnLine(int worker, LogTime time, std::string_view line) override {
    Expect(worker >= 0, "a worker has a number");
    Expect(line.find('\n') == std::string_view::npos, "a line is one", line);
    ExpectShowable(FormatLogTime(time));
    bytes += line.size();
  }
  void OnMissing(int, std::uint64_t missing) override { Expect(missing > 0, "some are missing"); }
  void OnBroken(const std::string&, const Error& why) override { ExpectShowable(why); }
  std::size_t bytes = 0;
};

void Read(const KeptLogRequest& request, SomeObjects& objects, std::size_t size) {
  Listener listener;
  const auto told = ReadKeptLog(objects, request, listener, {});
  if (!told) ExpectShowable(told.error());
  Expect(listener.bytes <= size, "nothing is told that is not there");
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace podctl;
  using namespace podctl::fuzz;
  const std::vector<std::string_view> records = Split(TextOf(data, size), kRecordEnd);
  const auto pattern = LinePattern::Parse(std::string(records.front().substr(0, 100)));
  if (!pattern) ExpectShowable(pattern.error());
  SomeObjects objects;
  for (std::size_t i = 1; i < records.size() && i <= kMostObjects; ++i) {
    const std::size_t end = records[i].find(kNameEnd);
    if (end == std::string_view::npos) continue;
    const std::string_view text = records[i].substr(end + 1);
    if (pattern) static_cast<void>(pattern->Matches(text.substr(0, 200)));
    objects.objects[std::string(records[i].substr(0, end))] = text;
  }
  KeptLogRequest request{.folder = "k/", .pod = "research"};
  Read(request, objects, size);
  request.tail = 2;
  Read(request, objects, size);
  request.count = 3;
  Read(request, objects, size);
  request = {.folder = "k/", .pod = "research/0"};
  request.since = LogTime(std::chrono::sys_days(std::chrono::year(2026) / 11 / 27));
  Read(request, objects, size);
  return 0;
}
