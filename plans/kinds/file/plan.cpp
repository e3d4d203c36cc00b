#include "plans/kinds/file/plan.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "plans/kinds/file/disk.h"
#include "plans/kinds/file/record.h"
#include "plans/spec/references.h"
#include "state/transitions.h"

namespace podctl {
namespace {

bool IsFile(const Value* seen) {
  return seen != nullptr && (*seen)["kind"] == Value("file");
}

AttributeChange ContentLine(const FileSpec& file, const std::optional<std::string>& content) {
  AttributeChange line;
  line.path = "content";
  line.sensitive = file.sensitive;
  line.known = content.has_value();
  if (content) line.after = Value(*content);
  return line;
}

AttributeChange Line(const std::string& path, const std::string& before, const std::string& after) {
  AttributeChange line;
  line.path = path;
  if (!before.empty()) line.before = Value(before);
  if (!after.empty()) line.after = Value(after);
  return line;
}

Diagnostic Refusal(std::string summary, std::string detail) {
  Diagnostic refusal;
  refusal.summary = std::move(summary);
  refusal.detail = std::move(detail);
  return refusal;
}

class FileJudge {
 public:
  FileJudge(const Kind& kind, const Judged& it, const FileRecord* record)
      : it_(it), record_(record), kind_(kind) {}

  Verdict JudgeGone() {
    NoteDrift();
    FileSpec gone;
    gone.name = it_.address.name;
    gone.path = record_->current.locator;
    gone.sensitive = record_->digest.starts_with("hmac-");
    if (IsFile(it_.seen)) gone.replaces = SeenDigest(gone.sensitive);
    if (it_.seen == nullptr) gone.replaces = record_->digest;
    // What is there instead of it by now is nobody's to remove.
    const bool there = it_.seen == nullptr || IsFile(it_.seen);
    verdict_.change.verb = there ? Verb::kDelete : Verb::kForget;
    verdict_.change.attributes = {Line("mode", ModeText(record_->mode), ""),
                                  Line("path", gone.path, "")};
    verdict_.change.payload = Payload(std::move(gone), &kind_);
    return std::move(verdict_);
  }

  Verdict JudgeDeclared() {
    file_ = *it_.declared->wanted.As<FileSpec>();
    content_ = RenderText(file_.content, it_.nodes);
    if (const std::string dangling = FindDangling(file_.content, it_.nodes); !dangling.empty()) {
      Refuse(fmt::format("{} refers to `{}`, which is not there", it_.address, dangling),
             "`podctl state show` of what it refers to shows what there is.");
    }
    if (record_ != nullptr && record_->path != file_.written) {
      PlanMove();
    } else if (it_.seen != nullptr && !it_.seen->is_null() && !IsFile(it_.seen)) {
      Refuse(fmt::format("{} is no file", file_.path),
             fmt::format("It is a {}, and podctl writes neither over it nor through it. Move it "
                         "away, or give the file another `path`.",
                         (*it_.seen)["kind"] == Value("link") ? "symbolic link"
                                                              : (*it_.seen)["kind"].AsString()));
    } else if (record_ == nullptr) {
      PlanNew();
    } else {
      PlanKnown();
    }
    verdict_.change.payload = Payload(std::move(file_), &kind_);
    return std::move(verdict_);
  }

 private:
  std::string SeenDigest(bool sensitive) const {
    return DigestOf((*it_.seen)["content"].AsString(), sensitive, it_.state.digest_key);
  }

  void Refuse(std::string summary, std::string detail) {
    verdict_.refusals.push_back(Refusal(std::move(summary), std::move(detail)));
  }

  // Neither what podctl wrote, nor what it is to be by now.
  void NoteDrift() {
    if (it_.seen == nullptr || record_->pending()) return;
    if (it_.seen->is_null()) {
      verdict_.drift.push_back({Drift::Kind::kVanished, it_.address, "is gone", {}});
      return;
    }
    if (!IsFile(it_.seen)) return;
    const bool sensitive = record_->digest.starts_with("hmac-");
    const bool same_content =
        SeenDigest(sensitive) == record_->digest || (*it_.seen)["content"] == Wanted();
    const auto mode = static_cast<int>((*it_.seen)["mode"].AsInt());
    if (same_content && mode == record_->mode) return;
    Drift drift{Drift::Kind::kChanged, it_.address, "was changed", {}};
    if (!same_content) drift.sentence = "has another content than podctl wrote";
    if (mode != record_->mode) {
      drift.attributes.push_back(Line("mode", ModeText(record_->mode), ModeText(mode)));
    }
    verdict_.drift.push_back(std::move(drift));
  }
  Value Wanted() const { return content_ ? Value(*content_) : Value(); }

  void PlanNew() {
    Change& change = verdict_.change;
    change.verb = Verb::kCreate;
    change.attributes = NewFileAttributes(file_, it_.nodes);
    RefuseForeign();
  }

  // Nothing of somebody else's is written over.
  void RefuseForeign() {
    if (!IsFile(it_.seen) || (*it_.seen)["content"] == Wanted()) return;
    const std::string path = AbsolutePath(file_.path);
    for (const auto& [address, other] : RecordsOf<FileRecord>(it_.state)) {
      if (address != it_.address && other.current.locator == path) return;  // it goes by its change
    }
    Refuse(fmt::format("{} is there already, and podctl did not write it", file_.path),
           "Move it away, or give the file another `path`.");
  }

  void PlanMove() {
    Change& change = verdict_.change;
    change.verb = Verb::kDeleteThenCreate;
    change.reason_code = ReasonCode::kCannotUpdate;
    change.reason = "path cannot be changed in place";
    change.attributes = NewFileAttributes(file_, it_.nodes);
    change.attributes.back() = Line("path", record_->current.locator, AbsolutePath(file_.path));
    change.attributes.back().forces_replacement = true;
    RefuseForeign();
  }

  void PlanKnown() {
    // In another checkout, or on another machine, nobody has written it yet.
    const bool elsewhere = record_->current.locator != AbsolutePath(file_.path);
    if (!elsewhere) NoteDrift();
    Change& change = verdict_.change;
    if (it_.seen != nullptr && it_.seen->is_null()) {
      change.verb = Verb::kCreate;
      change.attributes = NewFileAttributes(file_, it_.nodes);
      return;
    }
    if (it_.again) {
      change.verb = Verb::kDeleteThenCreate;
      change.reason_code = ReasonCode::kByRequest;
      change.reason = "it was requested";
    }
    const bool sensitive = record_->digest.starts_with("hmac-");
    if (elsewhere && IsFile(it_.seen) && SeenDigest(sensitive) != record_->digest) RefuseForeign();
    if (it_.seen != nullptr) {
      CompareWithSeen();
      file_.replaces = SeenDigest(sensitive);
    } else {
      CompareWithRecord();
      file_.replaces = record_->digest;
    }
    if (change.verb == Verb::kKeep && !change.attributes.empty()) change.verb = Verb::kUpdate;
  }

  void CompareWithSeen() {
    AttributeChange content = ContentLine(file_, content_);
    content.before = (*it_.seen)["content"];
    // What was secret is not shown because it is none any more.
    content.sensitive = file_.sensitive || record_->digest.starts_with("hmac-");
    if (!content.known || content.before != content.after) Add(std::move(content));
    CompareMode(static_cast<int>((*it_.seen)["mode"].AsInt()));
  }

  // Nobody looked: the digest tells whether it is another content, but not which it was.
  void CompareWithRecord() {
    const bool sensitive = record_->digest.starts_with("hmac-");
    const bool same =
        content_ && DigestOf(*content_, sensitive, it_.state.digest_key) == record_->digest;
    if (!same) {
      AttributeChange content = ContentLine(file_, content_);
      content.sensitive = file_.sensitive || sensitive;
      Add(std::move(content));
    }
    CompareMode(record_->mode);
  }

  void CompareMode(int mode) {
    if (mode != file_.mode) Add(Line("mode", ModeText(mode), ModeText(file_.mode)));
  }
  void Add(AttributeChange line) { verdict_.change.attributes.push_back(std::move(line)); }

  const Judged& it_;
  const FileRecord* const record_;
  const Kind& kind_;
  FileSpec file_;
  std::optional<std::string> content_;
  Verdict verdict_;
};

}  // namespace

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

std::vector<AttributeChange> NewFileAttributes(const FileSpec& file, const ReferenceLookup& nodes) {
  return {ContentLine(file, RenderText(file.content, nodes)), Line("mode", "", ModeText(file.mode)),
          Line("path", "", file.path)};
}

Verdict JudgeFile(const Kind& kind, const Judged& it) {
  const FileRecord* record = it.record == nullptr ? nullptr : &it.record->As<FileRecord>();
  FileJudge judge(kind, it, record);
  return it.declared == nullptr ? judge.JudgeGone() : judge.JudgeDeclared();
}

bool SettleFile(const Address& address, const Value& seen, const std::string& digest_key,
                AnyRecord* any, std::vector<std::string>* notes) {
  const auto pending = any->As<FileRecord>().pending();
  if (!pending) return true;
  auto& record = any->Edit<FileRecord>();
  const auto note = [&](std::string_view text) {
    notes->push_back(fmt::format("{}: {}", address, text));
  };
  if (pending->kind == PendingAction::Kind::kDelete) {
    if (!seen.is_null()) {
      EndRequest({}, &record);
      return true;
    }
    note("its removal, begun by an earlier run, is complete");
    return false;
  }
  const bool took =
      IsFile(&seen) && DigestOf(seen["content"].AsString(), record.digest.starts_with("hmac-"),
                                digest_key) == record.digest;
  if (took) {
    See({}, &record);
    Finish(&record);
    note("an earlier run had written it");
  } else if (pending->kind == PendingAction::Kind::kCreate) {
    note("an earlier run ended before it was written");
    return false;
  } else {
    record.digest = record.old_digest;
    record.mode = record.old_mode;
    EndRequest({}, &record);
  }
  record.old_digest.clear();
  record.old_mode = 0;
  return true;
}

}  // namespace podctl
