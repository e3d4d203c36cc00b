#include "state/stores/http/http_lock_text.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "providers/base/digest.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::size_t kLongestId = 255;  // that GitLab takes
constexpr std::size_t kLongestOperation = 20;
constexpr std::size_t kSpaceDigits = 12;
constexpr std::string_view kUnknownSpace = "unknown";  // of a process without a mark
constexpr std::string_view kRunLine = "\nCI run: ";
constexpr std::string_view kCommitLine = "\nCommit: ";

struct MarkParts {
  std::string space;  // in which the process number means something
  std::string pid;
  std::string ticks;
};

std::optional<MarkParts> PartsOf(std::string_view mark) {
  const auto last = mark.rfind('/');
  if (last == std::string_view::npos || last == 0) return std::nullopt;
  const auto before = mark.rfind('/', last - 1);
  if (before == std::string_view::npos) return std::nullopt;
  MarkParts parts{std::string(mark.substr(0, before)),
                  std::string(mark.substr(before + 1, last - before - 1)),
                  std::string(mark.substr(last + 1))};
  const bool numbers = ParseNumber<int>(parts.pid) && ParseNumber<long long>(parts.ticks);
  return numbers ? std::make_optional(std::move(parts)) : std::nullopt;
}

std::string SpaceText(const std::string& space) {
  return Sha256Hex(space).substr(0, kSpaceDigits);
}

// "state rm" -> "state-rm".
std::string OperationText(const std::string& operation) {
  std::string text;
  for (const char c : operation.substr(0, kLongestOperation)) {
    text += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
  }
  return text;
}

// Fills in what the ID on the wire says. false: it is not of podctl's form.
bool ReadId(HttpLock* lock, std::string_view own_mark) {
  const auto parts = Split(lock->id, ".");
  if (parts.size() != 5) return false;
  const auto pid = ParseNumber<int>(parts[3]);
  if (!pid || *pid <= 0 || !ParseNumber<long long>(parts[4])) return false;
  lock->info.id = std::string(parts[0]);
  if (lock->info.operation.empty()) lock->info.operation = std::string(parts[1]);
  lock->info.pid = *pid;
  const auto own = PartsOf(own_mark);
  if (!own || parts[2] == kUnknownSpace) return true;
  lock->ran_elsewhere = SpaceText(own->space) != parts[2];
  if (!lock->ran_elsewhere) {
    lock->mark = fmt::format("{}/{}/{}", own->space, parts[3], parts[4]);
  }
  return true;
}

// Cuts the line that begins with `begin` off the end of `info`.
std::string TakeLine(std::string* info, std::string_view begin) {
  const auto at = info->rfind(begin);
  if (at == std::string::npos) return "";
  std::string value = info->substr(at + begin.size());
  info->resize(at);
  return value;
}

}  // namespace

std::string HttpLockId(const LockInfo& info, std::string_view mark) {
  const auto parts = PartsOf(mark);
  if ((!parts && info.pid <= 0) || info.id.find('.') != std::string::npos) return info.id;
  const std::string id =
      fmt::format("{}.{}.{}.{}.{}", info.id, OperationText(info.operation),
                  parts ? SpaceText(parts->space) : std::string(kUnknownSpace),
                  parts ? parts->pid : std::to_string(info.pid), parts ? parts->ticks : "0");
  return id.size() <= kLongestId ? id : info.id;
}

std::string HttpLockToJson(const HttpLock& lock) {
  LockInfo info = lock.info;
  info.id = lock.id;
  if (!info.run_url.empty()) info.command += std::string(kRunLine) + info.run_url;
  if (!info.commit.empty()) info.command += std::string(kCommitLine) + info.commit;
  return LockInfoToJson(info);
}

std::optional<HttpLock> HttpLockFromJson(std::string_view text, HttpServer server,
                                         std::string_view own_mark) {
  std::optional<LockInfo> info = LockInfoFromJson(text);
  if (!info) return std::nullopt;
  HttpLock lock{*std::move(info), "", ""};
  lock.id = lock.info.id;
  if (server == HttpServer::kGitLab) {
    // What the asker sent, not the holder.
    for (auto member : {&LockInfo::operation, &LockInfo::command, &LockInfo::version,
                        &LockInfo::path, &LockInfo::host, &LockInfo::run_url, &LockInfo::commit}) {
      lock.info.*member = "";
    }
    lock.info.pid = 0;
  }
  const bool has_members = lock.info.pid > 0 && !lock.info.host.empty();
  lock.is_podctls = ReadId(&lock, own_mark) || has_members;
  const std::string commit = TakeLine(&lock.info.command, kCommitLine);
  const std::string run_url = TakeLine(&lock.info.command, kRunLine);
  if (lock.info.commit.empty()) lock.info.commit = commit;
  if (lock.info.run_url.empty()) lock.info.run_url = run_url;
  const auto host = lock.info.who.rfind('@');
  if (lock.info.host.empty() && lock.info.pid > 0 && host != std::string::npos) {
    lock.info.host = lock.info.who.substr(host + 1);
  }
  return lock;
}

}  // namespace podctl
